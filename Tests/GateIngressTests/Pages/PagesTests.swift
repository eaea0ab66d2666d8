// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateSessions
import GateWire
import HTTPTypes
import Testing

@testable import GateIngress

@Suite struct VisitorTests {
    @Test(arguments: [
        ("Sec-Fetch-Mode: navigate\r\nAccept: */*", true), ("Sec-Fetch-Mode: cors\r\nAccept: text/html", false),
        ("Accept: text/html,application/xhtml+xml", true), ("Accept: TEXT/HTML", true), ("Accept: */*", false),
        ("Accept: application/json", false), ("X: y", false),
        ("X-Requested-With: XMLHttpRequest\r\nAccept: text/html", false),
    ])
    func `people get pages and scripts get what they can read`(lines: String, wantsPage: Bool) throws {
        let gateway = try GatewayFixture()
        #expect(ClientKind(try gateway.head("GET /", GatewayFixture.gate, "\(lines)\r\n")).wantsPage == wantsPage)
    }
}

@Suite struct RenderingTests {
    @Test(arguments: [
        (Failure.Kind.malformedRequest, 400), (.signInRequired, 401), (.forbidden, 403), (.noSuchRoute, 404),
        (.methodNotAllowed, 405), (.tooLarge, 413), (.tooMany, 429), (.providerFailed, 502), (.upstreamFailed, 502),
        (.upstreamTimedOut, 504), (.overloaded, 503), (.internalError, 500),
    ])
    func `each kind of failure has its status`(kind: Failure.Kind, status: Int) {
        #expect(Rendering.status(of: Failure(kind, "a.b", "")) == status)
    }

    @Test func `a host that the certificate is not for is misdirected`() {
        #expect(Rendering.status(of: Failure(.noSuchRoute, "request.misdirected", "")) == 421)
    }

    @Test(arguments: Failure.Kind.allCases)
    func `a person sees code and incident and never the detail`(kind: Failure.Kind) throws {
        let gateway = try GatewayFixture()
        let failure = Failure(kind, "some.code", "SECRET detail")
        let page = gateway.runtime.rendering.answer(to: failure, for: ClientKind(wantsPage: true))
        #expect(page.text.contains("<code>some.code</code>") && !page.text.contains("SECRET"))
        #expect(page.text.matches(of: /<code>[A-Za-z0-9_-]{12}<\/code>/).count == 1)
        #expect(!page.text.contains("<script") && !page.text.contains("style=\""))
        let script = gateway.runtime.rendering.answer(to: failure, for: ClientKind(wantsPage: false))
        let json = try JSON(parsing: script.body)
        #expect(json["error"]?.string == "some.code" && json["incident"]?.string?.utf8.count == 12)
        #expect(!script.text.contains("SECRET") && script.status == page.status)
        #expect(!Advice(for: failure).title.isEmpty && !Advice(for: failure).text.isEmpty)
    }

    @Test func `pages carry their protections and are not stored`() throws {
        let gateway = try GatewayFixture()
        let page = gateway.runtime.rendering.answer(
            to: Failure(.forbidden, "a.b", ""),
            for: ClientKind(wantsPage: true)
        )
        let fields = page.head.headerFields
        let policy = try #require(fields[.contentSecurityPolicy])
        #expect(policy.hasPrefix("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"))
        #expect(policy.contains("form-action 'self'") && fields[.xFrameOptions] == "DENY")
        #expect(fields[.xContentTypeOptions] == "nosniff" && fields[.referrerPolicy] == "no-referrer")
        #expect(fields[.cacheControl] == "no-store")
    }

    @Test(arguments: [("upstream.overflow", "1"), ("session.store_unavailable", "2")] as [(StaticString, String)])
    func `who meets an overload is told when to come again`(code: StaticString, seconds: String) throws {
        let gateway = try GatewayFixture()
        let answer = gateway.runtime.rendering.answer(
            to: Failure(.overloaded, code, ""),
            for: ClientKind(wantsPage: false)
        )
        #expect(answer.head.headerFields[.retryAfter] == seconds)
    }

    @Test func `values in pages are escaped`() {
        var eve = Profile(provider: "staff", issuer: "https://id.staff.example", subject: "e")
        eve.name = "<b>&\"Eve\""
        eve.email = "<i>@example.org"
        let user = PageContext.User(eve, provider: "<u>", isSignedIn: true)
        let page = Pages.signOut(action: "\"><script>", user: user)
        #expect(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>") && !page.contains("<u>"))
        let button = PageButton(address: "\"><script>", text: "<i>")
        for page in [
            Pages.apps([button], user: user, signOut: "\"><script>"),
            Pages.error(title: "<i>", text: "<b>", code: "<i>", incident: "<i>", user: user, buttons: [button]),
            Pages.signedOut(address: "\"><script>", remark: "<i>"),
        ] {
            #expect(
                !page.contains("<script>") && !page.contains("<b>") && !page.contains("<i>") && !page.contains("<u>")
            )
        }
        let chooser = Pages.chooser([PageButton(address: "javascript:\"><i>", text: "<i>")], app: "<i>")
        #expect(!chooser.contains("<i>"))
    }
}

@Suite struct AdviceTests {
    @Test(
        arguments: [
            (Failure.Kind.malformedRequest, "openid.attempt_lost", ["Sign in again"]),
            (.malformedRequest, "handover.code", ["Sign in again"]), (.malformedRequest, "request.refused", []),
            (.forbidden, "policy.refused", ["Sign in with another account", "Sign out", "Show my apps"]),
            (.forbidden, "policy.groups_unknown", ["Sign in again", "Sign out", "Show my apps"]),
            (.forbidden, "openid.access_denied", ["Sign in with another account"]),
            (.forbidden, "request.cross_site", []), (.providerFailed, "provider.unavailable", ["Sign in again"]),
            (.upstreamFailed, "upstream.unreachable", []), (.signInRequired, "session.none", ["Sign in"]),
            (.noSuchRoute, "route.none", ["Show my apps"]),
        ] as [(Failure.Kind, StaticString, [String])]
    )
    func `a user is offered what they can do`(kind: Failure.Kind, code: StaticString, texts: [String]) throws {
        let gate = try #require(Origin(scheme: "https", host: GatewayFixture.gate))
        let context = PageContext()
        let buttons = Advice(for: Failure(kind, code, "")).steps.map { $0.button(at: gate, in: context) }
        #expect(buttons.map(\.text) == texts)
        #expect(buttons.allSatisfy { $0.address.hasPrefix("https://gate.example.com/oauth2/") })
    }

    @Test(arguments: [(400, "request.target"), (408, "wire.too_slow"), (414, "x.y"), (431, "x.y"), (501, "x.y")])
    func `bytes that are no request have advice as well`(status: Int, code: String) {
        let advice = Advice(for: WireRejection(status, "request.target"))
        #expect(!advice.title.isEmpty && !advice.text.isEmpty && advice.steps.isEmpty)
    }
}

@Suite struct SignInInvitationTests {
    private func answer(
        _ start: String,
        _ app: String,
        host: String = GatewayFixture.gate,
        page: Bool = true
    ) throws -> Response {
        let gateway = try GatewayFixture()
        let head = try gateway.head(start, host, page ? "Sec-Fetch-Mode: navigate\r\n" : "Accept: application/json\r\n")
        return SignInRedirect(runtime: gateway.runtime).answer(for: head, route: try gateway.route(app))
    }

    @Test(arguments: [
        ("GET /wiki/a?b=c&d", "wiki", "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki%2Fa%3Fb%3Dc%26d"),
        ("GET /x", "front", "https://gate.example.com/oauth2/sign_in?rd=%2Fx"),
        ("POST /wiki/a", "wiki", "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki"),
        ("GET /wiki/a?x=%00", "wiki", "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki"),
    ])
    func `a person is sent to sign in and then back to where they were`(
        start: String,
        app: String,
        location: String
    ) throws {
        let answer = try self.answer(start, app)
        #expect(answer.status == 303 && answer.location == location)
        #expect(answer.head.headerFields[.cacheControl] == "no-store" && answer.cookies.isEmpty)
    }

    @Test func `V-10 a script is told 401, where a user would have to go and what to send afterwards`() throws {
        let answer = try self.answer("GET /wiki/a", "wiki", page: false)
        let json = try JSON(parsing: answer.body)
        #expect(answer.status == 401 && answer.location == nil && json["error"]?.string == "sign_in_required")
        #expect(json["sign_in"]?.string == "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki%2Fa")
        #expect(json["help"]?.string?.contains("the cookie __Host-gatehouse of that session") == true)
        #expect(answer.head.headerFields[.wwwAuthenticate] != nil)
        let elsewhere = try JSON(parsing: self.answer("GET /a", "shop", host: "shop.example.com", page: false).body)
        #expect(elsewhere["sign_in"]?.string == "https://shop.example.com/oauth2/sign_in?rd=%2Fa")
    }

    @Test func `on an app's own host a person is sent to the gate, bound to the browser`() throws {
        let answer = try self.answer("GET /cart", "shop", host: "shop.example.com")
        #expect(answer.location?.hasPrefix("https://gate.example.com/oauth2/handover?request=") == true)
        #expect(answer.cookies.count == 1)
        #expect(answer.cookies.first?.hasPrefix("__Host-gatehouse-handover-") == true)
        #expect(answer.cookies.first?.hasSuffix("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax") == true)
    }
}
