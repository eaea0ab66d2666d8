// SPDX-License-Identifier: Apache-2.0

import GateAccounts
import GateClients
import GateConfiguration
import GateCore
import GateFixtures
import GateHTTP
import GateHeaders
import GateOperations
import GateSessions
import GateTestSupport
import GateWire
import HTTPTypes
import Testing

@testable import GateEndpoints

@testable import GateRuntime

private let gate = "https://gate.example.com"
private let script = "Accept: */*\r\n"

/// which requests reach an endpoint, and what all responses have in common.
@Suite struct EndpointTableTests {
    private func request(_ start: String, _ host: String, _ gateway: GatewayFixture) throws -> EndpointRequest {
        EndpointRequest(
            try gateway.head(start, host),
            body: [],
            downstream: ForwardedHead.Downstream(peer: nil, peerText: "", isSecure: true, isTrusted: false),
            runtime: gateway.runtime,
            now: gateway.clock.now
        )
    }

    @Test(arguments: EndpointPath.allCases)
    func `each path has a row`(path: EndpointPath) {
        #expect(Endpoint.all[path] != nil)
    }

    @Test func `names follow the endpoints of providers, and pictures`() {
        let providers: Set<EndpointPath> = [
            .start, .callback, .password, .accountLink, .recover, .join, .backChannelLogout, .frontChannelLogout,
        ]
        for endpoint in Endpoint.all.values {
            #expect((endpoint.suffix == .provider) == providers.contains(endpoint.path), "\(endpoint.path)")
            #expect((endpoint.suffix == .picture) == (endpoint.path == .pictures), "\(endpoint.path)")
        }
    }

    @Test func `what changes something takes no GET alone`() throws {
        for path in [
            EndpointPath.token, .register, .introspect, .revoke, .pushedRequests, .deviceAuthorization, .password,
        ] {
            let methods = try #require(Endpoint.all[path]).methods
            #expect(!methods.contains(.get) && methods.contains(.post), "\(path)")
        }
        for path in [EndpointPath.password, .callback, .signOut, .account, .credentials, .passkeys, .connected] {
            let methods = try #require(Endpoint.all[path]).methods
            #expect(!methods.contains(.options), "\(path): no page of another origin asks for it")
        }
    }

    @Test(arguments: EndpointPath.allCases.filter { $0 != .auth })
    func `RFC 9110 §15.5.6: another method is 405, with those that the endpoint takes`(path: EndpointPath) async throws
    {
        let fixture = try ClientFixture()
        let endpoint = try #require(Endpoint.all[path])
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
        where !endpoint.methods.contains(where: { $0.rawValue == method }) {
            let name = endpoint.suffix == .provider ? "\(path.rawValue)/staff" : path.rawValue
            let response = try await fixture.browser.open("\(gate)/oauth2/\(name)", method: method, script)
            #expect(response.status == 405 && response.code == "endpoint.method", "\(method)")
            #expect(response.head.headerFields[.allow] == endpoint.methods.map(\.rawValue).joined(separator: ", "))
        }
    }

    @Test(arguments: EndpointPath.allCases.filter { Endpoint.all[$0]?.suffix == .nothing && $0 != .auth })
    func `no name follows an endpoint that takes none`(path: EndpointPath) async throws {
        let fixture = try ClientFixture()
        for rest in ["/staff", "/x/y"] {
            let method = try #require(Endpoint.all[path]).methods.contains(.get) ? "GET" : "POST"
            let response = try await fixture.browser.open(
                "\(gate)/oauth2/\(path.rawValue)\(rest)",
                method: method,
                script
            )
            #expect(response.status == 404 && response.code == "endpoint.none", "\(rest)")
        }
    }

    @Test func `userinfo of sessions takes no POST and no preflight, that of clients does`() async throws {
        let plain = Browser(try GatewayFixture())
        for method in ["POST", "OPTIONS"] {
            #expect(try await plain.open("\(gate)/oauth2/userinfo", method: method, script).status == 405)
        }
        let fixture = try ClientFixture()
        #expect(try await fixture.browser.open("\(gate)/oauth2/userinfo", method: "POST", script).status == 401)
        #expect(try await fixture.browser.open("\(gate)/oauth2/userinfo", method: "OPTIONS", script).status == 204)
    }

    @Test(arguments: [
        "token", "introspect", "revoke", "par", "device_authorization", "register", "token-keys.json",
    ])
    func `what clients call is on the gateway's host, where there are clients`(name: String) async throws {
        let method = name == "token-keys.json" ? "GET" : "POST"
        var open = OpenClients()
        open.dynamic = true
        let fixture = try ClientFixture(open: open)
        let elsewhere = try await fixture.browser.open(
            "https://shop.example.com/oauth2/\(name)",
            method: method,
            script
        )
        #expect(elsewhere.status == 404 && elsewhere.code == "endpoint.none")
        let none = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/\(name)", method: method, script)
        #expect(none.status == 404 && none.code == "endpoint.none")
        #expect(try await fixture.browser.open("\(gate)/oauth2/\(name)", method: method, script).status != 404)
    }

    @Test func `clients register themselves only where that is on`() async throws {
        let response = try await ClientFixture().browser.open("\(gate)/oauth2/register", method: "POST", script)
        #expect(response.status == 404 && response.code == "endpoint.none")
    }

    @Test(arguments: [
        "token", "register", "introspect", "revoke", "par", "device_authorization", "userinfo", "token-keys.json",
    ])
    func `a preflight gets the methods, and nothing else`(name: String) async throws {
        let endpoint = try #require(EndpointPath(rawValue: name).flatMap { Endpoint.all[$0] })
        let response = try await ClientFixture().browser.open("\(gate)/oauth2/\(name)", method: "OPTIONS", script)
        let fields = response.head.headerFields
        #expect(response.status == 204 && response.body.isEmpty && fields[.accessControlAllowOrigin] == "*")
        #expect(fields[.accessControlAllowMethods] == endpoint.methods.map(\.rawValue).joined(separator: ", "))
        #expect(fields[.accessControlAllowHeaders] == "Authorization, Content-Type, DPoP")
        #expect(fields[.accessControlMaxAge] == "7200")
    }

    @Test func `RFC 9110 §15.5.2: a 401 has a challenge, for tokens where userinfo takes them`() async throws {
        let plain = try await Browser(try GatewayFixture()).open("\(gate)/oauth2/userinfo", script)
        #expect(plain.status == 401 && plain.head.headerFields[.wwwAuthenticate] == "Cookie realm=\"gatehouse\"")
        let fixture = try ClientFixture()
        let info = try await fixture.browser.open("\(gate)/oauth2/userinfo", script)
        #expect(info.status == 401 && info.head.headerFields[.wwwAuthenticate] == "Bearer realm=\"gatehouse\"")
        let apps = try await fixture.browser.open("\(gate)/oauth2/apps", script)
        #expect(apps.status == 401 && apps.head.headerFields[.wwwAuthenticate] == "Cookie realm=\"gatehouse\"")
        let none = try await fixture.browser.open("\(gate)/oauth2/none", script)
        #expect(none.status == 404 && none.head.headerFields[.wwwAuthenticate] == nil)
    }

    @Test func `userinfo of a session has what is known of the user, and nothing else`() async throws {
        let gateway = try GatewayFixture()
        let browser = Browser(gateway)
        let time = gateway.clock.now.seconds - 5
        let claims = Browser.ada.merging(["auth_time": .int(time), "locale": "en"]) { $1 }
        try await browser.open(try await browser.begin("staff", as: claims))
        let response = try await browser.open("\(gate)/oauth2/userinfo")
        #expect(response.head.headerFields[.cacheControl] == "no-store")
        #expect(response.head.headerFields[.accessControlAllowOrigin] == nil)
        #expect(response.json["user"] == "staff:ada" && response.json["auth_time"] == .int(time))
        #expect(response.json["email_verified"] == true && response.json["locale"] == "en")
        #expect(response.json["picture"] == nil && response.json["tenant"] == nil)
        #expect(response.json["issuer"] == "https://id.staff.example")
    }

    @Test func `RFC 8615: documents below well-known are for pages of any origin, with GET and HEAD`() async throws {
        let fixture = try ClientFixture()
        let address = "\(gate)/.well-known/openid-configuration"
        let response = try await fixture.browser.open(address, script)
        #expect(response.status == 200 && response.json["issuer"] == .string(gate))
        let fields = response.head.headerFields
        #expect(fields[.contentType] == "application/json" && fields[.cacheControl] == "public, max-age=300")
        #expect(fields[.accessControlAllowOrigin] == "*" && fields[.xContentTypeOptions] == "nosniff")
        #expect(try await fixture.browser.open(address, method: "HEAD", script).status == 200)
        let preflight = try await fixture.browser.open(address, method: "OPTIONS", script)
        #expect(
            preflight.status == 204 && preflight.head.headerFields[.accessControlAllowMethods] == "GET, HEAD, OPTIONS"
        )
        let post = try await fixture.browser.open(address, method: "POST", script)
        #expect(post.status == 405 && post.head.headerFields[.allow] == "GET, HEAD, OPTIONS")
    }

    @Test func `only what needs no store and no provider is served at once`() throws {
        let fixture = try ClientFixture(features: [.accounts, .sessionAPI])
        let endpoints = Endpoints(runtime: fixture.gateway.runtime)
        func isImmediate(_ path: String) throws -> Bool {
            endpoints.isImmediate(try self.request("GET \(path)", GatewayFixture.gate, fixture.gateway))
        }
        for path in [
            "sign_in", "return", "auth", "jwks.json", "token-keys.json", "style.css", "passkey.js", "icon.svg",
            "pictures/x", "none",
        ] {
            #expect(try isImmediate("/oauth2/\(path)"), "\(path)")
        }
        #expect(try isImmediate("/.well-known/openid-configuration"))
        for path in [
            "start/staff", "callback/staff", "password/local", "userinfo", "account", "apps", "token", "authorize",
            "handover",
            "sign_out", "backchannel-logout/staff",
        ] {
            #expect(try !isImmediate("/oauth2/\(path)"), "\(path)")
        }
        #expect(try !isImmediate("/api/session/me"))
    }

    @Test func `keys, style, script, icon and pictures`() async throws {
        let fixture = try ClientFixture()
        let keys = try await fixture.browser.open("\(gate)/oauth2/token-keys.json")
        #expect(keys.head.headerFields[.contentType] == "application/jwk-set+json")
        #expect(keys.head.headerFields[.cacheControl] == "public, max-age=60" && keys.head.headerFields[.eTag] != nil)
        #expect(keys.head.headerFields[.accessControlAllowOrigin] == "*")
        let own = try await fixture.browser.open("\(gate)/oauth2/jwks.json")
        #expect(own.body != keys.body && own.head.headerFields[.eTag] != keys.head.headerFields[.eTag])
        for (name, type) in [
            ("style.css", "text/css; charset=utf-8"), ("passkey.js", "text/javascript; charset=utf-8"),
            ("icon.svg", "image/svg+xml"),
        ] {
            let response = try await fixture.browser.open("\(gate)/oauth2/\(name)")
            #expect(response.status == 200 && response.head.headerFields[.contentType] == type)
        }
        for name in ["none.png", "", "../x"] {
            #expect(try await fixture.browser.open("\(gate)/oauth2/pictures/\(name)", script).status >= 400)
        }
    }

    @Test(arguments: [
        ("start/staff", true), ("callback/staff", true), ("start/none", false), ("sign_in/staff", false),
    ])
    func `the log names the provider of a sign-in that failed, if it is one of the file`(
        path: String,
        isNamed: Bool
    ) async throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        gateway.runtime.services.signIns.close(true)
        _ = try await Browser(gateway).open("\(gate)/oauth2/\(path)", script)
        let line = try #require(lines.all.last { $0.message == "refused" })
        #expect((line.values["provider"] == "staff") == isNamed)
    }

    // MARK: Limits

    /// What counts as a step of a sign-in.
    private static let limited = [
        ("GET", "callback/staff?code=c&state=s"), ("POST", "password/local"), ("GET", "link/local?token=x"),
        ("GET", "recover/local"), ("GET", "join/local"), ("GET", "connected"),
    ]

    @Test(arguments: limited)
    func `a network whose sign-ins fail too often waits at each step`(method: String, path: String) async throws {
        let gateway = try self.gateway()
        let client = IPAddress("192.0.2.1")
        let limits = gateway.runtime.limits.signIns
        for _ in 0..<limits.failuresPerMinute {
            _ = try gateway.runtime.services.signIns.attempt(by: client, within: limits)
        }
        let browser = Browser(gateway)
        browser.client = client
        let response = try await browser.open("\(gate)/oauth2/\(path)", method: method, script)
        #expect(response.status == 429 && response.code == "signin.failing")
        browser.client = IPAddress("198.51.100.1")
        #expect(try await browser.open("\(gate)/oauth2/\(path)", method: method, script).status != 429)
    }

    @Test(arguments: limited + [("GET", "start/staff")])
    func `while too many sign-ins are in progress each step waits, and takes no place`(
        method: String,
        path: String
    ) async throws {
        let gateway = try self.gateway()
        let signIns = gateway.runtime.services.signIns
        let limits = gateway.runtime.limits.signIns
        for _ in 0..<limits.inFlight { try signIns.acquire(within: limits) }
        let browser = Browser(gateway)
        browser.client = IPAddress("192.0.2.1")
        for _ in 0...limits.failuresPerMinute {
            let response = try await browser.open("\(gate)/oauth2/\(path)", method: method, script)
            #expect(response.status == 503 && response.code == "signin.too_many")
            #expect(response.head.headerFields[.retryAfter] != nil)
        }
        #expect(signIns.count == limits.inFlight)
        signIns.release()
        #expect(try await browser.open("\(gate)/oauth2/\(path)", method: method, script).status != 503)
        #expect(signIns.count == limits.inFlight - 1)
    }

    private func gateway() throws -> GatewayFixture {
        let start = ContinuousClock.now
        return try GatewayFixture(
            signIns: SignInLimiter { start },
            features: [.accounts, .passkeys, .connections, .mail, .registration]
        )
    }
}
