// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateHeaders
import GatePages
import GateSessions
import GateWire
import HTTPTypes
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct ClientKindTests {
    @Test(arguments: [
        ("Sec-Fetch-Mode: navigate\r\nAccept: */*", true), ("Sec-Fetch-Mode: cors\r\nAccept: text/html", false),
        ("Accept: text/html,application/xhtml+xml", true), ("Accept: TEXT/HTML", true), ("Accept: */*", false),
        ("Accept: application/json", false), ("X: y", false),
        ("X-Requested-With: XMLHttpRequest\r\nAccept: text/html", false),
    ])
    func `users get pages and scripts get what they can parse`(lines: String, wantsPage: Bool) throws {
        let gateway = try GatewayFixture()
        #expect(ClientKind(try gateway.head("GET /", GatewayFixture.gate, "\(lines)\r\n")).wantsPage == wantsPage)
    }
}

@Suite struct RenderingTests {
    @Test(arguments: [
        (Failure.Reason.openIDCallback, 400), (.sessionNone, 401), (.policyRefused, 403), (.routeNone, 404),
        (.endpointMethod, 405), (.routeBodyTooLarge, 413), (.signInTooOften, 429), (.providerUnavailable, 502),
        (.upstreamClosed, 502), (.upstreamTimedOut, 504), (.gatewayOverloaded, 503), (.providerUnknown, 500),
        (.requestMisdirected, 421), (.upstreamLoop, 508), (.providerPinMismatch, 503), (.requestWebSocketVersion, 426),
    ])
    func `each failure is rendered with its status`(reason: Failure.Reason, status: Int) throws {
        let rendering = try GatewayFixture().runtime.rendering
        #expect(rendering.response(to: Failure(reason, ""), for: ClientKind(wantsPage: true)).status == status)
        #expect(rendering.response(to: Failure(reason, ""), for: ClientKind(wantsPage: false)).status == status)
    }

    @Test(arguments: Failure.Reason.allCases)
    func `a user sees code and incident and never the detail`(reason: Failure.Reason) throws {
        let gateway = try GatewayFixture()
        let failure = Failure(reason, "SECRET detail")
        let page = gateway.runtime.rendering.response(to: failure, for: ClientKind(wantsPage: true))
        #expect(page.text.contains("<code>\(reason.code)</code>") && !page.text.contains("SECRET"))
        #expect(page.text.matches(of: /<code>[A-Za-z0-9_-]{12}<\/code>/).count == 1)
        #expect(page.text.contains("<h1>\(reason.entry.page.title(for: nil))</h1>"), "it is the page of the catalogue")
        #expect(!page.text.contains("<script") && !page.text.contains("style=\""))
        let script = gateway.runtime.rendering.response(to: failure, for: ClientKind(wantsPage: false))
        let json = try JSON(parsing: script.body)
        #expect(json["error"]?.string == reason.code && json["incident"]?.string?.utf8.count == 12)
        #expect(!script.text.contains("SECRET") && script.status == page.status)
    }

    @Test func `pages carry their protections and are not stored`() throws {
        let gateway = try GatewayFixture()
        let page = gateway.runtime.rendering.response(to: Failure(.policyRefused, ""), for: ClientKind(wantsPage: true))
        let fields = page.head.headerFields
        let policy = try #require(fields[.contentSecurityPolicy])
        #expect(policy.hasPrefix("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"))
        #expect(policy.contains("form-action 'self'") && fields[.xFrameOptions] == "DENY")
        #expect(fields[.xContentTypeOptions] == "nosniff" && fields[.referrerPolicy] == "no-referrer")
        #expect(fields[.cacheControl] == "no-store")
    }

    @Test(
        arguments: [
            (.upstreamOverflow, "1"), (.sessionStoreUnavailable, "2"), (.routeMaintenance, "120"),
            (.signInFailing, "10"),
            (.providerPinMismatch, "30"), (.routeNone, nil), (.providerUnavailable, nil),
        ] as [(Failure.Reason, String?)]
    )
    func `a client gets Retry-After where repeating the request helps`(reason: Failure.Reason, seconds: String?) throws
    {
        let gateway = try GatewayFixture()
        let response = gateway.runtime.rendering.response(to: Failure(reason, ""), for: ClientKind(wantsPage: false))
        #expect(response.head.headerFields[.retryAfter] == seconds)
    }
}

@Suite struct SignInInvitationTests {
    private func response(
        _ start: String,
        _ app: String,
        host: String = GatewayFixture.gate,
        page: Bool = true
    ) throws -> Response {
        let gateway = try GatewayFixture()
        let head = try gateway.head(start, host, page ? "Sec-Fetch-Mode: navigate\r\n" : "Accept: application/json\r\n")
        return SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route(app))
    }

    @Test(arguments: [
        ("GET /wiki/a?b=c&d", "wiki", "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki%2Fa%3Fb%3Dc%26d"),
        ("GET /x", "front", "https://gate.example.com/oauth2/sign_in?rd=%2Fx"),
        ("HEAD /wiki/a", "wiki", "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki%2Fa"),
    ])
    func `a user is redirected to sign in and then back`(
        start: String,
        app: String,
        location: String
    ) throws {
        let response = try self.response(start, app)
        #expect(response.status == 303 && response.location == location)
        #expect(response.head.headerFields[.cacheControl] == "no-store" && response.cookies.isEmpty)
    }

    @Test func `V-10 a script gets 401 with the sign-in URL and the cookie to send afterwards`() throws {
        let response = try self.response("GET /wiki/a", "wiki", page: false)
        let json = try JSON(parsing: response.body)
        #expect(response.status == 401 && response.location == nil && json["error"]?.string == "sign_in_required")
        #expect(json["sign_in"]?.string == "https://gate.example.com/oauth2/start/staff?rd=%2Fwiki%2Fa")
        #expect(json["help"]?.string?.contains("the cookie __Host-gatehouse of that session") == true)
        #expect(response.head.headerFields[.wwwAuthenticate] != nil)
        let elsewhere = try JSON(parsing: self.response("GET /a", "shop", host: "shop.example.com", page: false).body)
        #expect(elsewhere["sign_in"]?.string == "https://shop.example.com/oauth2/sign_in?rd=%2Fa")
    }

    @Test func `on an app's own host a user is redirected to the gateway's host, bound to the browser`() throws {
        let response = try self.response("GET /cart", "shop", host: "shop.example.com")
        #expect(response.location?.hasPrefix("https://gate.example.com/oauth2/handover?request=") == true)
        #expect(response.cookies.count == 1)
        #expect(response.cookies.first?.hasPrefix("__Host-gatehouse-handover-") == true)
        #expect(response.cookies.first?.hasSuffix("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax") == true)
    }
}
