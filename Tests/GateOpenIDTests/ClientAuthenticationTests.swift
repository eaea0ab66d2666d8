// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import Foundation
import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct ClientAuthenticationTests {
    private static let p256 = P256.Signing.PrivateKey()
    private static let p384 = P384.Signing.PrivateKey()

    private func settings(
        _ pem: String?,
        _ method: ProviderDefinition.ClientAuthentication? = .privateKeyJWT,
        secret: String = ""
    ) -> ProviderSettings {
        var settings = ProviderFixture.settings()
        settings.clientSecret = Secret(text: secret)
        settings.privateKey = pem.map { Secret(text: $0) }
        settings.clientAuthentication = method
        settings.keyID = "key-7"
        return settings
    }

    private func tokenForm(_ fixture: ProviderFixture) throws -> (form: Form, request: ProviderRequest) {
        let request = try #require(fixture.transport.requests.last { $0.address.path.hasSuffix("token") })
        let body = String(decoding: try #require(request.body), as: UTF8.self)
        return (try #require(Form(encoded: body)), request)
    }

    private func signIn(_ fixture: ProviderFixture) async throws -> (form: Form, request: ProviderRequest) {
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        return try self.tokenForm(fixture)
    }

    private func parts(_ token: String) throws -> (header: JSON, claims: JSON, signed: [UInt8], signature: [UInt8]) {
        let parts = token.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let decoded = try parts.map { try #require(Base64URL.decode($0)) }
        return (
            try JSON(parsing: decoded[0]), try JSON(parsing: decoded[1]), Array("\(parts[0]).\(parts[1])".utf8),
            decoded[2]
        )
    }

    @Test func `T-10 an assertion names us, the token endpoint alone, and one minute, and its key verifies it`()
        async throws
    {
        let fixture = try ProviderFixture(self.settings(Self.p256.pemRepresentation))
        let (form, request) = try await self.signIn(fixture)
        #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        #expect(form["client_id"] == "gate:house" && form.single("client_secret") == .absent)
        #expect(!request.headers.contains { $0.name == "Authorization" })
        let token = try self.parts(try #require(form["client_assertion"]))
        #expect(token.header == ["alg": "ES256", "typ": "JWT", "kid": "key-7"])
        let members = try #require(token.claims.object)
        #expect(members.keys.sorted() == ["aud", "exp", "iat", "iss", "jti", "sub"])
        #expect(token.claims["iss"] == "gate:house" && token.claims["sub"] == "gate:house")
        #expect(token.claims["aud"] == .string("\(ProviderFixture.issuer)/token"))
        #expect(token.claims["iat"] == 1_790_000_100 && token.claims["exp"] == 1_790_000_160)
        #expect(token.claims["jti"]?.string?.utf8.count == 22)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: token.signature)
        #expect(Self.p256.publicKey.isValidSignature(signature, for: token.signed))
    }

    @Test func `T-10 each assertion has an id of its own`() async throws {
        let fixture = try ProviderFixture(self.settings(Self.p256.pemRepresentation))
        let first = try self.parts(try #require(try await self.signIn(fixture).form["client_assertion"]))
        let second = try self.parts(try #require(try await self.signIn(fixture).form["client_assertion"]))
        #expect(first.claims["jti"] != second.claims["jti"])
    }

    @Test func `the key decides about the algorithm, in every PEM form`() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let sec1 = Self.sec1(Self.p256)
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        for (pem, algorithm) in [
            (Self.p256.pemRepresentation, "ES256"), (sec1, "ES256"), (parameters + sec1, "ES256"),
            ("Bag Attributes: none\r\n" + sec1.replacing("\n", with: "\r\n"), "ES256"),
            (Self.p384.pemRepresentation, "ES384"), (rsa.pemRepresentation, "RS256"),
            (rsa.pkcs8PEMRepresentation, "RS256"),
        ] {
            let (form, _) = try await self.signIn(try ProviderFixture(self.settings(pem)))
            let token = try self.parts(try #require(form["client_assertion"]))
            #expect(token.header["alg"] == .string(algorithm))
            if algorithm == "RS256" {
                let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)
                let digest = SHA256.hash(data: token.signed)
                #expect(rsa.publicKey.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5))
            }
            if algorithm == "ES384" {
                let signature = try P384.Signing.ECDSASignature(rawRepresentation: token.signature)
                #expect(Self.p384.publicKey.isValidSignature(signature, for: token.signed))
            }
        }
    }

    @Test func `with a certificate an RSA key signs PS256 and names the certificate, as Microsoft wants it`()
        async throws
    {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let der: [UInt8] = [0x30, 0x82] + Array(rsa.publicKey.pkcs1DERRepresentation) + [1, 2, 3]
        var settings = self.settings(rsa.pemRepresentation)
        settings.certificate = Self.pem("CERTIFICATE", der)
        let (form, _) = try await self.signIn(try ProviderFixture(settings))
        let token = try self.parts(try #require(form["client_assertion"]))
        #expect(token.header["alg"] == "PS256")
        #expect(token.header["x5t#S256"] == .string(Base64URL.encode(SHA256.hash(data: der))))
        let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)
        #expect(rsa.publicKey.isValidSignature(signature, for: SHA256.hash(data: token.signed), padding: .PSS))
    }

    @Test(
        arguments: [
            "", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nno base64!\n-----END PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nAAAA\n-----END RSA PRIVATE KEY-----", nil,
        ] as [String?]
    )
    func `a key that cannot be read ends the start and names its place in the file`(pem: String?) throws {
        let failure = #expect(throws: Failure.self) { try ProviderFixture(self.settings(pem)) }
        #expect(failure?.reason == .providerPrivateKey)
        #expect(failure?.detail.hasPrefix("providers.staff.private_key: ") == true)
        if let pem, !pem.isEmpty { #expect(failure?.detail.contains(pem) == false) }
        if pem?.contains("ENCRYPTED") == true { #expect(failure?.detail.contains("pass phrase") == true) }
    }

    @Test func `a short RSA key, an unsupported curve and another key's certificate end the start`() throws {
        let short = try _RSA.Signing.PrivateKey(unsafeKeySize: _RSA.Signing.KeySize(bitCount: 1024))
        #expect(throws: Failure.self) { try ProviderFixture(self.settings(short.pemRepresentation)) }
        #expect(throws: Failure.self) {
            try ProviderFixture(self.settings(P521.Signing.PrivateKey().pemRepresentation))
        }
        var settings = self.settings(Self.p256.pemRepresentation)
        let other = P256.Signing.PrivateKey().publicKey.derRepresentation
        settings.certificate = Self.pem("CERTIFICATE", [UInt8](other))
        let failure = #expect(throws: Failure.self) { try ProviderFixture(settings) }
        #expect(failure?.detail.hasPrefix("providers.staff.certificate: ") == true)
        settings.certificate = Self.pem("CERTIFICATE", [UInt8](Self.p256.publicKey.derRepresentation))
        #expect(throws: Never.self) { try ProviderFixture(settings) }
    }

    @Test func `Apple gets a secret that we sign: for Apple, from the team, for five minutes, another each time`()
        async throws
    {
        var settings = ProviderFixture.settings(.apple, id: "apple")
        settings.privateKey = Secret(text: Self.p256.pemRepresentation)
        settings.keyID = "ABC123DEFG"
        settings.teamID = "TEAM123456"
        let fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": "https://appleid.apple.com"])
        )
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["iss": "https://appleid.apple.com"])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let (form, request) = try self.tokenForm(fixture)
        #expect(form["client_id"] == "gate:house" && form.single("client_assertion") == .absent)
        #expect(!request.headers.contains { $0.name == "Authorization" })
        let token = try self.parts(try #require(form["client_secret"]))
        #expect(token.header["alg"] == "ES256" && token.header["kid"] == "ABC123DEFG")
        #expect(
            token.claims == [
                "iss": "TEAM123456", "sub": "gate:house", "aud": "https://appleid.apple.com", "iat": 1_790_000_100,
                "exp": 1_790_000_400,
            ]
        )
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: token.signature)
        #expect(Self.p256.publicKey.isValidSignature(signature, for: token.signed))
    }

    @Test func `Apple's secret needs a key on P-256 and a team`() {
        var settings = ProviderFixture.settings(.apple, id: "apple")
        settings.keyID = "ABC123DEFG"
        settings.teamID = "TEAM123456"
        settings.privateKey = Secret(text: Self.p384.pemRepresentation)
        #expect(throws: Failure.self) { try ProviderFixture(settings) }
        settings.privateKey = Secret(text: Self.p256.pemRepresentation)
        #expect(throws: Never.self) { try ProviderFixture(settings) }
        settings.teamID = nil
        #expect(throws: Failure.self) { try ProviderFixture(settings) }
    }

    private typealias Method = ProviderDefinition.ClientAuthentication

    @Test(
        arguments: [
            (nil, true, false, .secretBasic), ([], true, false, .secretBasic),
            (["client_secret_post"], true, false, .secretPost),
            (["client_secret_post", "client_secret_basic"], true, false, .secretBasic),
            (["private_key_jwt", "client_secret_basic"], true, true, .privateKeyJWT),
            (["client_secret_basic"], true, true, .secretBasic), (["private_key_jwt"], true, false, nil),
            (["client_secret_basic"], false, true, nil), (["tls_client_auth", "none"], true, true, nil),
            ([1, "private_key_jwt"], false, true, .privateKeyJWT),
        ] as [(JSON?, Bool, Bool, ProviderDefinition.ClientAuthentication?)]
    )
    func `what both have is used, a signature first, and nothing else`(
        offered: JSON?,
        hasSecret: Bool,
        hasKey: Bool,
        expected: ProviderDefinition.ClientAuthentication?
    ) async throws {
        let pem = hasKey ? Self.p256.pemRepresentation : nil
        let settings = self.settings(pem, nil, secret: hasSecret ? "secret" : "")
        let fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["token_endpoint_auth_methods_supported": offered])
        )
        guard let expected else {
            await #expect(throws: Failure.self) { try await fixture.begin() }
            return
        }
        let (form, request) = try await self.signIn(fixture)
        let isBasic = request.headers.contains { $0.name == "Authorization" }
        #expect(isBasic == (expected == .secretBasic))
        #expect((form.single("client_secret") != .absent) == (expected == .secretPost))
        #expect((form.single("client_assertion") != .absent) == (expected == .privateKeyJWT))
    }

    @Test func `an RSA key signs what the provider takes, and nothing if it takes neither`() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        for (offered, algorithm) in [(["PS256"], "PS256"), (["ES256", "RS256"], "RS256"), ([], "RS256")]
            as [(JSON, JSON)]
        {
            let metadata = ProviderFixture.metadata.with(["token_endpoint_auth_signing_alg_values_supported": offered])
            let (form, _) = try await self.signIn(
                try ProviderFixture(self.settings(rsa.pemRepresentation), metadata: metadata)
            )
            #expect(try self.parts(try #require(form["client_assertion"])).header["alg"] == algorithm)
        }
        let metadata = ProviderFixture.metadata.with([
            "token_endpoint_auth_signing_alg_values_supported": ["EdDSA", "none", "HS256"]
        ])
        let fixture = try ProviderFixture(self.settings(rsa.pemRepresentation), metadata: metadata)
        let failure = await #expect(throws: Failure.self) { try await fixture.begin() }
        #expect(failure?.reason == .openIDClientAuthentication)
    }

    @Test(arguments: [nil, ["none"], ["client_secret_basic"]] as [JSON?])
    func `M-03 a public client sends its id and the verifier of PKCE, and no proof`(offered: JSON?) async throws {
        let fixture = try ProviderFixture(
            self.settings(nil, nil),
            metadata: ProviderFixture.metadata.with(["token_endpoint_auth_methods_supported": offered])
        )
        let (form, request) = try await self.signIn(fixture)
        #expect(form["client_id"] == "gate:house" && form["code_verifier"]?.utf8.count == 43)
        #expect(form.single("client_secret") == .absent && form.single("client_assertion") == .absent)
        #expect(!request.headers.contains { $0.name == "Authorization" })
    }

    @Test func `M-03 the token in a file is the proof, as it is in the file at that time`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("assertion-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var settings = self.settings(nil, nil)
        settings.clientAssertionFile = file.path
        let fixture = try ProviderFixture(settings)
        for text in ["aGVhZA.Y2xhaW1z.c2ln", "aGVhZA.b3RoZXI.c2ln"] {
            try Data("\(text)\n".utf8).write(to: file)
            let (form, request) = try await self.signIn(fixture)
            #expect(form["client_assertion"] == text && form["client_id"] == "gate:house")
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            #expect(form.single("client_secret") == .absent)
            #expect(!request.headers.contains { $0.name == "Authorization" })
        }
    }

    @Test(arguments: [nil, "", "no token", "a.b", "a..c", String(repeating: "a", count: 16_385) + ".b.c"])
    func `M-03 a file without a token ends the sign-in with its name, and nothing of it is sent`(
        text: String?
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("assertion-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        if let text { try Data(text.utf8).write(to: file) }
        var settings = self.settings(nil, nil)
        settings.clientAssertionFile = file.path
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let failure = await fixture.failure(fixture.callback(attempt), attempt)
        #expect(failure?.reason == .providerPrivateKey && failure?.detail.contains(file.path) == true)
        #expect(!fixture.transport.requests.contains { $0.address.path.hasSuffix("token") })
    }

    @Test func `a type that wants a secret takes the key of a file that has no secret`() async throws {
        var settings = ProviderFixture.settings(.google, id: "google")
        settings.clientSecret = Secret(text: "")
        settings.privateKey = Secret(text: Self.p256.pemRepresentation)
        let fixture = try ProviderFixture(
            settings,
            metadata: ProviderFixture.metadata.with(["issuer": "https://accounts.google.com"])
        )
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["iss": "https://accounts.google.com"])
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let form = try self.tokenForm(fixture).form
        #expect(form.single("client_secret") == .absent && form.single("client_assertion") != .absent)
    }

    private static func sec1(_ key: P256.Signing.PrivateKey) -> String {
        let head: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        return self.pem("EC PRIVATE KEY", head + key.rawRepresentation + curve)
    }

    private static func pem(_ label: String, _ bytes: [UInt8]) -> String {
        let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
    }
}
