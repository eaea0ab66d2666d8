// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// The platform on which the gateway runs as a workload, and whose tokens a simulated provider accepts in place of a secret.
///
/// RFC 7523 §2.2, as the projected tokens of Kubernetes service accounts.
struct DemoWorkload: Sendable {
    /// How long a token is valid, and how long before the next one replaces it in the file.
    private static let lifetime: Int64 = 600
    static let rotation = Duration.seconds(300)

    private static let issuer = "https://cluster.example"
    private static let subject = "system:serviceaccount:gatehouse:gatehouse"

    /// The file in which the current token is.
    let file: String
    private let platform: SigningKey
    private let publicKey: P256.Signing.PublicKey

    /// A platform with a new key.
    init(file: String) {
        let key = P256.Signing.PrivateKey()
        self.file = file
        self.platform = .es256(key)
        self.publicKey = key.publicKey
    }

    /// Writes a new token for the provider, which it names by its issuer.
    func writeToken(for provider: String, at now: Instant) throws {
        let claims: JSON = [
            "iss": .string(Self.issuer), "sub": .string(Self.subject), "aud": [.string(provider)],
            "iat": .int(now.seconds), "exp": .int(now.seconds + Self.lifetime),
        ]
        try PrivateFile.write(Array(self.platform.token(claims).utf8), to: self.file)
    }

    /// Why an assertion does not come from this workload for the provider; nil if it is one.
    func failure(of assertion: String, for provider: String, at now: Instant) -> String? {
        guard let token = ClientJWT(assertion, key: self.publicKey) else {
            return "The assertion is not signed by the platform."
        }
        guard token.claims["iss"]?.string == Self.issuer, token.claims["sub"]?.string == Self.subject else {
            return "The assertion is that of another workload."
        }
        guard token.isFor(provider) else { return "The audience is another server." }
        return token.lives(at: now, atMost: .seconds(Self.lifetime)) ? nil : "The assertion has expired."
    }
}
