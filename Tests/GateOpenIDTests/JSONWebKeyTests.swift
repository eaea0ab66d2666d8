// SPDX-License-Identifier: Apache-2.0

import CryptoExtras
import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct JSONWebKeyTests {
    private func point(_ y: [UInt8]) -> JSON {
        ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(y))]
    }

    @Test(
        arguments: [
            ["use": "enc"], ["use": 1], ["key_ops": ["sign"]], ["key_ops": []], ["kty": "oct", "k": "AAAA"],
            ["kty": "EC"],
            ["kid": 1], ["kid": .string(String(repeating: "k", count: 257))], ["alg": 1], ["n": "AQAB"], ["n": 1],
            ["e": "AQ"], ["e": "Aw"], ["e": "AQAA"], ["e": "AQAAAAAB"], ["e": ""], ["n": ""], ["n": "+/=="],
        ] as [[String: JSON]]
    )
    func `T-33 a key that is weak, strange or for something else is not used`(change: [String: JSON]) {
        #expect(JSONWebKey(TestKey.rs256.named("k1")) != nil)
        #expect(JSONWebKey(TestKey.rs256.named("k1", change)) == nil)
    }

    @Test func `T-33 an RSA key of less than 2048 bits is not used`() throws {
        let modulus = try #require(TestKey.rs256.jwk["n"]?.string.flatMap(Base64URL.decode))
        var short = modulus
        short[0] = 0x7F
        #expect(JSONWebKey(TestKey.rs256.named("k1", ["n": .string(Base64URL.encode(short))])) == nil)
        let padded = [0] + Array(modulus.prefix(128)) + [1]
        #expect(JSONWebKey(TestKey.rs256.named("k1", ["n": .string(Base64URL.encode(padded))])) == nil)
        #expect(JSONWebKey(TestKey.rs256.named("k1", ["n": .string(Base64URL.encode([0] + modulus))])) != nil)
    }

    @Test func `W-09: an RSA key of the faulty generator is not used, and reported as such`() throws {
        let key = TestKey.rs256.named("k1", ["n": .string(Self.roca)])
        #expect(JSONWebKey(key) == nil)
        let definition = try ProviderDefinition(ProviderFixture.settings())
        let findings = KeyFindings(["keys": [key, TestKey.rs256.named("good")]], of: definition)
        #expect(findings.usable == 1 && findings.rejected.count == 1)
        #expect(findings.rejected.first?.contains("ROCA") == true)
    }

    @Test func `W-09: keys that share a name are reported, each is tried where its algorithm fits`() throws {
        let definition = try ProviderDefinition(ProviderFixture.settings())
        let keys: JSON = ["keys": [TestKey.rs256.named("k"), TestKey.es256.named("k"), TestKey.edDSA.named("e")]]
        #expect(KeyFindings(keys, of: definition).repeatedNames == ["\"k\""])
        let set = try KeySet(keys, at: Instant(seconds: 0))
        #expect(set.candidates(id: "k", algorithm: .rs256).count == 1)
        #expect(set.candidates(id: "k", algorithm: .es256).count == 1)
        #expect(set.candidates(id: "k", algorithm: .edDSA).isEmpty)
    }

    @Test(arguments: [("Aw", "exponent 3"), ("AQAA", "even"), ("AQAAAAAB", "32 bits")])
    func `W-10: an exponent that is not used is named, not called malformed`(exponent: String, word: String) throws {
        let definition = try ProviderDefinition(ProviderFixture.settings())
        let findings = KeyFindings(["keys": [TestKey.rs256.named("k", ["e": .string(exponent)])]], of: definition)
        #expect(findings.rejected.first?.contains(word) == true, "\(findings.rejected)")
    }

    /// A power of 65537 modulo each prime up to 167, and otherwise arbitrary.
    private static let roca =
        "j9u5NIKWrQBHd7o1LpGVbnpWo9Y1H_wzF8FVct6_p39_aOsgGWFuypoCwrB2jKR0ufudXjFgnSCSKGlkSQ_JJt8vmX0-xFZZaGP5Fbqtbl0CqZNp"
        + "nHGqWLIfTVPmc8U9ebQpkeyp1lRzgKRHARMedBp7U3RX7KpagSJsMmk3s6WzCAqg9wTRKdPGEcf_LrWzuSpgcTnqtZjYFtrSseNqArFCGVHW"
        + "aJnwB5Z9wgcuEVfUIZXqVn79vTV6ddARVwO5636x_xCWxHFhvfxxNwQVltkf6Tw49qJNNOmjPBJT2Us5C-n8ZwuImfVKDcIllt3fqmIWU0Kf"
        + "kmSPDuQsASJVQw"

    @Test func `T-33 a point that is not on the curve is not a key`() throws {
        let y = try #require(TestKey.es256.jwk["y"]?.string.flatMap(Base64URL.decode))
        var off = y
        off[5] ^= 1
        #expect(JSONWebKey(TestKey.es256.named("k1")) != nil)
        #expect(JSONWebKey(TestKey.es256.named("k1", ["y": .string(Base64URL.encode(off))])) == nil)
        #expect(JSONWebKey(TestKey.es256.named("k1", ["y": .string(Base64URL.encode([0] + y))])) == nil)
        #expect(JSONWebKey(TestKey.es256.named("k1", ["crv": "P-384"])) == nil)
        #expect(JSONWebKey(TestKey.es256.named("k1", ["crv": "secp256k1"])) == nil)
    }

    @Test func `T-33 an Ed25519 point of small order is not a key`() {
        let zeros = [UInt8](repeating: 0, count: 31)
        let ones = [UInt8](repeating: 0xFF, count: 30)
        for y in [
            [0] + zeros, [1] + zeros, [1] + zeros.dropLast() + [0x80], [0xEC] + ones + [0x7F], [0xED] + ones + [0x7F],
            [0xEE] + ones + [0xFF],
        ] {
            #expect(JSONWebKey(self.point(y)) == nil)
        }
        #expect(JSONWebKey(.object(TestKey.edDSA.jwk)) != nil)
        #expect(JSONWebKey(self.point([9])) == nil)
    }

    @Test(arguments: [nil, "EdDSA", "Ed25519"] as [String?])
    func `an Ed25519 key goes by both names of its algorithm`(name: String?) throws {
        let algorithm: [String: JSON] = name.map { ["alg": .string($0)] } ?? [:]
        let key = try #require(JSONWebKey(TestKey.edDSA.named("k1", algorithm)))
        #expect(key.fits(.edDSA) && key.fits(.ed25519))
        let other = try #require(JSONWebKey(TestKey.es256.named("k1")))
        #expect(!other.fits(.edDSA) && !other.fits(.ed25519))
        #expect(JSONWebKey(TestKey.es256.named("k1", ["alg": "Ed25519"]))?.fits(.es256) == false)
    }

    @Test func `a key set is bounded and has a usable key`() {
        let now = Instant(seconds: 0)
        let key = TestKey.es256.named("k1")
        #expect(throws: Failure.self) { try KeySet(["keys": []], at: now) }
        #expect(throws: Failure.self) { try KeySet(["keys": .object([:])], at: now) }
        #expect(throws: Failure.self) { try KeySet([:], at: now) }
        #expect(throws: Failure.self) { try KeySet(["keys": [["kty": "oct", "k": "AAAA"]]], at: now) }
        #expect(throws: Failure.self) {
            try KeySet(["keys": .array(Array(repeating: key, count: 101))], at: now)
        }
        #expect(throws: Never.self) { try KeySet(["keys": ["nonsense", key]], at: now) }
    }

    @Test func `keys are merged by name and kept for a while after they were last seen`() throws {
        let start = Instant(seconds: 1000)
        let hour = Duration.seconds(3600)
        let first = try KeySet(["keys": [TestKey.rs256.named("a"), TestKey.es256.named(nil)]], at: start)
        let later = start.advanced(by: .seconds(3599))
        let second = try KeySet(["keys": [TestKey.es256.named("b")]], at: later)
            .merged(with: first, retention: hour, at: later)
        #expect(second.contains("a") && second.contains("b"))
        #expect(second.candidates(id: nil, algorithm: .es256).map(\.id) == ["b"])
        #expect(second.candidates(id: nil, algorithm: .rs256).isEmpty)
        let end = start.advanced(by: hour)
        let third = try KeySet(["keys": [TestKey.es256.named("b")]], at: end)
            .merged(with: second, retention: hour, at: end)
        #expect(!third.contains("a") && third.contains("b"))
    }

    @Test func `a key of the same name is replaced`() throws {
        let now = Instant(seconds: 1000)
        let first = try KeySet(["keys": [TestKey.rs256.named("a")]], at: now)
        let second = try KeySet(["keys": [TestKey.es256.named("a")]], at: now)
            .merged(with: first, retention: .seconds(3600), at: now)
        #expect(second.candidates(id: "a", algorithm: .rs256).isEmpty)
        #expect(second.candidates(id: "a", algorithm: .es256).count == 1)
    }
}
