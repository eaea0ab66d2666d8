// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import GateSessions
import GateTestSupport
import Synchronization
import Testing

@testable import GateIssuer

@Suite struct DPoPProofTests {
    private static let url = "https://gate.example.com/x"
    private let key = P256.Signing.PrivateKey()
    private let token = Array("the access token".utf8)

    private var jwk: [String: JSON] {
        let point = Array(self.key.publicKey.rawRepresentation)
        return [
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ]
    }

    /// A proof with some members of its header and its claims changed; null leaves one out.
    private func proof(header: [String: JSON] = [:], claims: [String: JSON] = [:]) throws -> String {
        let ath = Base64URL.encode(SHA256.hash(data: self.token))
        let first: [String: JSON] = ["typ": "dpop+jwt", "alg": "ES256", "jwk": .object(self.jwk)]
        let second: [String: JSON] = [
            "htm": "GET", "htu": .string(Self.url), "iat": .int(noon.seconds), "jti": "j", "ath": .string(ath),
        ]
        let parts = [first.merging(header) { $1 }, second.merging(claims) { $1 }].map { members in
            Base64URL.encode(JSON.object(members.filter { $0.value != .null }).encoded)
        }
        let signed = parts.joined(separator: ".")
        let signature = try self.key.signature(for: Array(signed.utf8)).rawRepresentation
        return "\(signed).\(Base64URL.encode(Array(signature)))"
    }

    private func accepts(_ text: String, now: Instant = noon) -> Bool {
        let target = DPoPProof.Target(
            method: "GET",
            url: Self.url,
            accessToken: self.token
        )
        // Which of the rules it breaks is in the error.
        return (try? DPoPProof(Array(text.utf8), for: target, now: now)) != nil
    }

    @Test func `RFC 9449 §4.1 and §6.1: the example of the RFC is valid, with its thumbprint`() throws {
        let text = """
            eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6Ik\
            VDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCR\
            nMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JE\
            QSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIj\
            oiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwia\
            WF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg\
            4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg
            """
        let target = DPoPProof.Target(method: "POST", url: "https://server.example.com/token")
        let proof = try DPoPProof(Array(text.utf8), for: target, now: Instant(seconds: 1_562_262_616))
        #expect(proof.keyThumbprint == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }

    @Test(arguments: [(-11, false), (-10, true), (0, true), (60, true), (61, false)] as [(Int64, Bool)])
    func `RFC 9449 §4.3 rule 11: a proof is valid for a minute`(age: Int64, isValid: Bool) throws {
        #expect(self.accepts(try self.proof(), now: Instant(seconds: noon.seconds + age)) == isValid)
    }

    @Test(
        arguments: [
            ["typ": "JWT"], ["typ": .null], ["alg": "none"], ["alg": "HS256"], ["alg": "RS256"], ["alg": "EdDSA"],
            ["alg": .null], ["jwk": .null], ["jwk": "x"], ["crit": ["b64"]],
        ] as [[String: JSON]]
    )
    func `RFC 9449 §4.3 rules 4 to 6: each wrong header is rejected`(header: [String: JSON]) throws {
        #expect(!self.accepts(try self.proof(header: header)))
    }

    @Test(arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func `RFC 9449 §4.3 rule 7: the header has no private key`(member: String) throws {
        #expect(!self.accepts(try self.proof(header: ["jwk": .object(self.jwk.merging([member: "AA"]) { $1 })])))
    }

    @Test(
        arguments: [
            ["htm": "POST"], ["htm": "get"], ["htm": .null], ["htu": "https://gate.example.com/y"],
            ["htu": "http://gate.example.com/x"], ["htu": "https://gate.example.com/x/"], ["htu": .null],
            ["iat": .null],
            ["iat": "1800000000"], ["jti": .null], ["jti": ""], ["jti": .string(String(repeating: "j", count: 257))],
            ["ath": .null], ["ath": "x"],
        ] as [[String: JSON]]
    )
    func `RFC 9449 §4.3 rules 8 to 12: each wrong claim is rejected`(claims: [String: JSON]) throws {
        #expect(!self.accepts(try self.proof(claims: claims)))
    }

    @Test(
        arguments: [
            [:], ["htu": "https://gate.example.com/x?a=1"], ["htu": "https://gate.example.com/x#a"],
            ["htu": "https://gate.example.com/%78"], ["jti": .string(String(repeating: "j", count: 256))],
        ] as [[String: JSON]]
    )
    func `RFC 9449 §4.3: query and fragment do not count`(claims: [String: JSON]) throws {
        #expect(self.accepts(try self.proof(claims: claims)))
    }

    // E-11
    @Test(
        arguments: [
            ("HTTPS://Gate.Example.com:443/x", true), ("https://gate.example.com/%78", true),
            ("https://gate.example.com/./x", true), ("https://gate.example.com/a/../x", true),
            ("https://gate.example.com/%2E/x?q=1", true), ("https://gate.example.com/X", false),
            ("https://gate.example.com//x", false), ("https://gate.example.com/x/.", false),
            ("https://gate.example.com:8443/x", false), ("https://gate.example.com/x/../y", false),
            ("https://gate.example.com/%2Fx", false), ("https://gate.example.com@evil.example/x", false), ("x", false),
        ] as [(String, Bool)]
    )
    func `RFC 9449 §4.3 rule 9: htu is compared after the normalization of RFC 3986`(url: String, isSame: Bool) throws {
        #expect(self.accepts(try self.proof(claims: ["htu": .string(url)])) == isSame)
    }

    // E-11
    @Test(
        arguments: [
            ("/a%2fb", "/a%2Fb", true), ("/a%2fb", "/a/b", false), ("/a|b", "/a|b", true), ("/a%7Eb", "/a~b", true),
            ("/", "", true), ("/%c3%a9", "/%C3%A9", true),
        ] as [(String, String, Bool)]
    )
    func `RFC 9449 §4.3 rule 9: the URL of the request is normalized in the same way`(
        path: String,
        stated: String,
        isSame: Bool
    ) throws {
        let url = "https://gate.example.com\(path)"
        let target = DPoPProof.Target(method: "GET", url: url, accessToken: self.token)
        let text = try self.proof(claims: ["htu": .string("https://gate.example.com\(stated)")])
        #expect(((try? DPoPProof(Array(text.utf8), for: target, now: noon)) != nil) == isSame)
    }

    @Test func `RFC 9449 §4.3 rule 6: the signature is that of the key in the header`() throws {
        let text = try self.proof()
        let other = DPoPProofTests()
        #expect(!self.accepts(try self.proof(header: ["jwk": .object(other.jwk)])))
        #expect(!self.accepts(text + "A") && !self.accepts(text + ".x") && !self.accepts("") && !self.accepts("a.b.c"))
        #expect(!self.accepts(try self.proof(claims: ["x": .string(String(repeating: "x", count: 4096))])))
    }

    @Test(arguments: HostileNumbers.json) func `B-05: a proof is of the last minute, whatever number its time is`(
        text: String
    )
        throws
    {
        let proof = try self.proof(claims: ["iat": .number(text)])
        let isNow = Double(text).map { $0 == Double(noon.seconds) } ?? false
        #expect(self.accepts(proof) == isNow)
        for now in HostileNumbers.integers.map(Instant.init(seconds:)) { _ = self.accepts(proof, now: now) }
    }
}

@Suite struct ProofReplaysTests {
    private final class Clock: Sendable {
        private let value = Mutex(Duration.zero)
        var now: Duration { self.value.withLock { $0 } }
        func advance(_ time: Duration) { self.value.withLock { $0 += time } }
    }

    private func proof(_ id: String, by key: Curve25519.Signing.PrivateKey) throws -> DPoPProof {
        let jwk: JSON = [
            "kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(Array(key.publicKey.rawRepresentation))),
        ]
        let header: JSON = ["typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk]
        let claims: JSON = ["htm": "GET", "htu": "https://a.example/", "iat": .int(noon.seconds), "jti": .string(id)]
        let signed = "\(Base64URL.encode(header.encoded)).\(Base64URL.encode(claims.encoded))"
        let signature = try key.signature(for: Array(signed.utf8))
        let target = DPoPProof.Target(method: "GET", url: "https://a.example/")
        return try DPoPProof(Array("\(signed).\(Base64URL.encode(Array(signature)))".utf8), for: target, now: noon)
    }

    @Test func `RFC 9449 §11.1: a proof works once while it is valid`() throws {
        let clock = Clock()
        let replays = ProofReplays { clock.now }
        let (key, other) = (Curve25519.Signing.PrivateKey(), Curve25519.Signing.PrivateKey())
        let session = try self.session(1)
        try replays.spend(try self.proof("a", by: key).id, of: session)
        for wait in [0, 35, 35] as [Int64] {
            clock.advance(.seconds(wait))
            #expect(throws: OAuthError.self) { try replays.spend(try self.proof("a", by: key).id, of: session) }
        }
        try replays.spend(try self.proof("b", by: key).id, of: session)
        try replays.spend(try self.proof("a", by: other).id, of: session)
        clock.advance(.seconds(142))
        try replays.spend(try self.proof("a", by: key).id, of: session)
    }

    @Test func `a table that is full rejects proofs rather than forget those that are valid`() throws {
        let clock = Clock()
        let replays = ProofReplays { clock.now }
        func id(_ number: Int) -> DPoPProof.ID { DPoPProof.ID(SHA256.hash(data: Array("\(number)".utf8))) }
        let sessions = try (0...16).map { number in try self.session(number) }
        func spend(_ number: Int) throws { try replays.spend(id(number), of: sessions[number % 16]) }
        for number in 0..<ProofReplays.capacity { try spend(number) }
        #expect(throws: OAuthError.self) { try replays.spend(id(ProofReplays.capacity), of: sessions[16]) }
        clock.advance(.seconds(71))
        try spend(ProofReplays.capacity)
        #expect(throws: OAuthError.self) { try spend(0) }
    }

    /// A session of a client.
    private func session(_ number: Int) throws -> Ticket {
        let bytes = SHA512.hash(data: Array("session \(number)".utf8)).prefix(42)
        return try #require(Ticket(Base64URL.encode(Array(bytes)).utf8))
    }

    @Test func `one session that uses up its share leaves space for others`() throws {
        let clock = Clock()
        let replays = ProofReplays { clock.now }
        func id(_ number: Int) -> DPoPProof.ID { DPoPProof.ID(SHA256.hash(data: Array("\(number)".utf8))) }
        let one = try self.session(1)
        for number in 0..<ProofReplays.capacityOfSession { try replays.spend(id(number), of: one) }
        #expect(throws: OAuthError.self) { try replays.spend(id(-1), of: one) }
        try replays.spend(id(-1), of: self.session(2))
        clock.advance(.seconds(71))
        try replays.spend(id(-2), of: one)
    }
}
