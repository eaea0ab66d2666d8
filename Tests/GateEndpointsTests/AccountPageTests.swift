// SPDX-License-Identifier: Apache-2.0

import GateAccounts
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateOperations
import GatePolicy
import GateSessions
import GateTestSupport
import HTTPTypes
import Testing

@testable import GateEndpoints
@testable import GateRuntime

private let gate = "https://gate.example.com"
private let account = "\(gate)/oauth2/account"

/// Q-28: the page of the user's account, and where the user is signed in.
@Suite struct AccountPageTests {
    private func isLive(_ issued: IssuedSession, _ gateway: GatewayFixture) async throws -> Bool {
        let sessions = gateway.runtime.sessions
        return try await sessions.session(for: issued.ticket, host: GatewayFixture.gate, now: gateway.clock.now) != nil
    }

    @Test func `who has no session signs in first, at the gateway's host`() async throws {
        let browser = Browser(try GatewayFixture())
        #expect(try await browser.open(account).location == "\(gate)/oauth2/sign_in?rd=%2Foauth2%2Faccount")
        #expect(try await browser.open("https://shop.example.com/oauth2/account").location == account)
        let script = try await browser.open(account, "Accept: */*\r\n")
        #expect(script.status == 401 && script.code == "session.none")
        #expect(script.head.headerFields[.wwwAuthenticate] == "Cookie realm=\"gatehouse\"")
    }

    @Test func `the user ends another session of their own, and none of others`() async throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let (own, eve) = (try await gateway.session(of: .staff()), try await gateway.session(of: .staff("eve")))
        let page = try await browser.open(account)
        #expect(page.status == 200 && page.text.contains("This browser"))
        let forms = page.forms.filter { $0.action == account }
        #expect(forms.count == 1)
        let name = try #require(forms.first?.buttons.keys.first)
        let id = try #require(forms.first?.buttons[name])
        let other = Browser(gateway)
        _ = try await gateway.signIn(other, as: .staff("eve"))
        let foreign = try await other.post(account, [name: id])
        #expect(foreign.status == 303 && foreign.location == account)
        for wrong in ["", "x"] {
            #expect(try await browser.post(account, [name: wrong]).location == account)
        }
        #expect(try await self.isLive(own, gateway))
        let ended = try await browser.post(account, [name: id])
        #expect(ended.status == 303 && ended.location == "\(account)?ended=1")
        #expect(try await !self.isLive(own, gateway))
        #expect(try await self.isLive(eve, gateway))
        #expect(lines.all.contains { $0.message == "signed out" && $0.values["by"] == "account page" })
        #expect(try await browser.open("\(account)?ended=1").text.contains("The session has ended"))
        #expect(try await !browser.open(account).text.contains("The session has ended"))
    }

    @Test(arguments: ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"])
    func `another site ends no session`(lines: String) async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let own = try await gateway.session(of: .staff())
        let page = try await browser.open(account)
        let buttons = try #require(page.forms.first { $0.action == account }?.buttons)
        let response = try await browser.post(account, buttons, lines)
        #expect(response.status == 403 && response.text.contains("request.cross_site"))
        #expect(try await self.isLive(own, gateway))
    }

    @Test func `where a cookie has the whole session, none is listed and none ends here`() async throws {
        let gateway = try GatewayFixture(keepsSessions: false)
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let page = try await browser.open(account)
        #expect(page.status == 200 && page.text.contains("This gateway keeps no list of sessions"))
        let response = try await browser.post(account, ["session": "x"])
        #expect(response.status == 400 && response.text.contains("session.not_kept"))
    }

    @Test func `this browser's session is listed first, and fifty in all`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        for _ in 0..<49 {
            gateway.clock.advance(by: 1)
            _ = try await gateway.session(of: .staff())
        }
        let first = try await browser.open(account)
        #expect(first.forms.count { $0.action == account } == 49 && !first.text.contains("Only the"))
        let list = try #require(first.text.split(separator: "<ul class=\"sessions\">").last)
        #expect(list.split(separator: "<li>").dropFirst().first?.contains("This browser") == true)
        gateway.clock.advance(by: 1)
        _ = try await gateway.session(of: .staff())
        #expect(try await browser.open(account).text.contains("Only the 50 sessions"))
    }

    @Test func `the page leads to what the gateway has`() async throws {
        let gateway = try GatewayFixture(features: [.accounts, .passkeys, .connections])
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let staff = Set(links(try await browser.open(account)).values)
        #expect(staff == ["\(gate)/oauth2/passkeys", "\(gate)/oauth2/connected", "\(gate)/oauth2/apps"])
        let local = try await gateway.addAccount()
        _ = try await gateway.signIn(browser, as: try gateway.accounts.profile(of: local))
        #expect(links(try await browser.open(account)).values.contains("\(gate)/oauth2/credentials"))
        let plain = try GatewayFixture()
        let other = Browser(plain)
        _ = try await plain.signIn(other)
        #expect(Array(links(try await other.open(account)).values) == ["\(gate)/oauth2/apps"])
    }

    @Test func `its form may lead to the sign-out of the provider`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        try await browser.open(try await browser.begin("staff"))
        let policy = try await browser.open(account).head.headerFields[.contentSecurityPolicy]
        #expect(policy?.hasSuffix("form-action 'self' https://id.staff.example") == true)
    }
}

/// Q-28: which apps are listed for a user.
@Suite struct AppListTests {
    private func names(_ gateway: GatewayFixture, as profile: Profile, _ query: String = "") async throws -> [String] {
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser, as: profile)
        let json = try JSON(parsing: try await browser.open("\(gate)/oauth2/apps\(query)", "Accept: */*\r\n").body)
        return json["apps"]?.array?.compactMap { $0["name"]?.string } ?? []
    }

    @Test func `an app of another provider is listed where its operator wants that, with what it needs`() async throws {
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "desk" { app.display.listed = .everyone }
            if app.route.app == "front" { app.display.listed = .never }
        })
        #expect(try await self.names(gateway, as: .guest) == ["shop", "lounge", "desk"])
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser, as: .guest)
        let json = try JSON(parsing: try await browser.open("\(gate)/oauth2/apps", "Accept: */*\r\n").body)
        let apps = json["apps"]?.array ?? []
        #expect(apps.first { $0["name"] == "desk" }?["needs"] == ["staff"])
        #expect(apps.first { $0["name"] == "shop" }?["needs"] == nil)
        #expect(try await browser.open("\(gate)/oauth2/apps").text.contains("Needs staff"))
    }

    @Test func `whom an app of their own provider denies is not offered another sign-in`() async throws {
        let gateway = try GatewayFixture(app: { app in
            app.display.listed = .everyone
            if app.route.app == "desk" { app.route.access = .entries([]) }
            if app.route.app == "lounge" { app.route.providers = [] }
        })
        #expect(try await self.names(gateway, as: .staff()) == ["front", "wiki", "shop"])
    }

    @Test func `a fixed response is not listed, and a redirect is`() async throws {
        let target = try #require(WebURL("https://elsewhere.example/"))
        let gateway = try GatewayFixture(app: { app in
            if app.route.app == "desk" { app.action = .redirect(RedirectSettings(to: target)) }
            if app.route.app == "shop" { app.action = .respond(FixedResponse()) }
        })
        #expect(try await self.names(gateway, as: .staff()) == ["front", "wiki", "desk"])
    }

    /// A gateway with some more apps.
    private func many(_ count: Int) throws -> GatewayFixture {
        let more = try (0..<count).map { number in
            var app = try GatewayFixture.app("tool\(number)", "tool\(number).example.com", "/", ["staff"])
            app.display.description = number == 1 ? "Orders and INVOICES" : nil
            app.display.group = number == 2 ? "Finance" : nil
            return app
        }
        return try GatewayFixture(without: ["wiki", "shop", "lounge", "desk"], more: more)
    }

    private func page(
        _ gateway: GatewayFixture,
        _ search: String? = nil
    ) async throws -> (text: String, names: [String]) {
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let query = search.map { "?\(Form([Form.Field("q", $0)]).encoded)" } ?? ""
        let text = try await browser.open("\(gate)/oauth2/apps\(query)").text
        return (text, text.matches(of: /<span><strong>([^<]*)<\/strong>/).map { String($0.1) })
    }

    @Test(arguments: [(6, false), (7, true)])
    func `a search is offered from eight apps on`(count: Int, isOffered: Bool) async throws {
        #expect(try await self.page(try self.many(count)).text.contains("role=\"search\"") == isOffered)
    }

    @Test(arguments: [
        ("tool1", ["tool1"]), ("invoices", ["tool1"]), ("finance", ["tool2"]), ("orders tool1", ["tool1"]),
        ("orders tool2", []), ("TOOL2", ["tool2"]), ("tool3x", []), ("3", ["tool3"]), ("none", []),
    ])
    func `a search finds the apps with all of its words`(search: String, names: [String]) async throws {
        #expect(try await self.page(try self.many(4), search).names == names)
    }

    @Test func `an empty search finds all, and only a hundred bytes of one count`() async throws {
        let gateway = try self.many(2)
        #expect(try await self.page(gateway, "").names.count == 3)
        let long = "tool1" + String(repeating: " ", count: 95)
        #expect(try await self.page(gateway, long + "other").names == ["tool1"])
    }

    @Test func `at most five hundred apps are listed, and the page states it`() async throws {
        let full = try await self.page(try self.many(499))
        #expect(full.names.count == 500 && !full.text.contains("More apps exist"))
        let more = try self.many(500)
        let page = try await self.page(more)
        #expect(page.names.count == 500 && page.text.contains("More apps exist"))
        #expect(try await self.names(more, as: .staff()).count == 500)
    }

    @Test func `a script gets no list for the front page`() async throws {
        let gateway = try GatewayFixture(without: ["front"])
        let browser = Browser(gateway)
        _ = try await gateway.signIn(browser)
        let script = try await browser.open("\(gate)/", "Accept: */*\r\n")
        #expect(script.status == 404 && script.code == "route.none")
        #expect(try await browser.open("\(gate)/").status == 200)
    }
}
