// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct RedactionTests {
    private static let redaction = Redaction(["s+c r/t-long", "Z2F0ZSUzQWhvdXNlOnM=", "short"])

    @Test(
        arguments: [
            "s+c r/t-long", "s%2Bc%20r%2Ft-long", "s%2bc%20r%2ft-long", "s%2Bc+r%2Ft-long", "S+C R/T-LONG",
            "s+c r/t-long\u{301}", "Basic Z2F0ZSUzQWhvdXNlOnM=",
        ])
    func `a secret is hidden however it is written`(form: String) {
        let shown = Self.redaction.applied(to: "you sent \(form), why?")
        #expect(Array(shown.utf8).firstRange(of: Array("<secret>".utf8)) != nil)
        #expect(shown.hasPrefix("you sent ") && shown.hasSuffix(", why?"))
        for secret in ["t-long", "T-LONG", "Z2F0"] { #expect(!shown.contains(secret)) }
    }

    @Test func `what is not a secret stays, and what is too long is not shown`() {
        #expect(Self.redaction.applied(to: "a short word") == "a short word")
        #expect(Self.redaction.applied(to: String(repeating: "x", count: 65_537)) == "<too long>")
    }

    @Test func `a secret that begins another leaves no rest of it`() {
        #expect(Redaction(["abcdef", "abcdefghi"]).applied(to: "abcdefghi") == "<secret>")
    }

    @Test(arguments: [ProviderDefinition.ClientAuthentication.secretPost, .secretBasic])
    func `what was sent to the token endpoint does not come into the log`(
        method: ProviderDefinition.ClientAuthentication
    ) async throws {
        var settings = ProviderFixture.settings()
        settings.clientAuthentication = method
        settings.clientSecret = Secret(text: "s+c r/t-long")
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        fixture.transport.stub("\(ProviderFixture.issuer)/token", 401, #"{"error":"invalid_client"}"#)
        _ = await fixture.failure(fixture.callback(attempt, ["code": "4/0AbCdEf"]), attempt)
        let sent = try #require(fixture.transport.requests.last)
        let body = String(decoding: sent.body ?? [], as: UTF8.self)
        let field = sent.headers.first { $0.name == "Authorization" }?.value ?? ""
        let repeated: JSON = ["error": "invalid_client", "error_description": .string("\(body) \(field)")]
        fixture.transport.stub("\(ProviderFixture.issuer)/token", 401, repeated.text)
        let (_, other) = try await fixture.begin()
        let detail = await fixture.failure(fixture.callback(other, ["code": "4/0AbCdEf"]), other)?.detail ?? ""
        #expect(detail.contains("<secret>"))
        for secret in ["t-long", "0AbCdEf", String(field.dropFirst(6))] where !secret.isEmpty {
            #expect(!detail.contains(secret))
        }
    }

    @Test func `the token endpoint gets User-Agent and the wish for JSON`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        _ = await fixture.rejection(fixture.callback(attempt), attempt)
        let sent = try #require(fixture.transport.requests.first { $0.method == "POST" })
        #expect(sent.headers.contains { $0.name == "User-Agent" && !$0.value.isEmpty })
        #expect(sent.headers.contains { $0.name == "Accept" && $0.value == "application/json" })
    }

    @Test(
        arguments: [
            (200, #"{"ok":false,"error":"invalid_auth"}"#, "provider.api_refused"),
            (
                200, #"{"error":{"message":"Unsupported get request","type":"GraphMethodException","code":100}}"#,
                "provider.api_refused"
            ),
            (
                400, #"{"error":{"message":"Invalid appsecret_proof","type":"OAuthException","code":100}}"#,
                "provider.api_refused"
            ),
            (400, #"{"error":{"message":"Application request limit reached","code":4}}"#, nil), (429, "{}", nil),
            (503, "{}", nil),
        ] as [(Int, String, String?)]
    )
    func `an error of userinfo is one in whatever shape`(status: Int, body: String, code: String?) async throws {
        var settings = ProviderFixture.settings()
        // An error ends the sign-in only where the subject comes from userinfo; an outage is tested without that.
        if code != nil { settings.profile = ["subject": ["userinfo:/employee", "id_token:/sub"]] }
        let fixture = try ProviderFixture(settings)
        fixture.transport.stub("\(ProviderFixture.issuer)/userinfo", status, body)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == code)
    }

    @Test func `the words of a callback's error are cut and escaped`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let words = "line\r\nbreak " + String(repeating: "x", count: 5000)
        let callback = fixture.callback(attempt, ["code": nil, "error": "access_denied", "error_description": words])
        let detail = await fixture.failure(callback, attempt)?.detail ?? ""
        #expect(detail.count < 600 && !detail.contains("\n") && !detail.contains("\r"))
    }

    @Test func `an endpoint that brings parameters of the request itself is refused`() async throws {
        let address = "\(ProviderFixture.issuer)/authorize?tenant=a&client_id=evil"
        let fixture = try ProviderFixture(
            metadata: ProviderFixture.metadata.with(["authorization_endpoint": .string(address)])
        )
        let failure = await #expect(throws: Failure.self) { try await fixture.begin() }
        #expect(failure?.reason == .openIDMetadata)
    }

    @Test func `a key that took over the name of another is found`() async throws {
        let fixture = try ProviderFixture()
        let (_, first) = try await fixture.begin()
        try fixture.issue(for: first)
        #expect(await fixture.rejection(fixture.callback(first), first) == nil)
        fixture.transport.stub("\(ProviderFixture.issuer)/keys", ["keys": [TestKey.es256.named("k1")]])
        let (_, second) = try await fixture.begin()
        try fixture.issue(for: second, by: .es256)
        #expect(await fixture.rejection(fixture.callback(second), second) == nil)
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/keys") == 2)
        let (_, third) = try await fixture.begin()
        try fixture.issue(for: third)
        #expect(await fixture.rejection(fixture.callback(third), third) != nil)
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/keys") == 2)
    }
}
