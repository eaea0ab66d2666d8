// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateProviders
import GateTestSupport

/// Apps whose decisions depend on the request, and a service token.
///
/// On `rules.example.com` are `/`, with conditions on user, method, path, network and time, `/recent`, which needs a recent
/// authentication, and `/api`, which accepts the token and pages of a portal.
enum RuledApps {
    static let host = "rules.example.com"
    /// A page of this origin may write to `/api/hooks/`.
    static let portal = "https://\(portalHost)"
    private static let portalHost = "portal.example.com"
    static let token = "gth_of-a-test"
    /// Clients, of which the rules know the network of the first.
    static let clients = ["198.51.100.7", "203.0.113.9"]

    /// The token, whose user is in the group `deployers`.
    static var serviceToken: ServiceTokenSettings {
        var settings = ServiceTokenSettings(name: "deploy", hash: ServiceToken.hash(of: self.token))
        settings.groups = ["deployers"]
        return settings
    }

    private static func entry(_ line: Int, _ change: (inout AccessEntry) -> Void) -> AccessEntry {
        var entry = AccessEntry(at: RulePlace(line: line))
        change(&entry)
        return entry
    }

    /// Around the time of a ``TestClock``, 08:00 in UTC on a Friday.
    private static func window(_ start: Int, _ end: Int) -> RequestCondition {
        let zone = ZoneOffsets(name: "UTC", changes: [.init(from: 0, offset: 0)])
        return .time(TimeWindow(days: [4], start: start, end: end, zone: zone))
    }

    private static func network(_ text: String) -> RequestCondition { .network([CIDRRange(text)].compactMap(\.self)) }

    private static func path(_ text: String) -> RequestCondition { .path([PathPattern(text)]) }

    static func all() throws -> [AppSettings] { [try self.ruled(), try self.recent(), try self.api()] }

    private static func ruled() throws -> AppSettings {
        var app = try GatewayFixture.app("ruled", self.host, "/", ["staff", "guests"])
        app.route.access = .entries([
            self.entry(20) {
                $0.emailDomain = "example.org"
                $0.request = [.method(["GET", "HEAD", "POST", "MOVE"])]
            },
            self.entry(21) {
                $0.provider = "guests"
                $0.request = [self.path("/open/**"), self.network("198.51.100.0/24")]
            },
            self.entry(22) {
                $0.provider = "guests"
                $0.request = [self.path("/far/**"), self.network("10.0.0.0/8")]
            },
            self.entry(23) {
                $0.group = "wiki"
                $0.nested = [.any([self.entry(24) { $0.request = [self.path("/day/**"), self.window(420, 540)] }])]
            },
            self.entry(25) {
                $0.group = "wiki"
                $0.request = [self.path("/night/**"), self.window(0, 420)]
            },
        ])
        app.route.denied = [
            self.entry(26) {
                $0.request = [self.path("/admin/**")]
                $0.nested = [.not(self.entry(27) { $0.user = "staff:root" })]
            },
            self.entry(28) {
                $0.request = [.method(["DELETE"])]
                $0.nested = [.any([self.entry(29) { $0.group = "ops" }, self.entry(30) { $0.provider = "guests" }])]
            },
        ]
        app.route.publicRules = [PublicRule(method: "GET", path: "/assets/")]
        return app
    }

    private static func recent() throws -> AppSettings {
        var app = try GatewayFixture.app("recent", self.host, "/recent", ["staff", "guests"])
        app.route.access = .entries([
            self.entry(40) {
                $0.provider = "staff"
                $0.request = [.authenticated(within: .seconds(900))]
            }
        ])
        return app
    }

    private static func api() throws -> AppSettings {
        var app = try GatewayFixture.app("api", self.host, "/api", ["staff", "guests"])
        app.route.serviceTokens = ["deploy"]
        app.takesBasic = true
        app.route.access = .entries([
            self.entry(50) { $0.group = "deployers" }, self.entry(51) { $0.emailDomain = "example.org" },
        ])
        app.route.denied = [self.entry(52) { $0.request = [self.path("/api/admin/**")] }]
        let origins = [Origin(scheme: "https", host: self.portalHost)].compactMap(\.self)
        app.traffic.strictness.origins = origins.map { WriteOrigin(origin: $0, path: "/api/hooks/") }
        return app
    }
}
