// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateClients
import GateCore
import GatePolicy
import Testing

@testable import GateDiagnostics

@Suite struct ClientFlowTests {
    private static let gate = "https://gate.example.com"
    private static let noon = Instant(seconds: 1_800_000_000)
    private static let secret = "a secret: 100% + more than 32 bytes"

    private static func client(
        _ kind: ClientSettings.Kind = .native,
        _ redirectURIs: [String] = ["http://127.0.0.1/callback?x=1"],
        secret: String? = nil
    ) throws -> ClientSettings {
        let origin = try #require(Origin(scheme: "https", host: "gate.example.com", port: 443))
        var client = ClientSettings(id: "notes", kind: kind, route: Route(app: "notes", origin: origin, path: "/"))
        client.redirectURIs = try redirectURIs.map { uri throws(RedirectURIFailure) in try RedirectURI(uri) }
        client.secrets = secret.map { [Secret(text: $0)] } ?? []
        return client
    }

    private func flow(
        _ redirectURI: String = "http://127.0.0.1:8765/callback?x=1",
        secret: String? = nil
    ) throws -> ClientFlow {
        ClientFlow(
            of: try ClientFlowTests.client(secret: secret),
            issuer: ClientFlowTests.gate,
            redirectURI: redirectURI,
            random: .system
        )
    }

    private func value(_ name: String, _ parameters: [ClientFlow.Parameter]) -> String? {
        parameters.first { $0.name == name }?.value
    }

    private func callback(_ flow: ClientFlow, _ changes: [String: String?] = [:]) -> String {
        var values: [String: String?] = [
            "x": "1", "code": "c0de", "state": self.value("state", flow.authorizationParameters),
            "iss": ClientFlowTests.gate,
        ]
        for (name, value) in changes { values[name] = .some(value) }
        let form = Form(values.compactMap { name, value in value.map { Form.Field(name, $0) } })
        return "http://127.0.0.1:8765/callback?\(form.encoded)"
    }

    @Test func `RFC 7636 §4.2: the challenge is the hash of the verifier of the token request`() throws {
        let flow = try self.flow()
        let verifier = try #require(self.value("code_verifier", flow.tokenRequest(code: "c")))
        let challenge = self.value("code_challenge", flow.authorizationParameters)
        #expect(verifier.utf8.count >= 43)
        #expect(challenge == Base64URL.encode(SHA256.hash(data: Array(verifier.utf8))))
        let url = flow.authorizationURL(at: "https://gate.example.com/oauth2/authorize")
        #expect(!url.contains(verifier) && url.contains("code_challenge_method=S256"))
    }

    @Test func `RFC 6749 §4.1.2: the code of the response`() throws {
        let flow = try self.flow()
        #expect(try flow.code(in: self.callback(flow)) == "c0de")
    }

    @Test(
        arguments: [
            (["state": "other"], "'state'"), (["state": nil], "'state'"), (["iss": "https://evil.example"], "'iss'"),
            (["iss": nil], "'iss'"), (["code": nil, "error": "access_denied"], "access_denied"),
        ] as [([String: String?], String)]
    )
    func `RFC 9207 §2.4: a response that is not of this sign-in is rejected`(
        changes: [String: String?],
        what: String
    ) throws {
        let flow = try self.flow()
        let error = #expect(throws: ClientFlowFailure.self) { try flow.code(in: self.callback(flow, changes)) }
        #expect(error?.what.contains(what) ?? false)
    }

    @Test(arguments: [
        "", "http://127.0.0.1:8765/callback", "http://127.0.0.1:8766/callback?", "https://evil.example/callback?",
    ])
    func `a response elsewhere than at the redirect URI is rejected`(start: String) throws {
        let flow = try self.flow()
        let query = self.callback(flow).split(separator: "?")[1]
        let text = start.hasSuffix("?") ? "\(start)\(query)" : start
        let error = #expect(throws: ClientFlowFailure.self) { try flow.code(in: text) }
        #expect(error?.what.contains("not redirected") ?? false)
    }

    @Test func `RFC 6749 §2.3.1: a client with a secret sends it form-encoded, and one without sends its id`() throws {
        let flow = try self.flow(secret: ClientFlowTests.secret)
        let pair = "notes:a%20secret%3A%20100%25%20%2B%20more%20than%2032%20bytes"
        #expect(flow.authorization == "Basic \(Data(pair.utf8).base64EncodedString())")
        #expect(self.value("client_id", flow.tokenRequest(code: "c")) == nil)
        let other = try self.flow()
        #expect(other.authorization == nil && self.value("client_id", other.refreshRequest("r")) == "notes")
    }

    @Test func `RFC 9449 §4.2: a proof is signed by the key that it names, for one request and one token`() throws {
        var client = try ClientFlowTests.client()
        #expect(self.proof(of: client) == nil)
        client.requiresDPoP = true
        let proof = try #require(self.proof(of: client))
        let (header, claims) = try #require(ClientFlow.decoded(proof))
        let coordinates = try ["x", "y"].map { try #require(header["jwk"]?[$0]?.string) }
        let key = try P256.Signing.PublicKey(rawRepresentation: coordinates.flatMap { Base64URL.decode($0) ?? [] })
        let parts = proof.split(separator: ".")
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: Base64URL.decode(String(parts[2])) ?? [])
        #expect(key.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
        #expect(header["typ"] == "dpop+jwt" && header["alg"] == "ES256" && claims["htm"] == "GET")
        #expect(claims["htu"] == "https://gate.example.com/x" && claims["iat"]?.integer == ClientFlowTests.noon.seconds)
        #expect(claims["ath"]?.string == Base64URL.encode(SHA256.hash(data: Array("token".utf8))))
    }

    private func proof(of client: ClientSettings) -> String? {
        let flow = ClientFlow(of: client, issuer: ClientFlowTests.gate, redirectURI: "http://127.0.0.1:8765/callback")
        return flow.proof("GET", "https://gate.example.com/x", with: "token", now: ClientFlowTests.noon)
    }

    @Test func `no secret of a request is printed`() throws {
        let flow = try self.flow(secret: ClientFlowTests.secret)
        let secrets = [String(repeating: "c", count: 100), String(repeating: "r", count: 100), "short"]
        let text = ClientFlowReport.masked(
            flow.tokenRequest(code: secrets[0]) + flow.refreshRequest(secrets[1]) + flow.revocationRequest(secrets[2])
        )
        let verifier = try #require(self.value("code_verifier", flow.tokenRequest(code: "c")))
        for secret in secrets + [verifier, ClientFlowTests.secret] { #expect(!text.contains(secret)) }
        #expect(text.contains("cccccc… (100 bytes)") && text.contains("authorization_code"))
    }

    @Test func `the claim that leads to the session is masked, and no value can move the cursor`() {
        let grant = String(repeating: "g", count: 80)
        let text = ClientFlowReport.table(of: ["grant": .string(grant), "name": "a\u{1B}[2Jb", "exp": 7])
        #expect(!text.contains(grant) && !text.contains("\u{1B}") && text.contains("exp"))
    }

    private func idToken(_ changes: [String: JSON?], kid: String = "k1", flow: ClientFlow) -> String {
        var claims: [String: JSON] = [
            "iss": .string(ClientFlowTests.gate), "aud": "notes", "sub": "mock:ada",
            "exp": .int(ClientFlowTests.noon.seconds + 1),
            "nonce": .string(self.value("nonce", flow.authorizationParameters) ?? ""),
        ]
        for (name, value) in changes { claims[name] = value }
        let header: JSON = ["alg": "ES256", "kid": .string(kid)]
        return [header, .object(claims)].map { Base64URL.encode($0.encoded) }.joined(separator: ".") + ".c2ln"
    }

    @Test func `OpenID Connect Core §3.1.3.7: a correct ID token is accepted`() throws {
        let flow = try self.flow()
        let claims = try flow.claims(
            ofIDToken: self.idToken([:], flow: flow),
            keyIDs: ["k1"],
            now: ClientFlowTests.noon
        )
        #expect(claims["sub"] == "mock:ada")
        let refreshed = self.idToken(["nonce": nil], flow: flow)
        _ = try flow.claims(ofIDToken: refreshed, keyIDs: ["k1"], isRefreshed: true, now: ClientFlowTests.noon)
    }

    @Test(
        arguments: [
            (["iss": "https://evil.example"], "k1", "iss"), (["aud": "other"], "k1", "aud"),
            (["exp": 1_800_000_000], "k1", "exp"), (["nonce": "x"], "k1", "nonce"), (["nonce": nil], "k1", "nonce"),
            ([:], "k2", "kid"),
        ] as [([String: JSON?], String, String)]
    )
    func `OpenID Connect Core §3.1.3.7: another one is rejected by the name of the claim`(
        changes: [String: JSON?],
        kid: String,
        name: String
    ) throws {
        let flow = try self.flow()
        let token = self.idToken(changes, kid: kid, flow: flow)
        let error = #expect(throws: ClientFlowFailure.self) {
            try flow.claims(ofIDToken: token, keyIDs: ["k1"], now: ClientFlowTests.noon)
        }
        #expect(error?.what.contains("'\(name)'") ?? false)
    }

    @Test(
        arguments: [
            (.native, ["http://127.0.0.1/cb"], "http://127.0.0.1:8765/cb", true),
            (.native, ["http://[::1]/cb"], "http://[::1]:8765/cb", true),
            (.native, ["http://127.0.0.1:99/cb"], "http://127.0.0.1:99/cb", true),
            (.native, ["com.example.notes:/cb", "http://127.0.0.1/cb"], "http://127.0.0.1:8765/cb", true),
            (.native, ["com.example.notes:/cb"], "com.example.notes:/cb", false),
            (.confidential, ["http://localhost:8400/cb"], "http://localhost:8400/cb", true),
            (.confidential, ["https://wiki.example.com/cb"], "https://wiki.example.com/cb", false),
        ] as [(ClientSettings.Kind, [String], String, Bool)]
    )
    func `RFC 8252 §7.3: the redirect URI is one on loopback if there is one, with a port of the command`(
        kind: ClientSettings.Kind,
        uris: [String],
        expected: String,
        isReceived: Bool
    ) throws {
        let client = try ClientFlowTests.client(kind, uris)
        let (uri, arrival) = try TestClientFlow.redirect(of: client, nil, port: 8765)
        #expect(uri == expected && (arrival != .pasted) == isReceived && client.redirectURI(uri))
    }

    @Test func `a chosen redirect URI has to be registered`() throws {
        let client = try ClientFlowTests.client(.native, ["http://127.0.0.1/cb", "com.example.notes:/cb"])
        #expect(try TestClientFlow.redirect(of: client, "com.example.notes:/cb", port: 1).0 == "com.example.notes:/cb")
        let error = #expect(throws: ClientFlowFailure.self) {
            try TestClientFlow.redirect(of: client, "com.example.notes:/cb/", port: 1)
        }
        #expect(error?.next.contains("http://127.0.0.1/cb, com.example.notes:/cb") ?? false)
    }
}
