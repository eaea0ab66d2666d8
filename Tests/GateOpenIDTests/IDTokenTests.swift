// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateCore
import GateProviders
import GateTestSupport
import Testing

@testable import GateOpenID

@Suite struct IDTokenTests {
    private static let now = Instant(seconds: 1_790_000_100)
    private static let claims: JSON = [
        "iss": "https://id.example.com", "aud": "client", "sub": "ada", "nonce": "n-1", "iat": 1_790_000_000,
        "exp": 1_790_003_600,
    ]

    /// The code of the rejection of a token, nil if it is verified.
    private func rejection(_ text: String, keys: [JSON]? = nil, accessToken: String = "at") async throws -> String? {
        try await self.failure(text, keys: keys, accessToken: accessToken)?.code
    }

    /// The rejection of a token, nil if it is verified.
    private func failure(
        _ text: String,
        keys: [JSON]? = nil,
        accessToken: String = "at",
        _ change: (inout ProviderSettings) -> Void = { _ in }
    ) async throws -> Failure? {
        var settings = ProviderSettings(id: "staff", type: .oidc, clientID: "client", clientSecret: Secret([]))
        settings.issuer = "https://id.example.com"
        change(&settings)
        let keys = keys ?? TestKey.all.map { $0.named("k1") }
        let document = CachedDocument<KeySet>(clock: .fixed(Self.now)) { (_) throws(Failure) in
            (try KeySet(["keys": .array(keys)], at: Self.now), ProviderResponse.defaultLifetime)
        }
        let expected = IDToken.Expectation(
            definition: try ProviderDefinition(settings),
            discoveredIssuer: "https://id.example.com",
            clientID: "client",
            nonce: "n-1",
            accessToken: accessToken,
            now: Self.now
        )
        do throws(Failure) {
            let keys =
                expected.definition.usesSecretForTokens
                ? TokenKeys.secret(settings.clientSecret)
                : TokenKeys.published(KeyCache(document, clock: .fixed(Self.now)))
            let verified = try await IDToken.verified(text, by: keys, expecting: expected)
            #expect(verified.subject == "ada" && verified.text == text)
            return nil
        } catch {
            return error
        }
    }

    private func rejection(claims changes: [String: JSON?]) async throws -> String? {
        try await self.rejection(try token(Self.claims.with(changes), by: .rs256))
    }

    @Test(arguments: TestKey.all)
    func `a token of each algorithm is verified, and by no other key`(key: TestKey) async throws {
        let text = try token(Self.claims, by: key)
        #expect(try await self.rejection(text) == nil)
        let others = TestKey.all.filter { $0.jwk["kty"] != key.jwk["kty"] }.map { $0.named("k1") }
        #expect(
            try await self.rejection(text, keys: others + [TestKey.otherRS256.named("k2")]) == "id_token.key_unknown"
        )
    }

    @Test(arguments: TestKey.all)
    func `a changed byte of the claims or the signature is noticed`(key: TestKey) async throws {
        let parts = try token(Self.claims, by: key).split(separator: ".").map(String.init)
        let claims = Base64URL.encode(Self.claims.with(["sub": "eve"]).encoded)
        var signature = try #require(Base64URL.decode(parts[2]))
        signature[10] ^= 1
        #expect(try await self.rejection("\(parts[0]).\(claims).\(parts[2])") == "id_token.signature")
        let changed = "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature))"
        #expect(try await self.rejection(changed) == "id_token.signature")
    }

    @Test(arguments: [
        "none", "None", "nOnE", "HS256", "rs256", "RS384", "ES512", "RSA1_5", "PBES2-HS256+A128KW", "", nil,
    ])
    func `T-30 an algorithm that was not agreed on is refused`(algorithm: String?) async throws {
        let text = try token(Self.claims, by: .rs256, header: ["alg": algorithm.map(JSON.string)])
        #expect(try await self.rejection(text) == "id_token.algorithm")
        let unsigned = text.split(separator: ".").prefix(2).joined(separator: ".") + "."
        #expect(try await self.rejection(unsigned) == "id_token.unsigned")
    }

    @Test func `T-31 a public key is not the secret of an HMAC, and a key fits its own algorithm only`() async throws {
        let modulus = try #require(TestKey.rs256.jwk["n"]?.string)
        let secret = SymmetricKey(data: Array(modulus.utf8))
        let hmac = TestKey(algorithm: "HS256", jwk: [:]) { bytes in
            Array(HMAC<SHA256>.authenticationCode(for: bytes, using: secret))
        }
        #expect(try await self.rejection(try token(Self.claims, by: hmac)) == "id_token.algorithm")
        let text = try token(Self.claims, by: .rs256)
        let ps256Only = [TestKey.rs256.named("k1", ["alg": "PS256"])]
        #expect(try await self.rejection(text, keys: ps256Only) == "id_token.key_unknown")
        #expect(try await self.rejection(text, keys: [TestKey.rs256.named("k1", ["alg": "RS256"])]) == nil)
        let relabelled = try token(Self.claims, by: .rs256, header: ["alg": "PS256"])
        #expect(try await self.rejection(relabelled) == "id_token.signature")
    }

    @Test func `T-32 a signature of zeros, in DER or of another length is rejected`() async throws {
        let zeros = TestKey(algorithm: "ES256", jwk: [:]) { _ in [UInt8](repeating: 0, count: 64) }
        let der = TestKey(algorithm: "ES256", jwk: [:]) { try TestKey.es256DER(over: $0) }
        let long = TestKey(algorithm: "ES256", jwk: [:]) { try TestKey.es256.sign($0) + [0] }
        let short = TestKey(algorithm: "EdDSA", jwk: [:]) { try TestKey.edDSA.sign($0).dropLast() }
        let order = [UInt8](repeating: 0xFF, count: 64)
        let huge = TestKey(algorithm: "ES256", jwk: [:]) { _ in order }
        for key in [zeros, der, long, short, huge] {
            #expect(try await self.rejection(try token(Self.claims, by: key)) == "id_token.signature")
        }
    }

    @Test(arguments: ["../../etc/passwd", "' OR 1=1 --", "https://evil.example/key"])
    func `T-34 a key's name is a name and nothing else`(id: String) async throws {
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, kid: id)) == "id_token.key_unknown")
        let keys = [TestKey.rs256.named(id)]
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, kid: id), keys: keys) == nil)
    }

    @Test func `T-34 a key's name is a text of at most 256 bytes`() async throws {
        let long = String(repeating: "k", count: 10_000)
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, kid: long)) == "id_token.key_id")
        for kid in [1, "", ["k1"], .null] as [JSON] {
            #expect(
                try await self.rejection(try token(Self.claims, by: .rs256, header: ["kid": kid])) == "id_token.key_id"
            )
        }
    }

    @Test func `T-34 of equal names each key of the right type is tried, but not more than four`() async throws {
        let text = try token(Self.claims, by: .rs256)
        let other = TestKey.otherRS256.named("k1")
        let mine = TestKey.rs256.named("k1")
        #expect(try await self.rejection(text, keys: [TestKey.es256.named("k1"), other, other, other, mine]) == nil)
        #expect(try await self.rejection(text, keys: [other, other, other, other, mine]) == "id_token.signature")
    }

    @Test func `T-35 keys and addresses in the header are never used`() async throws {
        let header: [String: JSON?] = [
            "jku": "https://evil.example/keys", "x5u": "https://evil.example/cert",
            "jwk": TestKey.otherRS256.named("k1"),
            "x5c": ["MIIC"],
        ]
        let forged = try token(Self.claims, by: .otherRS256, header: header)
        #expect(try await self.rejection(forged) == "id_token.signature")
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, header: header)) == nil)
    }

    @Test(
        arguments: [["crit": ["exp"]], ["crit": []], ["b64": false], ["b64": true], ["zip": "DEF"], ["enc": "A128GCM"]]
            as [[String: JSON]]
    )
    func `T-36 T-41 a header that demands or hides something is refused`(header: [String: JSON]) async throws {
        let text = try token(Self.claims, by: .rs256, header: header.mapValues { $0 })
        #expect(try await self.rejection(text) == "id_token.critical_header")
    }

    @Test func `T-37 a name that is there twice is refused, in claims and header`() async throws {
        let claims = Array(
            #"{"iss":"https://evil.example","iss":"https://id.example.com","aud":"client","sub":"ada"}"#.utf8
        )
        let header = Array(#"{"alg":"RS256","kid":"k1","alg":"RS256"}"#.utf8)
        let good = Base64URL.encode(Array(#"{"alg":"RS256","kid":"k1"}"#.utf8))
        for input in [
            "\(good).\(Base64URL.encode(claims))",
            "\(Base64URL.encode(header)).\(Base64URL.encode(Self.claims.encoded))",
        ] {
            let signature = Base64URL.encode(try TestKey.rs256.sign(Array(input.utf8)))
            #expect(try await self.rejection("\(input).\(signature)") == "id_token.malformed")
        }
    }

    @Test(
        arguments: [
            "1790003600", .number("1e300"), .number("-1"), 1_790_000_039, nil, .null, true,
            .number("9007199254740993000"),
        ] as [JSON?]
    )
    func `T-38 an expiry that is not a number, out of range or past is rejected`(value: JSON?) async throws {
        #expect(try await self.rejection(claims: ["exp": value]) == "id_token.expired")
    }

    @Test(
        arguments: [
            ("1790000000", "id_token.issued_at"), (nil, "id_token.issued_at"), (1_790_000_161, "id_token.issued_at"),
            (1_789_999_439, "id_token.issued_at"), (.number("1e300"), "id_token.issued_at"),
            (1_789_999_441, nil), (1_790_000_160, nil), (.number("1790000000.75"), nil),
        ] as [(JSON?, String?)]
    )
    func `T-38 a token was issued within ten minutes, give or take one`(value: JSON?, code: String?) async throws {
        #expect(try await self.rejection(claims: ["iat": value]) == code)
    }

    @Test(
        arguments: [
            (1_790_000_160, nil), (1_790_000_161, "id_token.not_before"), ("1", "id_token.not_before"),
            (.null, "id_token.not_before"),
        ] as [(JSON, String?)]
    )
    func `T-38 a token that begins later is refused`(value: JSON, code: String?) async throws {
        #expect(try await self.rejection(claims: ["nbf": value]) == code)
    }

    @Test func `an end a minute ago is still accepted, a life of more than a day is not`() async throws {
        #expect(try await self.rejection(claims: ["exp": 1_790_000_041]) == nil)
        #expect(try await self.rejection(claims: ["exp": 1_790_000_040]) == "id_token.expired")
        #expect(try await self.rejection(claims: ["exp": 1_790_086_400]) == nil)
        #expect(try await self.rejection(claims: ["exp": 1_790_086_401]) == "id_token.lifetime")
        #expect(try await self.rejection(claims: ["iat": 1_790_000_150, "exp": 1_790_000_149]) == "id_token.lifetime")
    }

    @Test(
        arguments: [
            (["client", "client", "api"], "id_token.audience"), ("other", "id_token.audience"),
            ([], "id_token.audience"), (["client", "other"], "id_token.audience"),
            (1, "id_token.audience"), (nil, "id_token.audience"), ([["client"]], "id_token.audience"),
            ("client ", "id_token.audience"), (["client"], nil), (["client", "client"], nil),
        ] as [(JSON?, String?)]
    )
    func `T-39 the audience is us alone`(value: JSON?, code: String?) async throws {
        #expect(try await self.rejection(claims: ["aud": value]) == code)
    }

    @Test(arguments: [("client", nil), ("other", true), (["client"], true), (.null, true)] as [(JSON, Bool?)])
    func `T-39 the authorized party, if there is one, is us`(value: JSON, isRefused: Bool?) async throws {
        let code = isRefused == nil ? nil : "id_token.authorized_party"
        #expect(try await self.rejection(claims: ["azp": value]) == code)
    }

    @Test func `T-40 what is not strictly a compact signed token is refused before anything else`() async throws {
        let text = try token(Self.claims, by: .rs256)
        let parts = text.split(separator: ".").map(String.init)
        let huge = String(repeating: "A", count: 70_000)
        #expect(try await self.rejection("\(parts[0]).\(huge).\(parts[2])") == "id_token.size")
        let malformed = [
            "", ".", "..", "...", String(repeating: ".", count: 60_000), "\(text).", "\(text).x",
            "\(parts[0]).\(parts[1])",
            "\(text)=", " \(text)", "\(text)\n", text.replacing(".", with: ". "),
            "\(parts[0])+.\(parts[1]).\(parts[2])",
            "\(parts[0])=.\(parts[1]).\(parts[2])", "\u{E9}.\(parts[1]).\(parts[2])",
        ]
        for one in malformed {
            #expect(try await self.rejection(one) == "id_token.malformed")
        }
    }

    @Test func `T-40 stray bits behind the last byte are refused`() async throws {
        let text = try token(Self.claims, by: .rs256)
        let last = try #require(text.last)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let index = try #require(alphabet.firstIndex(of: last))
        #expect(try await self.rejection(String(text.dropLast()) + String(alphabet[index + 1])) == "id_token.malformed")
    }

    @Test func `T-41 an encrypted token is refused`() async throws {
        #expect(try await self.rejection("eyJhbGciOiJSU0EtT0FFUCJ9.AAAA.AAAA.AAAA.AAAA") == "id_token.encrypted")
        #expect(try await self.rejection("eyJhbGciOiJSU0EtT0FFUCJ9.AAAA.AAAA.AAAA.AAAA.AAAA") == "id_token.malformed")
        #expect(try await self.rejection("AAAA.AAAA.AAAA.AAAA.AAAA") == "id_token.malformed")
        let nested = JSON(parsingNested: 40)
        #expect(try await self.rejection(claims: ["deep": nested]) == "id_token.malformed")
    }

    @Test(arguments: ["logout+jwt", "at+jwt", "application/at+jwt", "JWE", ""])
    func `T-42 a token of another type is not an ID token`(type: String) async throws {
        let text = try token(Self.claims, by: .rs256, header: ["typ": .string(type)])
        #expect(try await self.rejection(text) == "id_token.type")
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, header: ["typ": nil])) == nil)
        #expect(try await self.rejection(try token(Self.claims, by: .rs256, header: ["typ": "jwt"])) == nil)
        let full = try token(Self.claims, by: .rs256, header: ["typ": "application/JWT"])
        #expect(try await self.rejection(full) == nil)
    }

    @Test(arguments: [["a"], "text", 1, .null, true] as [JSON])
    func `T-44 claims that are not an object are rejected`(claims: JSON) async throws {
        #expect(try await self.rejection(try token(claims, by: .rs256)) == "id_token.malformed")
    }

    @Test(arguments: ["https://evil.example", "https://id.example.com/", 1, nil] as [JSON?])
    func `the issuer is the provider's own`(issuer: JSON?) async throws {
        #expect(try await self.rejection(claims: ["iss": issuer]) == "id_token.issuer")
    }

    @Test(arguments: ["n-2", "", "n-1 ", 1, nil] as [JSON?])
    func `the nonce is that of the attempt`(nonce: JSON?) async throws {
        #expect(try await self.rejection(claims: ["nonce": nonce]) == "id_token.nonce")
    }

    @Test(arguments: ["", 1, nil, .null, .string(String(repeating: "s", count: 256))] as [JSON?])
    func `the subject is a text of 1 to 255 bytes`(subject: JSON?) async throws {
        #expect(try await self.rejection(claims: ["sub": subject]) == "id_token.subject")
    }

    @Test func `the hash of the access token must be right if it is there`() async throws {
        let example = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let good = try token(Self.claims.with(["at_hash": "77QmUPtjPfzWtF2AnpK9RQ"]), by: .rs256)
        #expect(try await self.rejection(good, accessToken: example) == nil)
        #expect(try await self.rejection(good, accessToken: "other") == "id_token.access_token_hash")
        #expect(try await self.rejection(claims: ["at_hash": 1]) == "id_token.access_token_hash")
        let digest = SHA384.hash(data: Array("at".utf8)).prefix(24)
        let es384 = try token(Self.claims.with(["at_hash": .string(Base64URL.encode(digest))]), by: .es384)
        #expect(try await self.rejection(es384) == nil)
    }

    // MARK: Algorithms that the file lists

    private static let secret = "0123456789abcdef0123456789abcdef"

    @Test(arguments: TestKey.listed)
    func `W-01: an algorithm that is listed is verified, by its own key only, and refused where it is not listed`(
        key: TestKey
    ) async throws {
        let algorithm = try #require(SignatureAlgorithm(rawValue: key.algorithm))
        let text = try token(Self.claims, by: key)
        let keys = [key.named("k1")]
        #expect(try await self.failure(text, keys: keys) { $0.signatureAlgorithms = [algorithm] } == nil)
        #expect(try await self.rejection(text, keys: keys) == "id_token.algorithm")
        let named = [key.named("k1", ["alg": .string(algorithm == .rs512 ? "RS256" : "RS512")])]
        let misnamed = try await self.failure(text, keys: named) { $0.signatureAlgorithms = [algorithm] }
        #expect(misnamed?.code == "id_token.key_unknown")
        var parts = text.split(separator: ".").map(String.init)
        var signature = try #require(Base64URL.decode(parts[2]))
        signature[10] ^= 1
        parts[2] = Base64URL.encode(signature)
        let changed = try await self.failure(parts.joined(separator: "."), keys: keys) {
            $0.signatureAlgorithms = [algorithm]
        }
        #expect(changed?.code == "id_token.signature")
    }

    @Test(arguments: ["HS256", "HS384", "HS512"])
    func `W-01: an HMAC under the client secret is verified where it alone is listed`(name: String) async throws {
        let algorithm = try #require(SignatureAlgorithm(rawValue: name))
        let listed = { (settings: inout ProviderSettings) in
            settings.clientSecret = Secret(text: Self.secret)
            settings.signatureAlgorithms = [algorithm]
        }
        let text = try token(Self.claims, by: .hmac(name, Self.secret), kid: nil)
        #expect(try await self.failure(text, listed) == nil)
        let other = try token(Self.claims, by: .hmac(name, Self.secret + "x"), kid: nil)
        #expect(try await self.failure(other, listed)?.code == "id_token.signature")
        let empty = try token(Self.claims, by: .hmac(name, ""), kid: nil)
        #expect(try await self.failure(empty, listed)?.code == "id_token.signature")
        // What only the provider's published key is needed for.
        let modulus = try #require(TestKey.rs256.jwk["n"]?.string)
        let confused = try token(Self.claims, by: .hmac(name, modulus))
        #expect(try await self.failure(confused, listed)?.code == "id_token.signature")
        #expect(try await self.failure(try token(Self.claims, by: .rs256), listed)?.code == "id_token.algorithm")
    }

    @Test func `W-01: the rejection of an algorithm names it, those that are admitted, and the line to change`()
        async throws
    {
        let failure = try #require(try await self.failure(try token(Self.claims, by: .rs512), keys: []))
        for text in ["\"RS512\"", "ES256, ES384", "RS256", "providers.staff.id_token_algorithms: [RS512]"] {
            #expect(failure.detail.contains(text), "\(failure.detail)")
        }
        let hmac = try #require(try await self.failure(try token(Self.claims, by: .hmac("HS512", Self.secret))))
        #expect(hmac.detail.contains("\"HS512\"") && hmac.detail.contains("id_token_signed_response_alg"))
    }

    // MARK: Log

    @Test(
        arguments: [
            (["iss": "https://evil.example"], ["\"https://evil.example\"", "\"https://id.example.com\""]),
            (["iss": nil], ["iss is absent"]),
            (["aud": ["client", "api"]], [#"["client", "api"]"#, "\"client\"", "trusted_audiences"]),
            (["aud": "api"], ["aud is \"api\"", "\"client\""]),
            (["azp": "api"], ["azp is \"api\"", "\"client\""]),
            (["exp": 1_790_000_040], ["exp is 1790000040", "1790000040"]),
            (["iat": 1_789_999_000], ["iat is 1789999000, 1100 s before", "at most 660 s before and 60 s after"]),
            (["nbf": 1_790_000_900], ["nbf is 1790000900, 800 s after", "at most 60 s after"]),
            (["exp": 1_799_000_000], ["exp 1799000000", "86400 s", "id_token_lifetime"]),
            (["nonce": nil], ["nonce is absent"]), (["sub": 7], ["sub is 7"]),
        ] as [([String: JSON?], [String])]
    )
    func `W-02: a rejection names what was received and what was expected`(
        changes: [String: JSON?],
        texts: [String]
    ) async throws {
        let failure = try await self.failure(try token(Self.claims.with(changes), by: .rs256))
        let detail = try #require(failure?.detail)
        for text in texts { #expect(detail.contains(text), "\(detail)") }
    }

    @Test func `W-02: nonce, hash and subject are not shown, and all else is printable and bounded`() async throws {
        let secrets: [String: JSON?] = ["nonce": "secret-nonce", "at_hash": "secret-hash"]
        for (name, value) in secrets {
            let failure = try await self.failure(try token(Self.claims.with([name: value]), by: .rs256))
            #expect(failure?.detail.contains("secret") == false && failure?.detail.contains("n-1") == false)
        }
        let long = try await self.failure(
            try token(Self.claims.with(["sub": .string(String(repeating: "s", count: 300))]), by: .rs256)
        )
        #expect(long?.detail.contains("300 bytes") == true && long?.detail.contains("sss") == false)
        let hostile: JSON = .array((0..<5000).map { .string("line\r\nbreak \u{202E}\($0)") })
        let failure = try #require(try await self.failure(try token(Self.claims.with(["aud": hostile]), by: .rs256)))
        let received = failure.detail.replacing("§", with: "")
        #expect(received.utf8.allSatisfy { (0x20...0x7E).contains($0) } && received.utf8.count < 2500)
        let unknown = try await self.failure(try token(Self.claims, by: .rs256, kid: "k9"))
        #expect(unknown?.detail.contains("\"k9\"") == true && unknown?.detail.contains("\"k1\"") == true)
        let wrong = try await self.failure(try token(Self.claims, by: .otherRS256))
        #expect(wrong?.detail.contains("RS256") == true)
    }

    // MARK: Others in the audience, and long lives

    @Test(
        arguments: [
            (["client", "api"], "client", nil), (["api", "client", "web"], "client", nil), ("client", nil, nil),
            (["client", "api"], nil, .idTokenAuthorizedParty),
            (["client", "api"], "api", .idTokenAuthorizedParty),
            (["client", "eve"], "client", .idTokenAudience),
            (["api"], "client", .idTokenAudience), ("api", "client", .idTokenAudience),
            (["client", 1], "client", .idTokenAudience), ([], "client", .idTokenAudience),
        ] as [(JSON, JSON?, Failure.Reason?)]
    )
    func `W-04: a token that was issued to us may have trusted audiences beside ours`(
        audience: JSON,
        party: JSON?,
        reason: Failure.Reason?
    ) async throws {
        let text = try token(Self.claims.with(["aud": audience, "azp": party]), by: .rs256)
        let failure = try await self.failure(text) { $0.trustedAudiences = ["api", "web"] }
        #expect(failure?.reason == reason)
    }

    @Test func `W-05: a token may live as long as the file allows, and not a second longer`() async throws {
        let year = Int64(365 * 86_400)
        let text = try token(Self.claims.with(["exp": .int(1_790_000_000 + year)]), by: .rs256)
        #expect(try await self.failure(text)?.code == "id_token.lifetime")
        #expect(try await self.failure(text) { $0.idTokenLifetime = .seconds(year) } == nil)
        let shorter = try await self.failure(text) { $0.idTokenLifetime = .seconds(year - 1) }
        #expect(shorter?.code == "id_token.lifetime")
    }

    @Test func `W-07: an encrypted token has a code of its own, and the detail names what to turn off`() async throws {
        let header = Base64URL.encode(Array(#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#.utf8))
        let failure = try await self.failure("\(header).AAAA.AAAA.AAAA.AAAA")
        #expect(failure?.reason == .idTokenEncrypted)
        for text in ["RSA-OAEP", "A256GCM", "id_token_encrypted_response_alg"] {
            #expect(failure?.detail.contains(text) == true)
        }
    }

    // E-11
    @Test func `OIDC Core §10.1: a token without a key name is verified only if there is one key`() async throws {
        let text = try token(Self.claims, by: .rs256, kid: nil)
        let one = [TestKey.rs256.named("a")]
        #expect(try await self.rejection(text, keys: one) == nil)
        for second in [TestKey.otherRS256.named("c"), TestKey.es256.named("b"), TestKey.es256.named(nil)] {
            #expect(try await self.rejection(text, keys: one + [second]) == "id_token.key_unknown")
        }
        let encryption = TestKey.otherRS256.named("c", ["use": "enc"])
        #expect(try await self.rejection(text, keys: one + [encryption]) == nil)
    }

    @Test(arguments: ["iat", "exp", "nbf", "auth_time"])
    func `B-05: any number in a time of a token is judged as a time`(claim: String) async throws {
        for text in HostileNumbers.json {
            let code = try await self.rejection(claims: [claim: .number(text)])
            let seconds = try #require(Double(text))
            switch claim {
            case "exp", "iat": #expect(code != nil, "\(text)")
            case "nbf": #expect((code == nil) == (seconds >= 0 && seconds <= Double(Self.now.seconds) + 60), "\(text)")
            default: #expect(code == nil, "\(text)")
            }
        }
    }
}

extension JSON {
    /// Arrays within arrays.
    init(parsingNested depth: Int) {
        self = (0..<depth).reduce(JSON.null) { value, _ in .array([value]) }
    }
}
