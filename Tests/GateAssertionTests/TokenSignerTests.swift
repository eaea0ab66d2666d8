// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateAssertion

@Suite struct TokenSignerTests {
    private let keys: AssertionKeys
    private let signer: TokenSigner

    init() throws {
        self.keys = AssertionKeys(signing: try TokenSignerTests.key(5))
        self.signer = TokenSigner(keys: self.keys, issuer: "https://gate.example.com")
    }

    private static func key(_ byte: UInt8) throws -> AssertionKey {
        try AssertionKey(from: RandomBytes { [UInt8](repeating: byte, count: $0) })
    }

    private func signed(_ head: JSON, _ claims: JSON, with key: AssertionKey? = nil) throws -> [UInt8] {
        let head = Array("\(Base64URL.encode(head.encoded)).".utf8)
        return try (key ?? self.keys.signing).signed(head, claims: claims)
    }

    @Test func `a token is verified for its purpose only`() throws {
        let token = try self.signer.sign(["sub": "mock:1"], as: .accessToken)
        #expect(
            self.signer.claims(of: token.utf8, as: .accessToken) == [
                "sub": "mock:1", "iss": "https://gate.example.com",
            ]
        )
        #expect(self.signer.claims(of: token.utf8, as: .idToken) == nil)
        #expect(self.signer.claims(of: token.utf8, as: .logoutToken) == nil)
    }

    @Test func `RFC 8725 §3.8: a token of another issuer is rejected`() throws {
        let other = TokenSigner(keys: self.keys, issuer: "https://gate.example.com/")
        #expect(self.signer.claims(of: try other.sign([:], as: .idToken).utf8, as: .idToken) == nil)
    }

    @Test func `each changed bit of a token is noticed`() throws {
        let token = Array(try self.signer.sign(["sub": "mock:1"], as: .accessToken).utf8)
        for index in token.indices {
            for bit in 0..<8 {
                var changed = token
                changed[index] ^= 1 << bit
                #expect(self.signer.claims(of: changed, as: .accessToken) == nil, "\(index) \(bit)")
            }
        }
    }

    @Test(
        arguments: [
            ["alg": "none", "typ": "at+jwt"], ["alg": "HS256", "typ": "at+jwt"], ["alg": "ES384", "typ": "at+jwt"],
            ["alg": "ES256", "typ": "JWT"], ["alg": "ES256"], ["alg": "ES256", "typ": "at+jwt", "crit": ["exp"]],
            ["alg": "ES256", "typ": "AT+JWT"],
        ] as [JSON]
    )
    func `RFC 8725 §3.1, §3.11: another header is rejected`(head: JSON) throws {
        var members = try #require(head.object)
        members["kid"] = .string(self.keys.signing.id)
        let token = try self.signed(.object(members), ["iss": "https://gate.example.com"])
        #expect(self.signer.claims(of: token, as: .accessToken) == nil)
    }

    @Test func `a key of another gateway with our key id is rejected`() throws {
        let head: JSON = ["alg": "ES256", "typ": "at+jwt", "kid": .string(self.keys.signing.id)]
        let claims: JSON = ["iss": "https://gate.example.com"]
        #expect(self.signer.claims(of: try self.signed(head, claims, with: Self.key(6)), as: .accessToken) == nil)
        #expect(self.signer.claims(of: try self.signed(head, claims), as: .accessToken) == claims)
    }

    @Test(arguments: ["", ".", "..", "a.b.c", "a.b.c.d", String(repeating: "a", count: 9000)])
    func `other texts are rejected`(text: String) {
        #expect(self.signer.claims(of: text.utf8, as: .accessToken) == nil)
    }

    @Test func `the signature is not verified for claims that do not matter`() throws {
        let token = try self.signer.sign(["sub": "mock:1"], as: .accessToken)
        #expect(self.signer.claims(of: token.utf8, as: .accessToken, ifAny: { _ in false }) == nil)
    }
}
