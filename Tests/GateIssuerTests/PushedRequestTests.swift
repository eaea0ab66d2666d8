// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateCore
import Testing

@testable import GateIssuer

@Suite struct PushedRequestTests {
    private let fixture: IssuerFixture

    init() throws {
        self.fixture = try IssuerFixture()
    }

    private var issuer: Issuer { self.fixture.issuer }

    private func pushed(_ changes: [String: String?] = [:], by id: String = "notes") throws -> PushedRequest {
        let client = try #require(self.issuer.clients[id])
        return try self.issuer.push(IssuerFixture.form(changes), of: client, now: noon)
    }

    /// The error of a request, or its state if it is valid.
    private func result(_ form: Form, by browser: [UInt8]? = [1], now: Instant = noon) -> String {
        switch self.issuer.authorizationRequest(in: form, by: browser, now: now) {
        case .valid(let request): request.target.state ?? ""
        case .error(let error, _): error.code.rawValue
        case .untrusted: "untrusted"
        }
    }

    @Test func `RFC 9126 §4: a browser brings it once, and may repeat it then until the user has signed in`() throws {
        let first = try self.pushed()
        let form = first.parameters(by: self.fixture.sealer)
        let found = try #require(self.issuer.unusedPushedRequest(in: form, now: noon.advanced(by: .seconds(89))))
        #expect(found.id == first.id)
        // The reference that the client has leads nowhere until it is spent.
        #expect(self.result(form) == "invalid_request_uri")
        let inUse = found.inUse(by: [1], now: noon).parameters(by: self.fixture.sealer)
        #expect(self.issuer.unusedPushedRequest(in: inUse, now: noon) == nil)
        #expect(self.result(inUse) == "s t&")
        // E-11, RFC 9126 §7.3: in that browser only.
        #expect(self.result(inUse, by: [2]) == "invalid_request_uri")
        #expect(
            self.result(inUse, by: nil) == "invalid_request_uri" && self.result(form, by: nil) == "invalid_request_uri"
        )
        #expect(self.result(inUse, now: noon.advanced(by: .seconds(1799))) == "s t&")
        #expect(self.result(inUse, now: noon.advanced(by: .seconds(1800))) == "invalid_request_uri")
    }

    @Test func `RFC 9126 §2.2: it expires after 90 seconds`() throws {
        let form = try self.pushed().parameters(by: self.fixture.sealer)
        #expect(self.issuer.unusedPushedRequest(in: form, now: noon.advanced(by: .seconds(90))) == nil)
        #expect(self.result(form, now: noon.advanced(by: .seconds(90))) == "invalid_request_uri")
    }

    @Test func `RFC 9126 §2.2: it is the reference of one client`() throws {
        var form = Form([Form.Field("client_id", "forum")])
        form.append("request_uri", try self.pushed().uri(by: self.fixture.sealer))
        #expect(self.issuer.unusedPushedRequest(in: form, now: noon) == nil)
    }

    @Test func `RFC 9126 §2.1: the secret of the client is not part of it`() throws {
        let changes = [
            "client_id": "forum", "client_secret": "new secret", "redirect_uri": "https://forum.example.com/callback",
        ]
        let pushed = try self.pushed(changes, by: "forum")
        #expect(pushed.form["client_secret"] == nil && pushed.form["client_id"] == "forum")
    }

    @Test(
        arguments: [
            (["request_uri": "urn:x"], .invalidRequest), (["redirect_uri": "https://evil.example/"], .invalidRequest),
            (["response_type": "token"], .unsupportedResponseType), (["code_challenge": nil], .invalidRequest),
            (["resource": "https://evil.example"], .invalidTarget),
            (["state": String(repeating: "%", count: 1400)], .invalidRequest),
        ] as [([String: String?], OAuthError.Code)]
    )
    func `RFC 9126 §2.3: what the authorization endpoint rejects cannot be pushed`(
        changes: [String: String?],
        code: OAuthError.Code
    ) throws {
        let error = #expect(throws: OAuthError.self) { try self.pushed(changes) }
        #expect(error?.code == code)
    }

    @Test func `RFC 9126 §6: a client that must push gets an error for a plain request`() throws {
        var client = try #require(self.issuer.clients["notes"])
        client.requiresPushedRequests = true
        let issuer = Issuer(
            signer: self.issuer.signer,
            clients: [client],
            audiences: [:],
            sealer: self.fixture.sealer
        )
        guard case .error(let error, _) = issuer.authorizationRequest(in: IssuerFixture.form(), by: nil, now: noon)
        else {
            Issue.record("accepted")
            return
        }
        #expect(error.code == .invalidRequest)
        let form = try issuer.push(IssuerFixture.form(), of: client, now: noon).inUse(by: [1], now: noon)
        let parameters = form.parameters(by: self.fixture.sealer)
        guard case .valid = issuer.authorizationRequest(in: parameters, by: [1], now: noon) else {
            Issue.record("rejected")
            return
        }
    }
}
