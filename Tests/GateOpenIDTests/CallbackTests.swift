// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviders
import Testing

@Suite struct CallbackTests {
    @Test func `a callback that is in order signs the user in`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt, ["sid": "s-1"])
        let signIn = try await fixture.signIn(fixture.callback(attempt), attempt).signIn
        #expect(signIn.profile.user == "staff:ada")
        #expect(signIn.profile.issuer == ProviderFixture.issuer)
        #expect(signIn.profile.name == "Ada")
        #expect(signIn.profile.verifiedEmail?.description == "ada@example.org")
        #expect(signIn.endSession == "\(ProviderFixture.issuer)/logout")
        #expect(signIn.idToken != nil)
        #expect(
            fixture.transport.addresses == [
                "\(ProviderFixture.issuer)/.well-known/openid-configuration", "\(ProviderFixture.issuer)/keys",
                "\(ProviderFixture.issuer)/token",
                "\(ProviderFixture.issuer)/userinfo",
            ]
        )
    }

    @Test func `T-03 the state of another browser redeems nothing`() async throws {
        let fixture = try ProviderFixture()
        let (_, mine) = try await fixture.begin()
        let (_, theirs) = try await fixture.begin()
        try fixture.issue(for: mine)
        #expect(await fixture.rejection(fixture.callback(theirs), mine) == "openid.state_mismatch")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test func `T-02 a state is taken once, also when the first use failed`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let denied = fixture.callback(attempt, ["code": nil, "error": "access_denied"])
        #expect(await fixture.rejection(denied, attempt) == "provider.denied")
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.attempt_spent")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test(arguments: [["code": "c/1"], ["code": nil, "error": "access_denied"]] as [[String: String?]])
    func `B-01: a callback uses its attempt up before the provider is called, until the attempt is reopened`(
        changes: [String: String?]
    ) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let callback = fixture.callback(attempt, changes)
        for _ in 0..<2 {
            let exchange = try await fixture.party.open(try fixture.party.accept(callback, of: attempt))
            fixture.party.close(exchange)
            #expect(await fixture.rejection(callback, attempt) == "openid.attempt_spent")
            fixture.party.reopen(attempt)
        }
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test func `T-13 of many equal callbacks one redeems the code`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let form = fixture.callback(attempt)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { _ = await fixture.rejection(form, attempt) }
            }
        }
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 1)
    }

    @Test func `an attempt that is over redeems nothing`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        fixture.clock.advance(by: 600)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.attempt_expired")
    }

    @Test func `T-08 an attempt with one provider ends at no other's callback`() async throws {
        let staff = try ProviderFixture()
        let other = try ProviderFixture(ProviderFixture.settings(id: "other"))
        let (_, attempt) = try await staff.begin()
        #expect(await other.rejection(other.callback(attempt), attempt) == "openid.provider_mismatch")
        #expect(other.transport.requests.isEmpty)
    }

    @Test(arguments: ["state", "code", "iss", "error"])
    func `a parameter that is there twice is refused`(name: String) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        var form = fixture.callback(attempt, ["iss": ProviderFixture.issuer])
        form.append(name, form[name] ?? "x")
        form.append(name, form[name] ?? "x")
        #expect(await fixture.rejection(form, attempt) == "openid.repeated_parameter")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test(arguments: ["access_token", "id_token"])
    func `T-07 T-12 a token in the callback is refused`(name: String) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(attempt, [name: "x"]), attempt) == "openid.token_in_callback")
    }

    @Test(arguments: ["state", "code", "iss"], ["", String(repeating: "a", count: 100_000), "a\r\nb", "\u{E9}"])
    func `a value that is empty, huge or not plain is refused`(name: String, value: String) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(attempt, [name: value]), attempt) == "openid.parameter_value")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test func `a callback needs a state, and one of code and error`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(attempt, ["state": nil]), attempt) == "openid.state_missing")
        #expect(
            await fixture.rejection(fixture.callback(attempt, ["code": nil]), attempt) == "openid.callback_malformed"
        )
        let both = fixture.callback(attempt, ["error": "access_denied"])
        #expect(await fixture.rejection(both, attempt) == "openid.callback_malformed")
    }

    @Test func `what else a provider adds to the callback is ignored`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let form = fixture.callback(
            attempt,
            ["authuser": "0", "hd": "example.org", "session_state": "x", "scope": "a b", "#_": "_"]
        )
        #expect(await fixture.rejection(form, attempt) == nil)
    }

    @Test(arguments: ["https://evil.example", "\(ProviderFixture.issuer)/", "HTTPS://id.example.com", "id.example.com"])
    func `T-09 T-16 another issuer in the callback stops before the token endpoint`(issuer: String) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(
            await fixture.rejection(fixture.callback(attempt, ["iss": issuer]), attempt) == "openid.issuer_mismatch"
        )
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test func `T-15 a provider that announces iss must send it`() async throws {
        let metadata = ProviderFixture.metadata.with(["authorization_response_iss_parameter_supported": true])
        let fixture = try ProviderFixture(metadata: metadata)
        let (_, first) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(first), first) == "openid.issuer_missing")
        let (_, second) = try await fixture.begin()
        try fixture.issue(for: second)
        #expect(await fixture.rejection(fixture.callback(second, ["iss": ProviderFixture.issuer]), second) == nil)
    }

    @Test func `T-17 an error of another issuer is rejected, too`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let form = fixture.callback(attempt, ["code": nil, "error": "access_denied", "iss": "https://evil.example"])
        #expect(await fixture.rejection(form, attempt) == "openid.issuer_mismatch")
    }

    @Test(
        arguments: [
            ("access_denied", .forbidden, .providerDenied),
            ("server_error", .providerFailed, .providerUnavailable),
            ("temporarily_unavailable", .providerFailed, .providerUnavailable),
            ("user_cancelled_authorize", .forbidden, .providerDenied),
            ("user_cancelled_login", .forbidden, .providerDenied),
            ("interaction_required", .forbidden, .providerInteractionRequired),
            ("<script>", .providerFailed, .providerRefused),
        ] as [(String, Failure.Kind, Failure.Reason)]
    )
    func `a provider's error becomes a code of ours`(
        error: String,
        kind: Failure.Kind,
        reason: Failure.Reason
    ) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let description =
            "AADSTS65004: User declined.\r\nSet-Cookie: a=b\u{1B}[31m" + String(repeating: "x", count: 9000)
        let form = fixture.callback(attempt, ["code": nil, "error": error, "error_description": description])
        do throws(Failure) {
            _ = try await fixture.signIn(form, attempt)
            Issue.record("no user signed in")
        } catch {
            #expect(error.kind == kind && error.reason == reason)
            #expect(error.detail.utf8.count < 2000)
            #expect(error.detail.utf8.allSatisfy { (0x20...0x7E).contains($0) })
        }
    }

    @Test func `further parameters beside an error are in the detail, on one line`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let form = fixture.callback(
            attempt,
            ["code": nil, "error": "access_denied", "error_subcode": "cancel", "error_reason": "user_denied\r\n"]
        )
        let failure = await fixture.failure(form, attempt)
        #expect(failure?.reason == .providerDenied)
        #expect(failure?.detail.contains("cancel") == true && failure?.detail.contains("user_denied\\r\\n") == true)
    }

    @Test func `Facebook's error that is a number alone is an error`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let form = fixture.callback(attempt, ["code": nil, "error_code": "1349195", "error_message": "App not set up"])
        let failure = await fixture.failure(form, attempt)
        #expect(failure?.reason == .providerRefused && failure?.detail.contains("App not set up") == true)
    }

    @Test func `a sign-in that was begun by installing an app at GitHub starts over`() async throws {
        let fixture = try ProviderFixture(ProviderFixture.settings(.github))
        let (_, attempt) = try await fixture.begin()
        let form = fixture.callback(attempt, ["state": nil, "installation_id": "1", "setup_action": "install"])
        let failure = await fixture.failure(form, attempt)
        #expect(failure?.reason == .openIDStateMissing && failure?.detail.contains("installing") == true)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func `a callback must name its issuer if the file requires it`() async throws {
        var settings = ProviderFixture.settings()
        settings.requiresIssuer = true
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.issuer_missing")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
    }

    @Test func `a file that knows better than the metadata may do without iss, but not with a wrong one`() async throws
    {
        var settings = ProviderFixture.settings()
        settings.requiresIssuer = false
        let metadata = ProviderFixture.metadata.with(["authorization_response_iss_parameter_supported": true])
        let fixture = try ProviderFixture(settings, metadata: metadata)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
        let (_, other) = try await fixture.begin()
        let wrong = fixture.callback(other, ["iss": "https://evil.example"])
        #expect(await fixture.rejection(wrong, other) == "openid.issuer_mismatch")
    }

    private static let deep = String(repeating: "{\"a\":", count: 8) + "1" + String(repeating: "}", count: 8)

    @Test(
        arguments: [
            (#"{"name":{"firstName":"Ada","lastName":"Example"},"email":"evil@example.net"}"#, "Ada"),
            (#"{"name":{"firstName":"Ada\r\nX: y"}}"#, nil), ("[]", nil), ("\"Ada\"", nil), ("{", nil), ("", nil),
            (#"{"name":{"firstName":"Ada"},"x":\#(deep)}"#, nil),
            (#"{"name":{"firstName":"Ada"},"x":"\#(String(repeating: "x", count: 4096))"}"#, nil),
        ] as [(String, String?)]
    )
    func `the name that Apple's form brings is shown, everything else in it is ignored`(
        user: String,
        name: String?
    ) async throws {
        var settings = ProviderFixture.settings(.oidc)
        settings.profile = ["given_name": ["callback:/user/name/firstName"]]
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let signIn = try await fixture.signIn(fixture.callback(attempt, ["user": user]), attempt)
        #expect(signIn.profile.givenName == name)
        #expect(signIn.profile.subject == "ada" && signIn.profile.email == "ada@example.org")
    }

    @Test func `a user that is there twice counts as absent`() async throws {
        var settings = ProviderFixture.settings(.oidc)
        settings.profile = ["given_name": ["callback:/user/name/firstName"]]
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        var form = fixture.callback(attempt)
        form.append("user", #"{"name":{"firstName":"Ada"}}"#)
        form.append("user", #"{"name":{"firstName":"Eve"}}"#)
        #expect(try await fixture.signIn(form, attempt).profile.givenName == nil)
    }

    @Test(arguments: ["login_required", "consent_required", "interaction_required", "account_selection_required"])
    func `W-10: a provider that has to ask the user something is not called broken`(error: String) async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        let failure = await fixture.failure(fixture.callback(attempt, ["code": nil, "error": error]), attempt)
        #expect(failure?.reason == .providerInteractionRequired && failure?.kind == .forbidden)
        #expect(failure?.detail.contains("prompt=none") == true)
    }
}
