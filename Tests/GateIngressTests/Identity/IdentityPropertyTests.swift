// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateHeaders
import GatePolicy
import GateSessions
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

/// What an app takes its identity from, and what it has to receive for the session of `Profile.staff()`.
struct IdentityCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The lines beside the standard ones.
    var further: [String: String] = [:]
    /// The names under which the app gets the assertion too.
    var assertions: [String] = []
    /// Names of which the app must see nothing but one line of the gateway, whatever that holds.
    var replaced: Set<String> = []
    var sendsForwarded = false
    var change: @Sendable (inout AppSettings) -> Void = { _ in }

    /// The names for which an app of the case asks.
    var names: [String] { Array(self.further.keys) + self.assertions + self.replaced }

    private static let user = "staff:ada"
    private static let email = "ada@example.org"
    private static let name = "Ada Lovelace"
    private static let groups = "ops,wiki"

    /// Whom a request is from.
    enum Client: Hashable {
        /// A client on a public path.
        case unknown
        /// A client whose network a public rule admits.
        case network
        /// The client of the service token.
        case machine
        /// The user of the session.
        case user
    }

    /// The value in the lines about another client where that of the user is this; nil for no line.
    private static func value(_ value: String, for client: Client) -> String? {
        let google = "accounts.google.com:"
        let prefix = value.hasPrefix(google) ? google : ""
        let fields: [Client: [String: String]] = [
            .network: [user: "anonymous@network"],
            .machine: [user: "token:deploy", "ada": "deploy", groups: "deployers", "staff": "token"],
        ]
        guard let known = fields[client] else { return value }
        return known[String(value.dropFirst(prefix.count))].map { prefix + $0 }
    }

    /// The names and values of the lines about a client.
    func lines(about client: Client) -> [String: String] {
        guard client != .unknown else { return [:] }
        return Self.standard.merging(self.further) { $1 }.compactMapValues { Self.value($0, for: client) }
    }

    /// The lines that every app gets.
    static let standard = [
        "X-Forwarded-User": user, "X-Forwarded-Email": email, "X-Forwarded-Name": name,
        "X-Forwarded-Preferred-Username": "ada", "X-Forwarded-Groups": groups, "X-Forwarded-Provider": "staff",
    ]

    private static func preset(
        _ preset: IdentityPreset,
        _ further: [String: String],
        assertions: [String] = []
    ) -> IdentityCase {
        IdentityCase(testDescription: preset.rawValue, further: further, assertions: assertions) { app in
            app.headers = preset.headers
        }
    }

    static let all = [
        IdentityCase(testDescription: "standard"),
        preset(
            .grafana,
            ["X-WEBAUTH-USER": user, "X-WEBAUTH-EMAIL": email, "X-WEBAUTH-NAME": name, "X-WEBAUTH-GROUPS": groups]
        ),
        preset(.jenkins, ["X-Forwarded-Mail": email, "X-Forwarded-DisplayName": name]),
        preset(.kibana, ["X-Proxy-User": user, "X-Proxy-Roles": groups]),
        preset(
            .pomerium,
            [
                "X-Pomerium-Claim-Email": email, "X-Pomerium-Claim-Name": name, "X-Pomerium-Claim-Groups": groups,
                "X-Pomerium-Claim-User": user,
            ],
            assertions: ["X-Pomerium-Jwt-Assertion"]
        ),
        preset(
            .iap,
            [
                "X-Goog-Authenticated-User-Email": "accounts.google.com:\(email)",
                "X-Goog-Authenticated-User-Id": "accounts.google.com:\(user)",
            ],
            assertions: ["X-Goog-IAP-JWT-Assertion"]
        ),
        preset(.cloudflare, ["Cf-Access-Authenticated-User-Email": email], assertions: ["Cf-Access-Jwt-Assertion"]),
        preset(
            .remoteUser,
            ["Remote-User": user, "Remote-Email": email, "Remote-Name": name, "Remote-Groups": groups]
        ),
        IdentityCase(testDescription: "own names", further: ["Grafana-Login": user, "Caller": email]) { app in
            app.headers = [
                HeaderSetting(name: "Grafana-Login", field: .user), HeaderSetting(name: "Caller", field: .email),
            ]
        },
        IdentityCase(
            testDescription: "signed, with names that have '_'",
            further: ["X-Proxy-User": user],
            replaced: ["Authorization", "Signature", "Signature-Input"],
            sendsForwarded: true
        ) { app in
            app.headers = [HeaderSetting(name: "X-Proxy-User", field: .user)]
            app.identity.signature = .headers
            app.identity.authorization = .basic(username: "gate", password: Secret(Array("word".utf8)))
            app.traffic.strictness.irregularNames = .forward
            app.traffic.stripsPrefix = true
        },
    ]
}

/// Names from which apps take a user, a client or a path.
///
/// Written down here again, so that a name that is removed from the list of the gateway is missed.
private enum ManagedNames {
    /// Beginnings of such names.
    static let families = [
        "x-forwarded-", "x-original-", "x-rewrite-", "x-gatehouse-", "x-envoy-", "x-accel-", "x-auth-request-",
        "x-auth-user", "x-authenticated-", "x-remote-", "remote-", "x-webauth-", "x-authentik-", "x-vouch-",
        "x-pomerium-", "x-goog-", "x-amzn-oidc-", "x-ms-client-principal", "cf-access-", "tailscale-", "ssl-client-",
        "x-ssl-", "x-client-cert", "oidc-", "mellon-", "shib-", "x-consumer-", "teleport-", "impersonate-", "x-proxy-",
        "x-endpoint-api-", "x-appengine-", "x-jwt-", "sm-", "auth-user",
    ]
    /// Such names in full.
    static let single: Set<String> = [
        "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "x-user", "x-email",
        "x-username", "x-user-id", "x-user-email", "x-user-groups", "x-groups", "x-roles", "x-role", "x-scheme",
        "front-end-https", "x-host", "proxy", "forwarded", "x-request-id", "x-script-name", "script-name",
        "path-info", "request-uri", "x-waws-unencoded-url", "host", "proxy-authorization", "x-scope-orgid", "eppn",
        "client-cert", "client-ip",
    ]
    /// What clients send: one name of each family, and all others but `Host`.
    static let sent =
        IdentityCase.standard.keys + [
            "X-Gatehouse-Assertion", "X-Gatehouse-New", "X-Auth-Request-User", "X-Auth-User", "X-Remote-User",
            "Remote-User", "Remote-Groups", "X-WEBAUTH-ROLE", "X-Authentik-Username", "X-Vouch-User",
            "X-Pomerium-Claim-Email", "X-Goog-Authenticated-User-Email", "X-Amzn-Oidc-Data",
            "X-Ms-Client-Principal-Name", "Cf-Access-Jwt-Assertion", "Tailscale-User-Login", "SSL-Client-S-DN",
            "X-SSL-Client-Verify", "X-Client-Cert", "X-Original-URL", "X-Original-URI", "X-Rewrite-Url",
            "X-Envoy-Original-Path", "X-Accel-Redirect", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
            "X-Forwarded-Uri", "X-Forwarded-Prefix", "X-Forwarded-Port", "X-Authenticated-User", "OIDC-CLAIM-email",
            "Mellon-Name", "Shib-Session-Id", "X-Consumer-Username", "Teleport-Jwt-Assertion", "Impersonate-User",
            "X-Proxy-User", "X-Endpoint-API-UserInfo", "X-Appengine-User-Email", "X-JWT-Payload", "SM-User",
            "Auth-User",
        ] + ManagedNames.single.filter { $0 != "host" }
}

/// Whatever bytes a client sends, an app reads no other identity than that of the session, the token, or the network.
///
/// On the main actor, because an embedded event loop belongs to one thread.
@Suite @MainActor struct IdentityPropertyTests {
    /// A gateway whose app `wiki` is one of the cases, and what its requests come with.
    private struct IdentityFixture {
        let gateway: GatewayFixture
        let identity: IdentityCase
        let session: String
        /// The names of the case in lower case.
        private let own: Set<String>

        init(_ identity: IdentityCase) async throws {
            self.identity = identity
            self.own = Set(identity.names.map { $0.lowercased() })
            let change = { (app: inout AppSettings) in
                guard app.route.app == "wiki" else { return }
                identity.change(&app)
                Self.admitOthers(to: &app)
                app.sendsForwarded = identity.sendsForwarded
                // As the configuration does.
                app.traffic.requestHeaders.remove += app.identity.replacedNames
            }
            self.gateway = try GatewayFixture(serviceTokens: [RuledApps.serviceToken], app: change)
            let ticket = try await self.gateway.cachedSession(of: .staff())
            self.session = "__Host-gatehouse=\(ticket.text)"
        }

        /// Admits the service token, and the network of the client below `/wiki/net/`.
        private static func admitOthers(to app: inout AppSettings) {
            app.route.serviceTokens = ["deploy"]
            var deployers = AccessEntry(at: RulePlace(line: 2))
            deployers.group = "deployers"
            app.route.access = .entries(app.route.access.entries + [deployers])
            var rule = PublicRule(method: nil, path: "/wiki/net/")
            rule.networks = [CIDRRange("192.0.2.0/24")].compactMap(\.self)
            app.route.publicRules.append(rule)
        }

        /// Whom a request is from, if it may reach the app.
        private func client(of request: HostileRequest) -> IdentityCase.Client? {
            let isHealth = request.target == "/wiki/healthz" && request.method == "GET"
            if request.target.hasPrefix("/wiki/assets/") || isHealth { return .unknown }
            switch request.authorization {
            case Self.valid: return .machine
            case Self.invalid: return nil
            default: break
            }
            if request.cookie?.hasSuffix(self.session) == true { return .user }
            return request.target.hasPrefix("/wiki/net/") ? .network : nil
        }

        static let valid = "Bearer \(RuledApps.token)"
        static let invalid = "Bearer gth_evil"

        /// The names that only the gateway may set for this app.
        var managed: [String] { (ManagedNames.sent + self.identity.names).sorted() }

        func isManaged(_ folded: String) -> Bool {
            ManagedNames.single.contains(folded)
                || ManagedNames.families.contains { folded.hasPrefix($0) }
                || self.own.contains(folded)
        }

        /// What is wrong with what the app gets for a request, nil if nothing is; and about whom it gets it, nil if it does
        /// not.
        func violation(
            of head: RequestHead?,
            _ request: HostileRequest
        ) -> (text: String?, about: IdentityCase.Client?) {
            guard let head else { return (nil, nil) }
            let decided = self.gateway.request(head)
            guard case .forward(let route, let lines) = decided.decide(self.gateway.loop) else { return (nil, nil) }
            guard let client = self.client(of: request) else {
                return ("it is forwarded without a session", .unknown)
            }
            guard (lines == nil) == (client == .unknown) else { return ("whether it has an identity is wrong", client) }
            let hides = decided.hidesAuthorization(on: route, self.gateway.loop)
            let sent = decided.headForApp(on: route)
            let bytes = Array(self.forwarded(sent, hidesAuthorization: hides, on: route, lines).readableBytesView)
            guard bytes.firstRange(of: Array(RuledApps.token.utf8)) == nil else { return ("it has the token", client) }
            var expected = self.expected(of: lines, about: client)
            expected["Host"] = GatewayFixture.gate
            for server in AppServer.allCases {
                if let text = self.violation(of: bytes, for: server, expected) { return ("\(server): \(text)", client) }
            }
            return (nil, client)
        }

        /// What the app has to read; nil for a value that is the gateway's but not known here.
        private func expected(of lines: ByteBuffer?, about client: IdentityCase.Client) -> [String: String?] {
            var expected: [String: String?] = [
                "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "https", "X-Forwarded-Host": GatewayFixture.gate,
                "X-Request-Id": "the-id",
            ]
            if self.identity.sendsForwarded {
                expected["Forwarded"] = "for=192.0.2.1;host=\"\(GatewayFixture.gate)\";proto=https"
                expected["X-Forwarded-Prefix"] = "/wiki"
            }
            guard let lines else { return expected }
            for (name, value) in self.identity.lines(about: client) { expected[name] = value }
            for name in self.identity.replaced { expected[name] = .some(nil) }
            let assertion = String(buffer: lines).split(separator: "\r\n").first {
                $0.hasPrefix("X-Gatehouse-Assertion: ey")
            }
            for name in self.identity.assertions + ["X-Gatehouse-Assertion"] {
                expected[name] = assertion.map { String($0.dropFirst(23)) } ?? "an assertion"
            }
            return expected
        }

        private func forwarded(
            _ head: RequestHead,
            hidesAuthorization: Bool,
            on route: RuntimeRoute,
            _ identity: ByteBuffer?
        ) -> ByteBuffer {
            let downstream = ForwardedHead.Downstream(
                peer: IPAddress("192.0.2.1"),
                peerText: "192.0.2.1",
                isSecure: true,
                isTrusted: false
            )
            return ForwardedHead.request(
                head,
                authority: route.authority(of: head),
                downstream: downstream,
                sendsForwarded: route.sendsForwarded,
                identity: identity,
                changes: route.requestChanges,
                requestID: .given("the-id"),
                hidesAuthorization: hidesAuthorization,
                into: ByteBuffer()
            )
        }

        private func violation(
            of bytes: [UInt8],
            for server: AppServer,
            _ expected: [String: String?]
        ) -> String? {
            let fields = server.fields(of: bytes)
            var keys: Set<String> = []
            for (name, value) in expected {
                let key = server.key(of: name)
                keys.insert(key)
                guard let found = fields[key], found.count == 1 else { return "\(name) is \(fields[key] ?? [])" }
                guard value == nil || found[0] == value, !found[0].contains("evil"), !found[0].contains("root") else {
                    return "\(name) is \(found[0])"
                }
            }
            if let key = fields.keys.first(where: { !keys.contains($0) && self.isManaged(server.folded($0)) }) {
                return "\(key) is \(fields[key] ?? []) and no line of the gateway"
            }
            // Nothing is shown by a gateway that removes everything.
            return fields[server.key(of: "X-Keep")] == ["kept"] ? nil : "X-Keep is missing"
        }
    }

    @Test(arguments: IdentityCase.all, [false, true])
    func `an app sees exactly the identity of the session, whatever a client sends`(
        identity: IdentityCase,
        isHTTP2: Bool
    ) async throws {
        let fixture = try await IdentityFixture(identity)
        let names = fixture.gateway.runtime.fieldNames
        let check = { (request: HostileRequest) in
            fixture.violation(of: isHTTP2 ? request.parsedFromHTTP2(names) : request.parsed(names), request)
        }
        var forwarded: [IdentityCase.Client: Int] = [:]
        for seed in 0..<UInt64(250) {
            var requests = HostileRequests(
                seed: seed,
                names: fixture.managed,
                loose: Array(identity.replaced).sorted(),
                cookies: [fixture.session, fixture.session, "a=b; \(fixture.session)", nil, "__Host-gatehouse=x"],
                authorizations: [nil, nil, nil, nil, IdentityFixture.valid, IdentityFixture.invalid]
            )
            let request = requests.request(lowerCase: isHTTP2)
            let found = check(request)
            if let client = found.about { forwarded[client, default: 0] += 1 }
            guard found.text != nil else { continue }
            let smallest = Self.shrunk(request) { check($0).text != nil }
            Issue.record("seed \(seed): \(check(smallest).text ?? "") for \(smallest.shown)")
            return
        }
        #expect((forwarded[.user] ?? 0) > 25 && (forwarded[.unknown] ?? 0) > 25, "\(forwarded)")
        #expect((forwarded[.machine] ?? 0) > 8 && (forwarded[.network] ?? 0) > 3, "\(forwarded)")
    }

    /// A request without the fields that make no difference.
    private static func shrunk(_ request: HostileRequest, while isWrong: (HostileRequest) -> Bool) -> HostileRequest {
        var request = request
        while let smaller = request.fields.indices.lazy.map({ request.without($0) }).first(where: isWrong) {
            request = smaller
        }
        return request
    }
}
