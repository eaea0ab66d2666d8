// SPDX-License-Identifier: Apache-2.0

import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePages
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let page = "\(gate)/oauth2/device"

/// Q-28: what the page for the code of a device decides beside what it grants.
@Suite struct DevicePageTests {
    private func begin(at fixture: ClientFixture) async throws -> (device: String, user: String) {
        let json = try await fixture.post("device_authorization", [("scope", "openid")]).json
        return (try #require(json["device_code"]?.string), try #require(json["user_code"]?.string))
    }

    private func open(_ code: String, at fixture: ClientFixture) async throws -> Response {
        try await fixture.browser.open("\(page)?\(Form([Form.Field("user_code", code)]).encoded)")
    }

    private func poll(_ device: String, _ fixture: ClientFixture) async throws -> JSON {
        let fields = [("grant_type", GrantType.deviceCode.rawValue), ("device_code", device)]
        return try await fixture.post("token", fields).json
    }

    private func signedIn(
        client: (inout ClientSettings) -> Void = { _ in },
        app: (inout AppSettings) -> Void = { _ in }
    ) async throws -> ClientFixture {
        let fixture = try ClientFixture(client: client, app: app)
        _ = try await fixture.gateway.signIn(fixture.browser)
        return fixture
    }

    @Test func `a stranger gets the form, and signs in before a code is looked up`() async throws {
        let fixture = try ClientFixture()
        let form = try await fixture.browser.open(page)
        #expect(form.status == 200 && form.text.contains("name=\"user_code\""))
        let codes = try await self.begin(at: fixture)
        let calls = fixture.gateway.store.calls.count
        let response = try await self.open(codes.user, at: fixture)
        let back = Form([Form.Field("rd", "/oauth2/device?user_code=\(codes.user)")]).encoded
        #expect(response.status == 303 && response.location == "\(gate)/oauth2/sign_in?\(back)")
        #expect(fixture.gateway.store.calls.count == calls)
        let wrong = try await self.open("x", at: fixture)
        #expect(wrong.status == 400 && wrong.text.contains("That is not a code of eight letters"))
    }

    @Test func `a code is found as users type it, and the page shows who would be signed in where`() async throws {
        let fixture = try await self.signedIn(client: { $0.name = "Notes" })
        let codes = try await self.begin(at: fixture)
        let typed = codes.user.lowercased().replacing("-", with: " ")
        let shown = try await self.open(typed, at: fixture)
        #expect(shown.status == 200 && shown.text.contains(codes.user) && shown.text.contains("Notes"))
        #expect(shown.text.contains("Ada Lovelace"))
        #expect(shown.head.headerFields[.contentSecurityPolicy]?.hasSuffix("form-action 'self'") == true)
        let form = try shown.form(with: "consent")
        #expect(form.action == page)
        let done = try await fixture.browser.submit(form, ["choice": "allow"])
        #expect(done.status == 200 && done.text.contains("The device is connected"))
        #expect(try await self.poll(codes.device, fixture)["access_token"] != nil)
        #expect(try await self.open(codes.user, at: fixture).status == 404)
    }

    @Test(arguments: ["deny", "", "ALLOW"])
    func `what is not allowed is rejected for good`(choice: String) async throws {
        let fixture = try await self.signedIn()
        let codes = try await self.begin(at: fixture)
        let form = try await self.open(codes.user, at: fixture).form(with: "consent")
        let done = try await fixture.browser.submit(form, ["choice": choice])
        #expect(done.status == 200 && done.text.contains("The device was rejected"))
        #expect(try await self.poll(codes.device, fixture)["error"] == "access_denied")
        #expect(try await fixture.browser.submit(form, ["choice": "allow"]).status == 404)
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"])
    func `another site decides nothing`(lines: String) async throws {
        let fixture = try await self.signedIn()
        let codes = try await self.begin(at: fixture)
        let form = try await self.open(codes.user, at: fixture).form(with: "consent")
        let response = try await fixture.browser.submit(form, ["choice": "allow"], lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
        #expect(try await self.poll(codes.device, fixture)["error"] == "authorization_pending")
    }

    @Test(arguments: [(599, 200), (600, 400)] as [(Int64, Int)])
    func `the page is over after ten minutes`(seconds: Int64, status: Int) async throws {
        let fixture = try await self.signedIn()
        let codes = try await self.begin(at: fixture)
        let form = try await self.open(codes.user, at: fixture).form(with: "consent")
        fixture.gateway.clock.advance(by: seconds)
        #expect(try await fixture.browser.submit(form, ["choice": "allow"]).status == status)
    }

    @Test func `no other form of ours decides about a device`() async throws {
        let fixture = try ClientFixture()
        let session = try await fixture.gateway.signIn(fixture.browser)
        let codes = try await self.begin(at: fixture)
        let (sealer, now) = (fixture.gateway.runtime.sealer, fixture.gateway.clock.now)
        let code = Form.Field("user_code", codes.user)
        let shown = Form.Field("audiences", ClientFixture.shop)
        for (kind, form) in [
            (Consent.Kind.client, Form([code, shown])), (.credentials, Form([code, shown])),
            (.connect, Form([code, shown])),
            (.device, Form([code])), (.device, Form([shown])), (.device, Form([Form.Field("user_code", "x"), shown])),
        ] as [(Consent.Kind, Form)] {
            let field = Consent(kind, to: form, of: session, now: now).sealed(by: sealer)
            let response = try await fixture.browser.post(page, ["consent": field, "choice": "allow"])
            #expect(response.status == 400 && response.text.contains("client.request"), "\(kind)")
        }
        #expect(try await fixture.browser.post(page, ["choice": "allow"]).status == 400)
        #expect(try await self.poll(codes.device, fixture)["error"] == "authorization_pending")
    }

    @Test(arguments: [true, false])
    func `the rules of the client are asked on the page, and again when the user decides`(isLater: Bool) async throws {
        let open = try await self.signedIn()
        let codes = try await self.begin(at: open)
        let form = try await self.open(codes.user, at: open).form(with: "consent")
        let changes: [(inout ClientSettings) -> Void] = [
            { $0.route.access = .entries([]) },
            { $0.route.providers = ["guests"] },
            { client in
                var entry = AccessEntry(at: RulePlace(line: 1))
                entry.request = [.authenticated(within: .seconds(60))]
                client.route.access = .entries([entry])
            },
        ]
        for change in changes {
            let closed = try ClientFixture(sharing: open, client: change)
            let response =
                try await
                (isLater ? closed.browser.submit(form, ["choice": "allow"]) : self.open(codes.user, at: closed))
            #expect(response.status == 403 && response.text.contains("policy.refused"))
        }
        #expect(try await self.poll(codes.device, open)["error"] == "authorization_pending")
    }

    @Test func `a rule that asks for a passkey leads to the page for one`() async throws {
        let open = try await self.signedIn()
        let codes = try await self.begin(at: open)
        let form = try await self.open(codes.user, at: open).form(with: "consent")
        let strict = try ClientFixture(
            sharing: open,
            client: { client in
                var entry = AccessEntry(at: RulePlace(line: 1))
                entry.request = [.passkey(within: nil)]
                client.route.access = .entries([entry])
            }
        )
        let response = try await self.open(codes.user, at: strict)
        #expect(response.location == "\(gate)/oauth2/passkey?rd=%2Foauth2%2Fdevice%3Fuser_code%3D\(codes.user)")
        #expect(try await strict.browser.submit(form, ["choice": "allow"]).status == 403)
    }

    @Test(arguments: [(59, 200), (60, 303)] as [(Int64, Int)])
    func `a sign-in that an app of the device does not accept any more leads to a new one`(
        age: Int64,
        status: Int
    ) async throws {
        let fixture = try await self.signedIn(app: { app in
            if app.route.app == "desk" { app.sessionLimits = SessionLimits(lifetime: .seconds(60)) }
        })
        fixture.gateway.clock.advance(by: age)
        let codes = try await self.begin(at: fixture)
        let response = try await self.open(codes.user, at: fixture)
        #expect(response.status == status)
        let back = Form([Form.Field("rd", "/oauth2/device?user_code=\(codes.user)"), .selectAccount]).encoded
        #expect(status == 200 || response.location == "\(gate)/oauth2/sign_in?\(back)")
    }

    @Test func `wrong codes of a network are counted, at all gateways together`() async throws {
        let fixture = try await self.signedIn()
        fixture.browser.client = IPAddress("192.0.2.1")
        for number in 0..<DeviceLimiter.attempts {
            _ = try await fixture.gateway.signIn(fixture.browser, as: .staff("user\(number)"))
            #expect(try await self.open("BBBB-BBBB", at: fixture).status == 404)
        }
        let codes = try await self.begin(at: fixture)
        let later = try ClientFixture(sharing: fixture)
        later.browser.client = IPAddress("192.0.2.1")
        for gateway in [fixture, later] {
            _ = try await gateway.gateway.signIn(gateway.browser, as: .staff("grace"))
            let response = try await self.open(codes.user, at: gateway)
            #expect(response.status == 429 && response.text.contains("Too many codes were tried"))
        }
        later.browser.client = IPAddress("198.51.100.1")
        #expect(try await self.open(codes.user, at: later).status == 200)
    }

    // Q-13
    @Test func `Q-13: wrong codes of a user are counted at all gateways together`() async throws {
        let fixture = try await self.signedIn()
        for _ in 0..<DeviceLimiter.attempts { #expect(try await self.open("BBBB-BBBB", at: fixture).status == 404) }
        let later = try ClientFixture(sharing: fixture)
        let codes = try await self.begin(at: later)
        #expect(try await self.open(codes.user, at: later).status == 429)
        later.gateway.clock.advance(by: 60)
        #expect(try await self.open(codes.user, at: later).status == 200)
    }
}
