// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import Testing

@testable import GateIngress
@testable import GateRuntime

/// Paths that some server reads as another app's, or as one that is not public.
@Suite struct SpellingCheckTests {
    private func gateway(
        _ name: String = "wiki",
        _ change: @escaping (inout AppSettings) -> Void
    ) throws -> GatewayFixture {
        try GatewayFixture(app: { app in if app.route.app == name { change(&app) } })
    }

    @Test(arguments: [
        "/wiki/assets/..%2Fsecret", "/wiki/assets/a%2Fq%5C..%5C..%5Cok%2F..%2Freal", "/wiki/assets/x%2F%2F..%2Fy",
        "/wiki/assets/a;%2Fb%2Fc/..%2F..%2Fsecret", "/wiki/assets/..%3B/secret", "/;/wiki/assets/a",
        "/wiki/assets/%2525252561",
        "/wiki/assets/a%2500b", "/wiki/healthz%2F", "/wiki%2Fassets/a",
    ])
    func `X-11 a public path is public in every reading or rejected`(path: String) throws {
        let verdict = try GatewayFixture().verdict(try GatewayFixture().head("GET \(path)"))
        #expect(
            ["refused path.ambiguous", "refused path.parameter", "sign in for wiki"].contains(verdict),
            "\(verdict)"
        )
    }

    @Test(arguments: [
        "/wiki/assets/a%20b", "/wiki/assets/a%2Fb", "/wiki/assets/100%25", "/wiki/assets/a;v=1", "/wiki/assets/%C3%BC",
    ])
    func `Y-02 a public path whose readings are all public is forwarded`(path: String) throws {
        let gateway = try GatewayFixture()
        #expect(gateway.verdict(try gateway.head("GET \(path)")) == "forwarded to wiki unknown")
    }

    @Test(arguments: [
        ("/wiki", "/WIKI/x"), ("/wiki", "/Wiki"), ("/Wiki", "/wiki/x"), ("/b%C3%BCro", "/B%C3%9CRO/x"),
        ("/b%C3%BCro", "/x/..%2Fb%C3%BCro/y"), ("/b%C3%BCro", "/b%25C3%25BCro/y"), ("/key", "/%E2%84%AAey/x"),
        ("/wiki", "/wiki%3Fx/y"), ("/wiki", "/wiki%2523"), ("/wiki", "/%2Fhost/wiki/x"),
    ])
    func `X-02 another spelling of an app's path does not reach the app around it`(own: String, path: String) throws {
        let gateway = try self.gateway { $0.route.path = own }
        #expect(gateway.verdict(try gateway.head("GET \(path)")) == "refused path.ambiguous")
        let exact = try self.gateway {
            $0.route.path = own
            $0.traffic.strictness.pathSpelling = .exact
        }
        let verdict = exact.verdict(try exact.head("GET \(path)"))
        #expect(verdict == (path.contains("..") ? "refused path.ambiguous" : "sign in for front"))
    }

    @Test(arguments: ["/sp%20ace", "/b%C3%BCro", "/100%25", "/a:b"])
    func `X-02 an app at a path with escapes is reached by that path`(own: String) throws {
        let gateway = try self.gateway {
            $0.route.path = own
            $0.route.publicRules = [.init(method: nil, path: "\(own)/my%20files/")]
        }
        #expect(gateway.verdict(try gateway.head("GET \(own)/x")) == "sign in for wiki")
        #expect(gateway.verdict(try gateway.head("GET \(own)/my%20files/a%20b")) == "forwarded to wiki unknown")
        #expect(gateway.verdict(try gateway.head("GET \(own)%2Fmy%20files/a")) == "refused path.ambiguous")
    }

    @Test func `X-02 a path leads nowhere but below the app, also where it has the host to itself`() throws {
        let gateway = try self.gateway("shop") { $0.route.path = "/app" }
        for path in ["/app/..%2Fother", "/app/%252e%252e/other", "/app%5C..%5Cother"] {
            let verdict = gateway.verdict(try gateway.head("GET \(path)", "shop.example.com"))
            #expect(verdict == "refused path.ambiguous" || verdict == "refused route.none", "\(verdict)")
        }
        #expect(gateway.verdict(try gateway.head("GET /app/a%2Fb", "shop.example.com")) == "sign in for shop")
    }

    @Test(arguments: [
        ("/wiki/b", true), ("https://gate.example.com/wiki/a%20b", true), ("HTTP://elsewhere/wiki/b/", true),
        ("/wiki/b?x", false), ("/wiki/a b", false), ("/wiki/.\t./b", false), ("/ops//../wiki/b", false),
        ("http://h\\ops\\b/wiki/y", false), ("http:///wiki/y", false), ("http://h?x/wiki/y", false),
        ("http://h#/wiki/y", false),
        ("/wiki/ü", false), ("/wiki/./b", false),
        ("/", false), ("https://gate.example.com", false), ("/WIKI/b", false), ("/wiki/..%2Fb", false),
        ("/wiki/../b", false), ("//wiki/b", false), ("wiki/b", false), ("b", false), ("", false),
        ("ftp://gate.example.com/wiki/b", false), ("/wiki%2Fb", false), ("/oauth2/sign_in", false),
    ])
    func `Y-04 COPY and MOVE lead nowhere but to the same app`(destination: String, may: Bool) async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        let lines = "Destination: \(destination)\r\n"
        let isName = ["", "b"].contains(destination)
        for method in ["COPY", "MOVE", "move", "BCOPY", "POST"] {
            let verdict = gateway.verdict(
                try gateway.head("\(method) /wiki/a", GatewayFixture.gate, cookie(ticket) + lines)
            )
            let passes = may || isName && !["COPY", "MOVE"].contains(method)
            #expect(verdict == (passes ? "forwarded to wiki" : "refused path.destination"), "\(method)")
        }
        for method in ["COPY", "MOVE"] {
            let verdict = gateway.verdict(
                try gateway.head("\(method) /wiki/assets/a", GatewayFixture.gate, cookie(ticket) + lines)
            )
            #expect(verdict == "refused path.destination")
        }
    }

    @Test(arguments: [
        ("/wiki/acs/", true), ("/wiki/acs/a%20b", true), ("/wiki/delete", false), ("/wiki/acs/..%2Fdelete", false),
        ("/wiki/acs/%3B/..%2Fdelete", false), ("/wiki/acs%2Fx", false),
    ])
    func `Y-08 an origin may write to its path in every reading, and to no other`(path: String, may: Bool) async throws
    {
        let portal = try #require(WebURL("https://idp.example.com")).origin
        let gateway = try self.gateway {
            $0.traffic.strictness.origins = [WriteOrigin(origin: portal, path: "/wiki/acs/")]
        }
        let ticket = try await gateway.cachedSession(of: .staff())
        let lines = "Origin: https://idp.example.com\r\nSec-Fetch-Site: cross-site\r\n"
        let verdict = gateway.verdict(try gateway.head("POST \(path)", GatewayFixture.gate, cookie(ticket) + lines))
        #expect((verdict == "forwarded to wiki") == may, "\(verdict)")
    }
}
