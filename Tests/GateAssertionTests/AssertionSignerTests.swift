// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateAssertion
import GateCore
import Testing

@Suite struct AssertionSignerTests {
    private let now = Instant(seconds: 1_800_000_000)
    private let keys: AssertionKeys
    private let signer: AssertionSigner

    init() throws {
        let key = try AssertionKey(from: RandomBytes { [UInt8](repeating: 5, count: $0) })
        self.keys = AssertionKeys(signing: key)
        self.signer = AssertionSigner(
            keys: self.keys,
            issuer: "https://gate.example.com",
            lifetime: .seconds(120),
            random: RandomBytes { [UInt8](repeating: 0, count: $0) }
        )
    }

    private func profile() -> Profile {
        var profile = Profile(
            provider: "google",
            issuer: "https://accounts.google.com",
            subject: "104729384756102938475"
        )
        profile.username = "ada"
        profile.name = "Ada \u{5F20}\u{1F600} \"Countess\""
        profile.email = "ada@example.com"
        profile.emailVerified = true
        profile.groups = ["acme/platform", "staff"]
        profile.roles = ["editor"]
        (profile.authTime, profile.acr, profile.amr) = (Instant(seconds: 1_799_999_000), "2", ["pwd", "otp"])
        return profile
    }

    private func token(_ profile: Profile) throws -> (head: JSON, claims: JSON, text: [UInt8]) {
        let claims = AssertionClaims(
            about: AssertedUser(profile, methods: profile.amr),
            session: "sid-1",
            for: "https://wiki.example.com/docs"
        )
        let text = try self.signer.sign(claims, at: self.now)
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let head = try JSON(parsing: try #require(Base64URL.decode(parts[0])))
        return (head, try JSON(parsing: try #require(Base64URL.decode(parts[1]))), text)
    }

    @Test func `a complete profile gives exactly these claims`() throws {
        let token = try self.token(self.profile())
        #expect(token.head == ["typ": "JWT", "alg": "ES256", "kid": .string(self.keys.signing.id)])
        #expect(
            token.claims == [
                "iss": "https://gate.example.com", "aud": "https://wiki.example.com/docs",
                "sub": "google:104729384756102938475", "iat": 1_800_000_000, "nbf": 1_800_000_000,
                "exp": 1_800_000_120, "jti": "AAAAAAAAAAAAAAAAAAAAAA", "sid": "sid-1", "provider": "google",
                "email": "ada@example.com", "email_verified": true, "name": "Ada \u{5F20}\u{1F600} \"Countess\"",
                "preferred_username": "ada", "groups": ["acme/platform", "staff"], "roles": ["editor"],
                "auth_time": 1_799_999_000, "acr": "2", "amr": ["pwd", "otp"],
            ]
        )
    }

    @Test func `claims that the provider did not return are omitted, groups and roles never are`() throws {
        let token = try self.token(Profile(provider: "github", issuer: "https://github.com", subject: "1"))
        let names = try #require(token.claims.object).keys
        #expect(Set(names) == ["iss", "aud", "sub", "iat", "nbf", "exp", "jti", "sid", "provider", "groups", "roles"])
        #expect(token.claims["groups"] == [] && token.claims["roles"] == [])
    }

    @Test func `an unverified email address is marked`() throws {
        var profile = self.profile()
        profile.emailVerified = false
        let claims = try self.token(profile).claims
        #expect(claims["email"] == "ada@example.com")
        #expect(claims["email_verified"] == false)
    }

    @Test func `the published key verifies the token, but not a changed one`() throws {
        let jwk = try #require(try JSON(parsing: self.keys.jwks)["keys"]?.array?.first)
        let x = try #require(jwk["x"]?.string.flatMap(Base64URL.decode))
        let y = try #require(jwk["y"]?.string.flatMap(Base64URL.decode))
        let key = try P256.Signing.PublicKey(x963Representation: [4] + x + y)
        let text = try self.token(self.profile()).text
        let dot = try #require(text.lastIndex(of: UInt8(ascii: ".")))
        let raw = try #require(Base64URL.decode(text[(dot + 1)...]))
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        #expect(key.isValidSignature(signature, for: text[..<dot]))
        for position in 0..<dot {
            var changed = Array(text[..<dot])
            changed[position] ^= 1
            #expect(!key.isValidSignature(signature, for: changed))
        }
    }

    @Test func `each assertion has a unique id`() throws {
        let signer = AssertionSigner(keys: self.keys, issuer: "https://gate.example.com", lifetime: .seconds(120))
        let claims = AssertionClaims(about: AssertedUser(self.profile()), session: "s", for: "https://wiki.example.com")
        let ids = try (0..<100).map { _ in
            let text = try signer.sign(claims, at: self.now)
            let part = text.split(separator: UInt8(ascii: "."))[1]
            return try JSON(parsing: try #require(Base64URL.decode(part)))["jti"]?.string
        }
        #expect(Set(ids).count == 100)
        #expect(!ids.contains(nil))
    }
}
