// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// Verifies `X-Gatehouse-Assertion` as an app behind the gateway does: a JWT signed by the gateway, ES256.
struct AssertionVerifier: Sendable {
    /// The gateway's public URL.
    let issuer: String
    /// The app's URL.
    let audience: String
    let clock: WallClock

    private static let leeway = Duration.seconds(60)

    /// The claims of a valid assertion, or why it is invalid.
    enum Outcome {
        case verified([String: JSON])
        case rejected(String)
    }

    /// The id of the key that signed an assertion.
    static func keyID(of assertion: String) -> String? {
        let part = assertion.prefix { $0 != "." }
        return Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0, depth: 4) }?["kid"]?.string
    }

    /// Checks the signature, then every claim that binds the assertion to this app and time.
    func outcome(of assertion: String, keys: JSON) -> Outcome {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.document(parts[0]), let claims = Self.document(parts[1]) else {
            return .rejected("it is not a JWT")
        }
        guard header["alg"] == "ES256", header["typ"]?.string != nil, let id = header["kid"]?.string else {
            return .rejected("its header is not that of ES256")
        }
        guard let key = Self.key(id, in: keys) else { return .rejected("the gateway does not publish its key") }
        let input = Data("\(parts[0]).\(parts[1])".utf8)
        guard let bytes = Base64URL.decode(parts[2].utf8),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.isValidSignature(signature, for: input)
        else { return .rejected("its signature is not the gateway's") }
        return self.rejection(of: claims).map { .rejected($0) } ?? .verified(claims.object ?? [:])
    }

    private func rejection(of claims: JSON) -> String? {
        let now = self.clock.now
        guard claims["iss"]?.string == self.issuer else { return "its issuer is not the gateway" }
        guard claims["aud"]?.string == self.audience else { return "its audience is another app" }
        guard let expiry = claims["exp"]?.numericDate, now < expiry.advanced(by: Self.leeway) else {
            return "it has expired"
        }
        guard let start = claims["nbf"]?.numericDate, start < now.advanced(by: Self.leeway) else {
            return "it is not valid yet"
        }
        return claims["sub"]?.string?.isEmpty == false ? nil : "it names no user"
    }

    private static func document(_ part: Substring) -> JSON? {
        Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0, depth: 8) }
    }

    private static func key(_ id: String, in keys: JSON) -> P256.Signing.PublicKey? {
        let found = (keys["keys"]?.array ?? []).first { key in
            key["kid"]?.string == id && key["kty"] == "EC" && key["crv"] == "P-256"
        }
        guard let x = found?["x"]?.string.flatMap({ Base64URL.decode($0) }),
            let y = found?["y"]?.string.flatMap({ Base64URL.decode($0) }), x.count == 32, y.count == 32
        else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }
}
