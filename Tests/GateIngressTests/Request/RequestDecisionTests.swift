// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct RequestDecisionTests {
    @Test(arguments: [
        ("GET /wiki", "sign in for wiki"), ("GET /wiki/a", "sign in for wiki"), ("GET /wikis", "sign in for front"),
        ("GET /", "sign in for front"), ("GET /lounge/x", "sign in for lounge"), ("OPTIONS *", "response 204"),
        ("GET /wiki;x=1/a", "refused path.parameter"), ("GET /wiki/a;x=1", "sign in for wiki"),
        ("GET /oauth2", "endpoint"), ("GET /oauth2/", "endpoint"), ("POST /oauth2/anything", "endpoint"),
        ("GET /oauth2x", "sign in for front"), ("GET /oauth", "sign in for front"),
        ("GET /OAUTH2/x", "sign in for front"),
        ("GET /%6Fauth2/sign_in", "endpoint"), ("GET /wiki/../oauth2/sign_in", "endpoint"),
    ])
    func `a path leads to one place for a stranger`(start: String, verdict: String) throws {
        let gateway = try GatewayFixture()
        #expect(gateway.verdict(try gateway.head(start)) == verdict)
    }

    @Test(arguments: [
        ("GET /oauth2", "gate.example.com", "sign in for front"),
        ("GET /oauth2/sign_in", "gate.example.com", "sign in for front"),
        ("GET /oauth2/userinfo", "shop.example.com", "sign in for shop"),
        ("GET /gate/in", "gate.example.com", "endpoint"), ("GET /gate/in/x", "gate.example.com", "endpoint"),
        ("GET /gate/in/userinfo", "shop.example.com", "endpoint"),
        ("GET /%67ate/x/../in/sign_out", "shop.example.com", "endpoint"),
        ("GET /gate/in/authorize", "shop.example.com", "sign in for shop"),
        ("GET /gate/inx/userinfo", "shop.example.com", "sign in for shop"),
        ("GET /gate", "gate.example.com", "sign in for front"),
    ])
    func `N-03 with another prefix the endpoints are below it alone`(
        start: String,
        host: String,
        verdict: String
    ) throws {
        let gateway = try GatewayFixture(endpoints: try #require(EndpointPrefix("/gate/in")))
        #expect(gateway.verdict(try gateway.head(start, host)) == verdict)
    }

    @Test func `N-03 with another prefix a place there belongs to no app`() throws {
        let runtime = try GatewayFixture(endpoints: try #require(EndpointPrefix("/gate/in"))).runtime
        let places = ["/gate/in/userinfo", "/oauth2/userinfo"].compactMap { ReturnPath($0) }
        #expect(places.map { runtime.route(host: "shop.example.com", path: $0)?.name } == [nil, "shop"])
    }

    @Test(arguments: ["GET /", "GET /oauth2/sign_in", "GET /wiki/healthz"])
    func `an unknown host has no app, whatever the path`(start: String) throws {
        let gateway = try GatewayFixture()
        #expect(gateway.verdict(try gateway.head(start, "evil.example")) == "refused route.none")
    }

    @Test(arguments: [
        ("GET /alive", "10.0.0.9", "response 200"), ("OPTIONS /alive", "backend", "response 200"),
        ("GET /alive", "desk.example.com", "refused request.misdirected"),
        ("GET /wiki/alive", GatewayFixture.gate, "refused request.misdirected"),
        ("POST /alive", "10.0.0.9", "refused request.misdirected"),
        ("GET /", "10.0.0.9", "refused request.misdirected"),
    ])
    func `G-07: over a certificate for another host a health check gets its status where no app has the path`(
        start: String,
        host: String,
        verdict: String
    ) throws {
        let gateway = try GatewayFixture(healthPath: start.contains("/wiki") ? "/wiki/alive" : "/alive")
        let request = gateway.request(try gateway.head(start, host))
        #expect(gateway.words(Decider(request, gateway.loop).misdirected()) == verdict)
    }

    @Test func `G-07: a health check gets 503 once the gateway is to stop`() throws {
        let gateway = try GatewayFixture(healthPath: "/alive")
        let check = try gateway.head("GET /alive", "10.0.0.9")
        #expect(gateway.words(Decider(gateway.request(check), gateway.loop).misdirected()) == "response 200")
        #expect(gateway.verdict(check) == "response 200")
        gateway.loop.announceStop()
        #expect(gateway.words(Decider(gateway.request(check), gateway.loop).misdirected()) == "response 503")
        #expect(gateway.verdict(check) == "response 503")
    }

    @Test(arguments: [
        ("GET /alive", "10.0.0.9", 200), ("HEAD /alive", "10.0.0.9", 200), ("POST /alive", "10.0.0.9", 404),
        ("DELETE /alive", "10.0.0.9", 404),
        ("GET /alive", "shop.example.com", 308), ("GET /other", "10.0.0.9", 404),
    ])
    func `G-07: a listener that redirects responds to health checks of the safe methods only`(
        start: String,
        host: String,
        status: Int
    ) throws {
        let gateway = try GatewayFixture(healthPath: "/alive")
        let responder = RedirectResponder(loop: gateway.loop, client: "192.0.2.1")
        let text = try gateway.received(Array("\(start) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8), by: responder)
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
    }

    @Test func `D-04 the log names the remedy where a proxy has replaced Host`() throws {
        let gateway = try GatewayFixture()
        func detail(_ host: String, _ lines: String) throws -> String? {
            let step = gateway.request(try gateway.head("GET /", host, lines)).decide(gateway.loop)
            guard case .reject(let failure, _) = step else { return nil }
            return failure.detail
        }
        let replaced = try detail("10.0.0.9:8080", "X-Forwarded-Host: shop.example.com\r\n")
        #expect(replaced?.contains("X-Forwarded-Host 'shop.example.com' is not read: let the proxy keep Host") == true)
        #expect(try detail("10.0.0.9", "")?.contains("X-Forwarded-Host") == false)
        #expect(try detail("evil.example", "X-Forwarded-Host: evil.example\r\n")?.contains("X-Forwarded-") == false)
    }

    @Test func `a host is matched whatever its letters and its port`() throws {
        let gateway = try GatewayFixture()
        #expect(gateway.verdict(try gateway.head("GET /", "SHOP.Example.com:8443")) == "sign in for shop")
        #expect(gateway.verdict(try gateway.head("GET /oauth2/sign_in", "shop.example.com")) == "endpoint")
    }

    @Test(
        arguments: [
            ("one.apps.example.com", "sign in for shop"), ("ONE.Apps.example.com.:8443", "sign in for shop"),
            ("store.example.com", "sign in for shop"), ("shop.example.com", "refused route.none"),
            ("apps.example.com", "refused route.none"), ("a.one.apps.example.com", "refused route.none"),
            ("one.apps.example.com.attacker.net", "refused route.none"), ("desk.example.com", "sign in for desk"),
        ]
    )
    func `A-81: a wildcard is one label, and hosts that apps name do not belong to it`(
        host: String,
        verdict: String
    ) async throws {
        let gateway = try GatewayFixture(app: GatewayFixture.severalHosts)
        #expect(gateway.verdict(try gateway.head("GET /", host)) == verdict)
        let isOurs = verdict != "refused route.none"
        #expect(gateway.verdict(try gateway.head("GET /oauth2/account", host)) == (isOurs ? "endpoint" : verdict))
        #expect(gateway.verdict(try gateway.head("GET /oauth2/x", host)) == verdict)
        #expect((gateway.runtime.hosts.origin(of: host) != nil) == (isOurs && host == host.lowercased()))
    }

    @Test(
        arguments: [
            ("https://one.apps.example.com", "forwarded to shop"),
            ("https://two.apps.example.com", "refused request.cross_site"),
            ("https://store.example.com", "refused request.cross_site"),
            ("https://one.apps.example.com:444", "refused request.cross_site"),
        ]
    )
    func `a page on another host of the app is another site`(origin: String, verdict: String) async throws {
        let gateway = try GatewayFixture(app: GatewayFixture.severalHosts)
        let host = "one.apps.example.com"
        let ticket = try await gateway.cachedSession(of: .staff(), on: host)
        let lines = "\(cookie(ticket))Sec-Fetch-Site: same-site\r\nOrigin: \(origin)\r\n"
        #expect(gateway.verdict(try gateway.head("POST /", host, lines)) == verdict)
    }

    @Test func `A-83: a session of one host of an app is not one of the other`() async throws {
        let gateway = try GatewayFixture(app: GatewayFixture.severalHosts)
        let ticket = try await gateway.cachedSession(of: .staff(), on: "one.apps.example.com")
        let two = try gateway.head("GET /", "two.apps.example.com", cookie(ticket))
        #expect(gateway.verdict(two) == "sign in for shop")
        let one = try gateway.head("GET /", "one.apps.example.com", cookie(ticket))
        #expect(gateway.verdict(one) == "forwarded to shop")
    }

    @Test(arguments: [
        ("GET /wiki/healthz", "forwarded to wiki unknown"), ("GET /wiki/healthz?x", "forwarded to wiki unknown"),
        ("POST /wiki/healthz", "sign in for wiki"), ("GET /wiki/healthz/", "sign in for wiki"),
        ("POST /wiki/assets/a.js", "forwarded to wiki unknown"), ("GET /wiki/assets", "sign in for wiki"),
        ("GET /wiki/assets/../secret", "sign in for wiki"), ("GET /wiki/secret?/wiki/assets/", "sign in for wiki"),
        ("GET /wiki/%61ssets/a", "forwarded to wiki unknown"),
    ])
    func `A-07 a public path needs no session, and the query does not matter`(start: String, verdict: String) throws {
        let gateway = try GatewayFixture()
        #expect(gateway.verdict(try gateway.head(start)) == verdict)
    }

    @Test func `an open path is forwarded without an identity even with a session`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        let head = try gateway.head("GET /wiki/healthz", GatewayFixture.gate, cookie(ticket))
        #expect(gateway.verdict(head) == "forwarded to wiki unknown")
    }

    @Test func `a session that the loop does not know is looked up, and then decides`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, cookie(issued.ticket))
        #expect(gateway.verdict(head) == "needs session")
        #expect(gateway.verdict(head, lookup: .done) == "sign in for wiki")
        _ = try await gateway.cachedSession(of: .staff())
        #expect(gateway.verdict(head) == "needs session")
    }

    @Test func `a store that does not respond is not the same as no session`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, cookie(issued.ticket))
        let failure = Failure(.sessionStoreUnavailable, "")
        #expect(gateway.verdict(head, lookup: .unavailable(failure)) == "refused session.store_unavailable")
    }

    @Test func `who may enter is forwarded with an identity`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        #expect(
            gateway.verdict(try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket))) == "forwarded to wiki"
        )
        #expect(gateway.verdict(try gateway.head("GET /", GatewayFixture.gate, cookie(ticket))) == "forwarded to front")
    }

    @Test func `who may not enter is refused`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff(email: "eve@example.com"))
        #expect(
            gateway.verdict(try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket)))
                == "refused policy.refused"
        )
    }

    @Test func `a session of a provider that the app does not accept leads to a sign-in`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .guest)
        #expect(
            gateway.verdict(try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket))) == "sign in for wiki"
        )
        #expect(
            gateway.verdict(try gateway.head("GET /lounge", GatewayFixture.gate, cookie(ticket)))
                == "forwarded to lounge"
        )
    }

    @Test func `a session of one host does not count on another`() async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff(), on: "shop.example.com")
        #expect(gateway.verdict(try gateway.head("GET /", "shop.example.com", cookie(ticket))) == "forwarded to shop")
        let elsewhere = try gateway.head("GET /", "desk.example.com", cookie(ticket))
        // X-17: the tag names the host, so that the store need not be asked.
        #expect(gateway.verdict(elsewhere) == "sign in for desk")
        let found = try await gateway.runtime.sessions.session(
            for: ticket,
            host: "desk.example.com",
            now: gateway.clock.now
        )
        #expect(found == nil)
    }

    @Test(arguments: [
        "", "x", "__Host-gatehouse=", "gatehouse=TICKET", "__Host-gatehouse=TICKETx", "__host-gatehouse=TICKET",
    ])
    func `a cookie that is not the gateway's is not a session`(field: String) async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        let line = "Cookie: \(field.replacing("TICKET", with: ticket.text))\r\n"
        #expect(gateway.verdict(try gateway.head("GET /wiki", GatewayFixture.gate, line)) == "sign in for wiki")
    }

    @Test func `two session cookies count as none`() async throws {
        let gateway = try GatewayFixture()
        let (good, other) = (
            try await gateway.cachedSession(of: .staff()), try await gateway.cachedSession(of: .staff("eve"))
        )
        let line = "Cookie: __Host-gatehouse=\(good.text); __Host-gatehouse=\(other.text)\r\n"
        #expect(gateway.verdict(try gateway.head("GET /wiki", GatewayFixture.gate, line)) == "sign in for wiki")
    }

    @Test(arguments: [
        ("POST /wiki", "Sec-Fetch-Site: cross-site", "refused request.cross_site"),
        ("PUT /wiki", "Origin: https://evil.example", "refused request.cross_site"),
        ("DELETE /wiki", "Origin: null", "refused request.cross_site"),
        ("POST /wiki", "Origin: http://gate.example.com", "refused request.cross_site"),
        ("POST /wiki", "Origin: https://gate.example.com", "forwarded to wiki"),
        ("POST /wiki", "Sec-Fetch-Site: same-origin", "forwarded to wiki"),
        ("POST /wiki", "X: y", "forwarded to wiki"), ("POST /wiki", "Sec-Fetch-Site: none", "forwarded to wiki"),
        ("POST /wiki", "Sec-Fetch-Site: same-site", "refused request.cross_site"),
        ("POST /wiki", "Sec-Fetch-Site: same-site\r\nOrigin: https://x.example.com", "refused request.cross_site"),
        ("POST /wiki", "Sec-Fetch-Site: same-site\r\nOrigin: https://gate.example.com", "forwarded to wiki"),
        ("GET /wiki", "Sec-Fetch-Site: cross-site", "forwarded to wiki"),
    ])
    func `another site cannot write with a user's session`(start: String, line: String, verdict: String) async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        #expect(
            gateway.verdict(try gateway.head(start, GatewayFixture.gate, "\(line)\r\n\(cookie(ticket))")) == verdict
        )
    }

    @Test func `a session that has ended is gone from the loop`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let text = Array(issued.ticket.text.utf8)
        let found = CookieKey(text.span)
        let key = try #require(found)
        gateway.loop.sessions.insert(issued.session, for: key, freshFor: .seconds(30), now: .now())
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, cookie(issued.ticket))
        #expect(gateway.verdict(head) == "forwarded to wiki")
        gateway.loop.sessions.removeFamily(issued.session.familyKey)
        #expect(gateway.verdict(head) == "needs session")
    }

    @Test func `the target of a preflight is chosen without its cookie, as the app gets none`() async throws {
        let gateway = try GatewayFixture(more: RuledApps.all())
        let ticket = try await gateway.cachedSession(of: .staff(), on: RuledApps.host)
        let lines = cookie(ticket) + "Origin: \(RuledApps.portal)\r\nAccess-Control-Request-Method: POST\r\n"
        let request = gateway.decided(try gateway.head("OPTIONS /api/hooks/x", RuledApps.host, lines))
        let route = try #require(request.route)
        #expect(gateway.words(request.decide(gateway.loop)) == "forwarded to api unknown")
        #expect(request.sessionKey(in: request.head, gateway.loop) != 0)
        #expect(request.sessionKey(in: request.headForApp(on: route), gateway.loop) == 0)
    }

    @Test(arguments: [(true, "forwarded to wiki"), (false, "sign in for wiki")])
    func `where the session of a user has to go on, the network of the client does not take its place`(
        admitsNetworks: Bool,
        verdict: String
    ) throws {
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "wiki" else { return }
            var rule = PublicRule(method: nil, path: "/wiki/net/")
            rule.networks = [CIDRRange("192.0.2.0/24")].compactMap(\.self)
            app.route.publicRules = [rule]
        })
        let request = gateway.decided(try gateway.head("GET /wiki/net/x"))
        let again = IngressRequest(again: request, on: gateway.loop, admitsNetworks: admitsNetworks)
        again.resume(on: gateway.loop, after: .done)
        #expect(gateway.words(again.decide(gateway.loop)) == verdict)
    }

    @Test(arguments: [("/", 20), ("/admin/x", 26), ("/recent", 40), ("/api", 51)])
    func `the rule that has decided is known, for logs and incidents`(path: String, line: Int) async throws {
        let gateway = try GatewayFixture(serviceTokens: [RuledApps.serviceToken], more: RuledApps.all())
        var ada = Profile.staff()
        ada.authTime = gateway.clock.now
        let ticket = try await gateway.cachedSession(of: ada, on: RuledApps.host)
        let request = gateway.decided(try gateway.head("GET \(path)", RuledApps.host, cookie(ticket)))
        #expect(request.rule == RulePlace(line: line))
    }

    @Test(arguments: [(30, 30), (600, 120)] as [(Int64, Int64)])
    func `the signature of a request is not valid beyond the date that ends the access`(
        end: Int64,
        lifetime: Int64
    ) async throws {
        let now = TestClock().now
        let gateway = try GatewayFixture(app: { app in
            guard app.route.app == "wiki" else { return }
            var entry = AccessEntry()
            entry.request = [.until(now.advanced(by: .seconds(end)))]
            app.route.access = .entries([entry])
            app.identity.signature = .request
        })
        let ticket = try await gateway.cachedSession(of: .staff())
        let request = gateway.request(try gateway.head("GET /wiki", GatewayFixture.gate, cookie(ticket)))
        guard case .forward(_, let identity?) = request.decide(gateway.loop) else {
            Issue.record("not forwarded")
            return
        }
        #expect(String(buffer: identity).contains(";expires=\(now.seconds + lifetime);"))
    }
}
