// SPDX-License-Identifier: Apache-2.0

package import GateAssertion
package import GateConfiguration
package import GateCore
package import GatePolicy
package import GateSessions
package import GateWire
package import NIOCore

/// How an app receives the identity of a user; made once for a route.
package struct AppIdentity: Sendable {
    /// The headers with identity fields that the app wants beside the standard ones.
    package let further: [HeaderSetting]
    /// Whether each request has a signature of its own.
    package let signsRequests: Bool
    /// The provider's token that the app gets; nil for none.
    package let providerToken: ProviderTokenKind?
    fileprivate let headers: [HeaderSetting]
    /// What the assertion has beside the claims of every assertion.
    fileprivate let signed: Set<IdentityFact>
    fileprivate let settings: IdentitySettings
    /// What the app sees as `Host`, where that is not the host under which browsers reach it.
    fileprivate let host: String?
    /// How the app gets the canonical path; nil for as it is.
    fileprivate let paths: PathMapping?

    /// What an app of the configuration receives.
    package init(_ app: AppSettings) {
        self.further = app.headers
        self.settings = app.identity
        self.signsRequests = app.identity.signature == .request
        if case .providerToken(let kind) = app.identity.authorization {
            self.providerToken = kind
        } else {
            self.providerToken = nil
        }
        self.headers = AppIdentity.standard.filter { app.identity.sends($0.fact) } + app.headers
        // Nothing that the app reads is unsigned.
        self.signed = Set(app.headers.map(\.fact)).union(app.identity.claims.map(IdentityFact.claim))
        self.host = app.traffic.upstreamHost
        self.paths = app.pathMapping
    }

    fileprivate static let standard = IdentityField.facts.filter(IdentityField.standard.contains).map {
        HeaderSetting(name: $0.header, field: $0)
    }

    /// The parts of a request that its signature covers, as the app receives them.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - authority: The host and port under which browsers reach the app.
    /// - Returns: The parts.
    fileprivate func signedParts(of request: RequestHead, authority: String) -> [(name: String, value: [UInt8])] {
        let head = HeadWriter.head(into: ByteBuffer()) {
            $0.writeRequestLine(of: request, mappedBy: self.paths)
        }
        let target = Array(head.readableBytesView).split(separator: UInt8(ascii: " "), maxSplits: 2)[1]
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        // RFC 9421 §2.2.7: without a query the value is a question mark alone.
        let query = path.count == target.count ? ArraySlice("?".utf8) : target[path.endIndex...]
        return [
            ("@method", Array(request.method.rawValue.utf8)),
            ("@authority", Array((self.host ?? authority).lowercased().utf8)),
            ("@path", Array(path)), ("@query", Array(query)),
        ]
    }
}

/// Writes the identity of a user as field lines for an app, the signed assertion included.
package struct IdentityLines: Sendable {
    private let signer: AssertionSigner

    package init(signer: AssertionSigner) {
        self.signer = signer
    }

    /// The names of the standard lines and of the assertion.
    static let names = AppIdentity.standard.map(\.name) + [assertionName]

    private static let assertionName = "X-Gatehouse-Assertion"

    /// When lines are refreshed.
    package var halfLife: Duration { self.signer.lifetime / 2 }

    /// The lines of one session for one route.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - route: The route, which decides the audience and which groups the app gets.
    ///   - identity: What the app receives, and how.
    ///   - now: The time.
    ///   - end: When the access of the user may end; nil if no date ends it.
    /// - Returns: The lines; where each request is signed, ``signed(_:for:on:authority:at:)`` adds the signature.
    /// - Throws: When the assertion cannot be signed, or the lines have too many bytes; the request must then not be forwarded.
    package func lines(
        for session: Session,
        on route: Route,
        as identity: AppIdentity,
        now: Instant,
        accessUntil end: Instant? = nil
    ) throws(Failure) -> ByteBuffer {
        var user = AssertedUser(session.profile, methods: session.methods)
        user.profile.groups = route.sharedGroups(of: session.profile)
        let claims = AssertionClaims(about: user, session: session.id, for: route.audience, with: identity.signed)
        let assertion = try self.signer.sign(claims, at: now, accessUntil: end)
        let token = identity.providerToken.flatMap { ProviderToken($0, of: session, at: now).text }
        let expiry = self.signer.expiry(at: now, accessUntil: end)
        let name = user.profile.forwardedKey
        return try self.lines(assertion, token, as: identity, about: name, from: now, to: expiry) { header in
            IdentityLines.value(header, of: user, assertion, identity.settings)
        }
    }

    private func lines(
        _ assertion: [UInt8],
        _ token: String?,
        as identity: AppIdentity,
        about user: String,
        from now: Instant,
        to expiry: Instant,
        _ value: (HeaderSetting) -> [UInt8]?
    ) throws(Failure) -> ByteBuffer {
        var lines = ByteBuffer()
        for setting in identity.headers {
            guard let value = value(setting) else { continue }
            IdentityLines.write(setting.name, value, to: &lines)
        }
        switch identity.settings.authorization {
        case .assertion: IdentityLines.write("Authorization", Array("Bearer ".utf8) + assertion, to: &lines)
        case .providerToken:
            if let token { IdentityLines.write("Authorization", Array("Bearer \(token)".utf8), to: &lines) }
        case .basic(let username, let password):
            let credential = Array("\(username):".utf8) + password.withBytes { Array($0) }
            IdentityLines.write("Authorization", Array("Basic \(Base64URL.padded(credential))".utf8), to: &lines)
        case nil: break
        }
        IdentityLines.write(IdentityLines.assertionName, assertion, to: &lines)
        guard lines.readableBytes <= identity.settings.maxBytes else {
            let help = "identity.max_bytes is \(identity.settings.maxBytes); 'groups: named' leaves most groups out"
            throw Failure(
                .identityTooLarge,
                "the identity headers of \(user) have \(lines.readableBytes) bytes, and \(help)"
            )
        }
        guard identity.settings.signature == .headers else { return lines }
        return try self.signed(lines, covering: [], from: now, to: expiry)
    }

    /// The lines of clients that a public rule of a route admits by their network.
    ///
    /// - Parameters:
    ///   - route: The route.
    ///   - identity: What the app receives, and how.
    ///   - now: The time.
    /// - Returns: The lines, with the user and the assertion only.
    /// - Throws: When the assertion cannot be signed.
    package func networkLines(
        on route: Route,
        as identity: AppIdentity,
        now: Instant
    ) throws(Failure) -> ByteBuffer {
        let assertion = try self.signer.sign(AssertionClaims(networkFor: route.audience), at: now)
        let (name, expiry) = (NetworkIdentity.user, self.signer.expiry(at: now, accessUntil: nil))
        return try self.lines(assertion, nil, as: identity, about: name, from: now, to: expiry) { header in
            switch header.fact {
            case .field(.user): identity.settings.encoding.bytes(of: header.prefix + NetworkIdentity.user)
            case .field(.assertion): assertion
            case .field, .claim: nil
            }
        }
    }

    /// The lines for one request, with the signature that covers it.
    ///
    /// - Parameters:
    ///   - lines: The lines of ``lines(for:on:as:now:)``.
    ///   - request: The request.
    ///   - identity: What the app receives, and how.
    ///   - authority: The host and port under which browsers reach the app.
    ///   - now: The time.
    ///   - end: When the access of the user may end; nil if no date ends it.
    /// - Returns: The lines with the signature.
    /// - Throws: When nothing can be signed; the request must then not be forwarded.
    package func signed(
        _ lines: ByteBuffer,
        for request: RequestHead,
        as identity: AppIdentity,
        authority: String,
        at now: Instant,
        accessUntil end: Instant? = nil
    ) throws(Failure) -> ByteBuffer {
        let expiry = self.signer.expiry(at: now, accessUntil: end)
        let parts = identity.signedParts(of: request, authority: authority)
        return try self.signed(lines, covering: parts, from: now, to: expiry)
    }

    /// Adds `Signature-Input` and `Signature` over parts of a request and all lines.
    ///
    /// RFC 9421 §2.5, §4.1 and §4.2.
    private func signed(
        _ lines: ByteBuffer,
        covering parts: [(name: String, value: [UInt8])],
        from now: Instant,
        to expiry: Instant
    ) throws(Failure) -> ByteBuffer {
        var base: [UInt8] = []
        var names: [String] = []
        for (name, value) in parts + IdentityLines.fields(of: lines) {
            names.append("\"\(name)\"")
            base += "\"\(name)\": ".utf8
            base += value
            base.append(0x0A)
        }
        let parameters =
            "(\(names.joined(separator: " ")));created=\(now.seconds);expires=\(expiry.seconds)"
            + ";keyid=\"\(self.signer.keyID)\";alg=\"ecdsa-p256-sha256\";tag=\"gatehouse\""
        base += "\"@signature-params\": \(parameters)".utf8
        let signature = try self.signer.signature(of: base)
        var signed = lines
        signed.writeString("Signature-Input: gatehouse=\(parameters)\r\n")
        signed.writeString("Signature: gatehouse=:\(Base64URL.padded(signature)):\r\n")
        return signed
    }

    /// The fields of lines that were written here: each name once, in lower case.
    private static func fields(of lines: ByteBuffer) -> [(name: String, value: [UInt8])] {
        lines.readableBytesView.split(separator: 0x0A).compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            return (name, Array(line[colon...].dropFirst(2).dropLast()))
        }
    }

    private static func write(_ name: String, _ value: [UInt8], to lines: inout ByteBuffer) {
        lines.writeString("\(name): ")
        lines.writeBytes(value)
        lines.writeLiteral("\r\n")
    }

    private static func value(
        _ header: HeaderSetting,
        of user: AssertedUser,
        _ assertion: [UInt8],
        _ settings: IdentitySettings
    ) -> [UInt8]? {
        if header.fact == .field(.assertion) { return assertion }
        // An address that is not verified would be taken for the user's.
        if header.fact == .field(.email), user.profile.verifiedEmail == nil { return nil }
        let isName = IdentityLines.shownNames.contains(header.fact)
        switch user.value(of: header.fact) {
        case .string(let text), .number(let text):
            return text.isEmpty ? nil : settings.encoding.bytes(of: header.prefix + text, isName: isName)
        case .bool(let flag): return settings.encoding.bytes(of: header.prefix + (flag ? "true" : "false"))
        case .array(let elements):
            return settings.encoding.bytes(of: elements.compactMap(\.string), separatedBy: settings.groupSeparator)
        case .null, .object, nil: return nil
        }
    }

    /// The facts of which a part may be left out where an encoding lacks characters.
    private static let shownNames: Set<IdentityFact> = [
        .field(.name), .field(.preferredUsername), .field(.givenName), .field(.familyName),
    ]
}
