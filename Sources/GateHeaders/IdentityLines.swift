// SPDX-License-Identifier: Apache-2.0

package import GateAppConfiguration
package import GateAssertion
package import GateCore
package import GatePolicy
package import GateSessions
package import NIOCore

/// Writes the identity of a user as field lines for an app, the signed assertion included.
package struct IdentityLines: Sendable {
    private let signer: AssertionSigner

    /// Lines with assertions by a signer.
    package init(signer: AssertionSigner) {
        self.signer = signer
    }

    /// When lines are refreshed.
    package var halfLife: Duration { self.signer.lifetime / 2 }

    /// The lines of one session for one route.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - route: The route, which decides the audience and which groups the app gets.
    ///   - headers: The headers that the app wants beside the standard ones.
    ///   - now: The time.
    /// - Returns: The lines.
    /// - Throws: When the assertion cannot be signed; the request must then not be forwarded.
    package func lines(
        for session: Session,
        on route: Route,
        headers: [HeaderSetting],
        now: Instant
    ) throws(Failure) -> ByteBuffer {
        var profile = session.profile
        profile.groups = route.sharedGroups(of: profile)
        let claims = AssertionClaims(about: profile, session: session.id, for: route.audience)
        let assertion = try self.signer.sign(claims, at: now)
        var lines = ByteBuffer()
        for (name, field) in IdentityLines.standard {
            IdentityLines.write(name, field, of: profile, to: &lines)
        }
        for setting in headers {
            IdentityLines.write(setting.name, setting.field, of: profile, to: &lines)
        }
        lines.writeString("\(IdentityLines.assertionName): ")
        lines.writeBytes(assertion)
        lines.writeString("\r\n")
        return lines
    }

    /// The names of the standard lines and of the assertion.
    static let names = standard.map(\.0) + [assertionName]

    private static let assertionName = "X-Gatehouse-Assertion"

    private static let standard: [(String, IdentityField)] = [
        ("X-Forwarded-User", .user), ("X-Forwarded-Email", .email), ("X-Forwarded-Name", .name),
        ("X-Forwarded-Preferred-Username", .preferredUsername), ("X-Forwarded-Groups", .groups),
        ("X-Forwarded-Provider", .provider),
    ]

    private static func write(_ name: String, _ field: IdentityField, of profile: Profile, to lines: inout ByteBuffer) {
        guard let value = self.value(field, of: profile), !value.isEmpty else { return }
        lines.writeString("\(name): \(value)\r\n")
    }

    private static func value(_ field: IdentityField, of profile: Profile) -> String? {
        switch field {
        case .user: profile.user.fieldText()
        case .email: profile.verifiedEmail.map { "\($0)".fieldText() }
        case .name: profile.name.map { $0.fieldText() }
        case .preferredUsername: profile.username.map { $0.fieldText() }
        case .groups: profile.groups.map { $0.fieldText(alsoEscaping: ",") }.joined(separator: ",")
        case .provider: profile.provider.fieldText()
        }
    }
}

extension String {
    /// The text in a field value: visible ASCII as it is, all else and `%` as percent-encoded UTF-8, so that nothing a
    /// provider sends can end a line and every name can be read back.
    func fieldText(alsoEscaping more: Unicode.Scalar? = nil) -> String {
        var encoded = ""
        let bytes = Array(self.utf8)
        for (index, byte) in bytes.enumerated() {
            let isInnerSpace = byte == 0x20 && index > 0 && index < bytes.count - 1
            let isPlain = (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%")
            if isInnerSpace || (isPlain && UInt32(byte) != more?.value) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += byte < 16 ? "%0" : "%"
                encoded += String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
