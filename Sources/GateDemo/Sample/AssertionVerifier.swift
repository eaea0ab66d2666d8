// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// What an app behind the gateway does with `X-Gatehouse-Assertion`: a signed JWT of the gateway, ES256.
struct AssertionVerifier: Sendable {
    /// The gateway's public address.
    let issuer: String
    /// The app's own address.
    let audience: String
    let clock: WallClock

    private static let leeway = Duration.seconds(60)

    /// The claims of a good assertion, or why it is not good.
    enum Outcome {
        case verified([String: JSON])
        case refused(String)
    }

    /// The name of the key that an assertion asks for.
    static func keyID(of assertion: String) -> String? {
        let part = assertion.prefix { $0 != "." }
        return Base64URL.decode(part.utf8).flatMap { try? JSON(parsing: $0, depth: 4) }?["kid"]?.string
    }

    /// Checks the signature, then every claim that ties the assertion to this app and this moment.
    func outcome(of assertion: String, keys: JSON) -> Outcome {
        let parts = assertion.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.document(parts[0]), let claims = Self.document(parts[1]) else {
            return .refused("it is not a JWT")
        }
        guard header["alg"] == "ES256", header["typ"]?.string != nil, let id = header["kid"]?.string else {
            return .refused("its header is not one for ES256")
        }
        guard let key = Self.key(id, in: keys) else { return .refused("the gateway does not publish its key") }
        let input = Data("\(parts[0]).\(parts[1])".utf8)
        guard let bytes = Base64URL.decode(parts[2].utf8),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes),
            key.isValidSignature(signature, for: input)
        else { return .refused("its signature is not the gateway's") }
        return self.refusal(of: claims).map { .refused($0) } ?? .verified(claims.object ?? [:])
    }

    private func refusal(of claims: JSON) -> String? {
        let now = self.clock.now
        guard claims["iss"]?.string == self.issuer else { return "it was issued by somebody else" }
        guard claims["aud"]?.string == self.audience else { return "it was made for another app" }
        guard let expiry = claims["exp"]?.numericDate, now < expiry.advanced(by: Self.leeway) else {
            return "it has expired"
        }
        guard let start = claims["nbf"]?.numericDate, start < now.advanced(by: Self.leeway) else {
            return "it is not valid yet"
        }
        return claims["sub"]?.string?.isEmpty == false ? nil : "it names nobody"
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
