// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateProviders
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"

@Suite struct GroupsTests {
    private static let ada: [String: JSON] = [
        "sub": "ada", "email": "ada@example.org", "email_verified": true, "groups": ["board", "chess", "staff"],
    ]

    private static func entry(group: String) -> AccessEntry {
        var entry = AccessEntry(at: RulePlace(line: 12))
        entry.group = group
        return entry
    }

    /// The lounge, as a user with these claims gets it.
    private func lounge(_ claims: [String: JSON], denying group: String) async throws -> Response {
        let gateway = try GatewayFixture(app: { app in
            app.route.denied = app.route.app == "lounge" ? [Self.entry(group: group)] : []
        })
        let browser = Browser(gateway)
        let callback = try await browser.begin("guests", returnPath: "/lounge", as: claims)
        return try await browser.open(callback, "Accept: */*\r\n")
    }

    @Test func `a session keeps only the groups that rules name if no app gets the others`() async throws {
        let gateway = try GatewayFixture(app: { app in
            app.route.groups = .named
            app.route.denied = [Self.entry(group: "staff-abroad")]
            if app.route.app == "lounge" { app.route.access = .entries([Self.entry(group: "board")]) }
        })
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("guests", returnPath: "/", as: Self.ada))
        let info = try JSON(parsing: try await browser.open("\(gate)/oauth2/userinfo").body)
        #expect(info["groups"] == ["board"])
        #expect(info["groups_complete"] == false)
    }

    @Test func `an app with 'groups: named' gets only the groups that its rules name`() throws {
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "lounge" else { return }
            app.route.groups = .named
            app.route.access = .entries([Self.entry(group: "board")])
        })
        var profile = Profile(provider: "guests", issuer: "https://id.guests.example", subject: "ada")
        profile.groups = ["board", "chess"]
        #expect(try gateway.route("lounge").route.sharedGroups(of: profile) == ["board"])
        #expect(try gateway.route("front").route.sharedGroups(of: profile) == ["board", "chess"])
    }

    @Test func `who is denied gets no session`() async throws {
        let response = try await self.lounge(Self.ada, denying: "chess")
        #expect(response.status == 403 && response.code == "policy.denied")
    }

    @Test func `who is in no denied group enters`() async throws {
        let response = try await self.lounge(Self.ada, denying: "golf")
        #expect(response.status == 303 && response.location == "\(gate)/lounge")
    }

    @Test func `who may be in a denied group, since more groups are elsewhere, does not enter`() async throws {
        var claims = Self.ada
        claims["groups"] = nil
        claims["_claim_names"] = ["groups": "src1"]
        let response = try await self.lounge(claims, denying: "golf")
        #expect(response.status == 403 && response.code == "policy.groups_unknown")
    }

    @Test func `groups over the budget are cut, but none that a rule names`() async throws {
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "lounge" { app.route.access = .entries([Self.entry(group: "zz-board")]) }
        })
        let browser = Browser(gateway)
        var claims = Self.ada
        let many = (0..<900).map { "group-\($0)-" + String(repeating: "x", count: 40) } + ["zz-board"]
        claims["groups"] = .array(many.map(JSON.string))
        let callback = try await browser.begin("guests", returnPath: "/lounge", as: claims)
        #expect(try await browser.open(callback).status == 303)
        let info = try JSON(parsing: try await browser.open("\(gate)/oauth2/userinfo").body)
        let kept = info["groups"]?.array ?? []
        #expect(kept.count < 900 && kept.contains("zz-board"))
        #expect(kept.reduce(0) { $0 + ($1.string?.utf8.count ?? 0) } <= RequiredGroups.budget)
        #expect(info["groups_complete"] == false)
    }
}

@Suite struct FormPostTests {
    private func gateway() throws -> GatewayFixture { try GatewayFixture(provider: { $0.responseMode = .formPost }) }

    @Test func `the attempt's cookie comes along with a form from the provider's site`() async throws {
        let browser = Browser(try self.gateway())
        let response = try await browser.open("\(gate)/oauth2/start/staff?rd=%2Fwiki")
        let cookie = response.cookies.first { $0.hasPrefix("__Host-gatehouse-attempt-") }
        #expect(cookie?.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=None") == true)
        #expect(response.location?.contains("response_mode=form_post") == true)
    }

    @Test func `a posted callback signs in, and the session's cookie is for our own site`() async throws {
        let browser = Browser(try self.gateway())
        let callback = try await browser.begin("staff", returnPath: "/wiki")
        let parts = callback.split(separator: "?", maxSplits: 1).map(String.init)
        let type = "Content-Type: application/x-www-form-urlencoded\r\n"
        let fields = "Sec-Fetch-Site: cross-site\r\nOrigin: https://id.staff.example\r\n"
        let response = try await browser.open(parts[0], method: "POST", body: parts[1], type + fields)
        #expect(response.status == 303 && response.location == "\(gate)/wiki")
        let session = response.cookies.first { $0.hasPrefix("__Host-gatehouse=") }
        #expect(session?.hasSuffix("SameSite=Lax") == true)
    }

    @Test func `a posted callback ends the session that it replaces, though that session's cookie does not come along`()
        async throws
    {
        let gateway = try self.gateway()
        let browser = Browser(gateway)
        let first = try await browser.begin("staff")
        try await browser.open(first)
        let old = try #require(browser.jar[GatewayFixture.gate]?["__Host-gatehouse"])
        let callback = try await browser.begin("staff", returnPath: "/wiki")
        browser.jar[GatewayFixture.gate]?["__Host-gatehouse"] = nil
        let parts = callback.split(separator: "?", maxSplits: 1).map(String.init)
        let type = "Content-Type: application/x-www-form-urlencoded\r\n"
        #expect(try await browser.open(parts[0], method: "POST", body: parts[1], type).status == 303)
        let other = Browser(gateway)
        other.jar[GatewayFixture.gate] = ["__Host-gatehouse": old]
        #expect(try await other.open("\(gate)/oauth2/userinfo", "Accept: */*\r\n").status == 401)
    }
}

@Suite struct NavigationTests {
    @Test(
        arguments: [
            "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n", "Sec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n",
            "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
            "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Purpose: prefetch\r\n",
        ])
    func `only a navigation begins a sign-in`(lines: String) async throws {
        let gateway = try GatewayFixture()
        let response = try await Browser(gateway).open("\(gate)/oauth2/start/staff?rd=%2F", "\(lines)Accept: */*\r\n")
        #expect(response.status == 403 && response.text.contains("request.not_navigation"))
        #expect(response.cookies.isEmpty && gateway.providers.requests.isEmpty)
    }

    @Test(arguments: ["", "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Site: cross-site\r\n"])
    func `a navigation begins a sign-in, also from another site`(lines: String) async throws {
        let response = try await Browser(try GatewayFixture()).open(
            "\(gate)/oauth2/start/staff",
            "\(lines)Accept: text/html\r\n"
        )
        #expect(response.status == 303)
    }

    @Test func `sign-ins that wait for one provider do not block those of another`() async throws {
        let gateway = try GatewayFixture()
        let staff = try #require(gateway.runtime.providers["staff"])
        while staff.waiting.acquire() {}
        let full = try await Browser(gateway).open("\(gate)/oauth2/start/staff", "Accept: */*\r\n")
        #expect(full.status == 503 && full.code == "provider.busy")
        #expect(full.head.headerFields[.retryAfter] != nil)
        #expect(try await Browser(gateway).open("\(gate)/oauth2/start/guests").status == 303)
        staff.waiting.release()
        #expect(try await Browser(gateway).open("\(gate)/oauth2/start/staff").status == 303)
        #expect(try await Browser(gateway).open("\(gate)/oauth2/start/staff").status == 303)
    }
}
