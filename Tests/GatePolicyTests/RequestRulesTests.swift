// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct RequestRulesTests {
    /// 2026-09-23 14:13:20 UTC, a Wednesday.
    private static let noon = Instant(seconds: 1_790_172_800)

    private func facts(_ method: String = "GET", from client: String? = "10.1.2.3") -> RequestFacts {
        RequestFacts(
            method: method,
            client: client.flatMap { IPAddress($0) },
            time: Self.noon,
            authenticated: Self.noon.advanced(by: .seconds(-600))
        )
    }

    private func decision(_ route: Route, _ path: String, guards: Bool = true) -> Decision {
        route.decision(for: self.facts(), path: Array(path.utf8), profile: .ada, guardsSpellings: guards)
    }

    @Test(arguments: [
        "/admin/users", "/Admin/users", "/ADMIN", "/%61dmin/x", "/admin%2Fusers", "/admin;v=1/users", "/x%2F..%2Fadmin",
        "/%2561dmin/x", "/x%5C..%5Cadmin", "/admin%3Fx",
    ])
    func `no spelling of a denied path is admitted`(path: String) throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.request = [.path([PathPattern("/admin/**")])] }]
        #expect(!self.decision(route, path).isAdmission, "\(path)")
        #expect(self.decision(route, "/administration").isAdmission)
    }

    @Test(arguments: ["/open%2F..%2Fsecret", "/open/%2e%2e%2fsecret", "/open%5C..%5Csecret", "/open%2Fa", "/open;x/a"])
    func `what some server reads as a path outside of an allowed one is not admitted`(path: String) throws {
        let route = try Route.to(.entries([.with { $0.request = [.path([PathPattern("/open/**")])] }]))
        #expect(self.decision(route, "/open/a").isAdmission && self.decision(route, "/open/a%20b;c").isAdmission)
        #expect(!self.decision(route, path).isAdmission)
    }

    @Test func `with exact spelling only the path itself counts`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.request = [.path([PathPattern("/admin/**")])] }]
        #expect(self.decision(route, "/Admin/x", guards: false).isAdmission)
        #expect(self.decision(route, "/Admin/x") == .denied(.ambiguousPath))
    }

    @Test func `letter case matters only where it changes the decision`() throws {
        let route = try Route.to(
            .entries([.with { $0.request = [.path([PathPattern("/Docs/**"), PathPattern("/docs/**")])] }])
        )
        #expect(self.decision(route, "/Docs/a").isAdmission && self.decision(route, "/docs/A").isAdmission)
        #expect(!self.decision(route, "/DOCS/a").isAdmission)
    }

    @Test func `an unknown client satisfies no allow and passes no deny by network`() throws {
        let network = RequestCondition.network([try #require(CIDRRange("10.0.0.0/8"))])
        let allowing = try Route.to(.entries([.with { $0.request = [network] }]))
        var denying = try Route.to(.signedIn)
        denying.denied = [.with { $0.nested = [.not(.with { $0.request = [network] })] }]
        for route in [allowing, denying] {
            #expect(route.decision(for: self.facts(), path: [0x2F], profile: .ada).isAdmission)
            #expect(!route.decision(for: self.facts(from: "192.0.2.1"), path: [0x2F], profile: .ada).isAdmission)
            #expect(!route.decision(for: self.facts(from: nil), path: [0x2F], profile: .ada).isAdmission)
        }
    }

    @Test func `a rule for a recent authentication asks for another one only where that helps`() throws {
        let recent = RequestCondition.authenticated(within: .seconds(300))
        let allowing = try Route.to(.entries([.with { $0.request = [recent] }]))
        var denying = try Route.to(.signedIn)
        denying.denied = [.with { $0.nested = [.not(.with { $0.request = [recent] })] }]
        let needed = Decision.authenticationNeeded(at: RulePlace(line: 7))
        for route in [allowing, denying] {
            #expect(self.decision(route, "/") == needed)
            var facts = self.facts()
            facts.authenticated = Self.noon.advanced(by: .seconds(-300))
            #expect(route.decision(for: facts, path: [0x2F], profile: .ada).isAdmission)
        }
        var other = allowing
        other.access = .entries([
            .with {
                $0.group = "board"
                $0.request = [recent]
            }
        ])
        #expect(self.decision(other, "/") == .denied(.notAllowed))
    }

    private func facts(with scopes: [String]?) -> RequestFacts {
        var facts = self.facts()
        facts.scopes = scopes
        return facts
    }

    private func decision(_ route: Route, with scopes: [String]?) -> Decision {
        route.decision(for: self.facts(with: scopes), path: [0x2F], profile: .ada)
    }

    private func missing(_ route: Route, with scopes: [String]) -> [String] {
        route.missingScopes(for: self.facts(with: scopes), path: [0x2F], profile: .ada)
    }

    // E-11
    @Test func `the scopes without which no token is admitted are those that each entry asks for`() throws {
        let (read, write) = (RequestCondition.scope(["read", "all"]), RequestCondition.scope(["write"]))
        func scopes(_ entries: [[RequestCondition]]) throws -> [String] {
            try Route.to(.entries(entries.map { conditions in .with { $0.request = conditions } }))
                .scopesOfEachAdmission
        }
        #expect(try scopes([]) == [] && scopes([[]]) == [] && scopes([[read], []]) == [])
        #expect(try scopes([[read]]) == ["read"] && scopes([[read, write]]) == ["read", "write"])
        #expect(try scopes([[write], [read]]) == ["write"])
    }

    @Test func `RFC 6749 §3.3: a scope limits a client and not the user's own session`() throws {
        let allowing = try Route.to(.entries([.with { $0.request = [.scope(["write"])] }]))
        var denying = try Route.to(.signedIn)
        denying.denied = [.with { $0.nested = [.not(.with { $0.request = [.scope(["write"])] })] }]
        for route in [allowing, denying] {
            #expect(self.decision(route, with: nil).isAdmission)
            #expect(self.decision(route, with: ["read", "write"]).isAdmission)
            #expect(self.decision(route, with: ["read"]) == .scopesNeeded(at: RulePlace(line: 7)))
            #expect(self.missing(route, with: ["read"]) == ["write"])
            #expect(self.missing(route, with: ["Write"]) == ["write"])
        }
    }

    @Test func `RFC 6750 §3.1: a client is asked for no scope that can be left out`() throws {
        let either = try Route.to(.entries([.with { $0.request = [.scope(["a", "b"])] }]))
        #expect(self.missing(either, with: []) == ["a"])
        let both = try Route.to(
            .entries([
                .with { $0.request = [.scope(["a"]), .scope(["b"])] },
                .with { $0.request = [.scope(["c"]), .scope(["d"]), .scope(["a"])] },
            ])
        )
        #expect(self.missing(both, with: []) == ["a", "b"])
        #expect(self.missing(both, with: ["b"]) == ["a"])
    }

    @Test func `no scope is asked for where it does not help`() throws {
        let other = try Route.to(
            .entries([
                .with {
                    $0.group = "board"
                    $0.request = [.scope(["write"])]
                }
            ])
        )
        #expect(self.decision(other, with: []) == .denied(.notAllowed))
        let method = try Route.to(.entries([.with { $0.request = [.scope(["write"]), .method(["POST"])] }]))
        #expect(self.decision(method, with: []) == .denied(.notAllowed))
    }

    @Test func `where the user has to do something as well, that comes before the scope`() throws {
        let route = try Route.to(.entries([.with { $0.request = [.scope(["write"]), .passkey(within: nil)] }]))
        #expect(self.decision(route, with: []) == .passkeyNeeded(at: RulePlace(line: 7)))
    }

    @Test func `the age to ask for is that of the rules for the path`() throws {
        let route = try Route.to(
            .entries([
                .with { $0.request = [.authenticated(within: .seconds(86_400))] },
                .with { $0.request = [.path([PathPattern("/admin/**")]), .authenticated(within: .seconds(300))] },
            ])
        )
        #expect(RequestRules.maxAuthenticationAge(on: route, path: Array("/x".utf8)) == .seconds(86_400))
        #expect(RequestRules.maxAuthenticationAge(on: route, path: Array("/admin/x".utf8)) == .seconds(300))
        #expect(RequestRules.maxAuthenticationAge(on: try Route.to(.signedIn), path: [0x2F]) == nil)
    }

    /// Days, first and last minute, offset of the zone in hours, and whether Wednesday 14:13 in UTC is in the window.
    private static let windows: [(days: Set<Int>, start: Int, end: Int, offset: Int, result: Bool)] = [
        ([2], 840, 900, 0, true), ([2], 840, 853, 0, false), ([1], 840, 900, 0, false), ([2], 1200, 1439, 6, true),
        // The hours go on after midnight and belong to the day before.
        ([1], 1320, 360, -10, true), ([2], 1320, 360, -10, false), ([3], 0, 60, 10, true), ([2], 0, 1440, 9, true),
        ([2], 0, 1440, 10, false),
    ]

    @Test func `a time is in a window by the hours of its zone`() {
        for one in Self.windows {
            let zone = ZoneOffsets(name: "Test", changes: [.init(from: 0, offset: one.offset * 3600)])
            let window = TimeWindow(days: one.days, start: one.start, end: one.end, zone: zone)
            #expect(window.contains(Self.noon) == one.result, "\(one)")
        }
    }

    @Test func `a zone has the offset of the latest change`() {
        let changes = [ZoneOffsets.Change(from: 1000, offset: 0), .init(from: 2000, offset: 86_400)]
        let zone = ZoneOffsets(name: "Test", changes: changes)
        let thursday = TimeWindow(days: [3], start: 0, end: 1440, zone: zone)
        #expect(thursday.contains(Instant(seconds: 0)) && thursday.contains(Instant(seconds: 1999)))
        #expect(!thursday.contains(Instant(seconds: 2000)))
    }

    @Test func `access begins with the second of its date and ends before that of the other`() throws {
        let (start, end) = (Self.noon, Self.noon.advanced(by: .seconds(10)))
        let route = try Route.to(.entries([.with { $0.request = [.from(start), .until(end)] }]))
        var facts = self.facts()
        for (second, isAdmitted) in [(-1, false), (0, true), (9, true), (10, false), (11, false)] {
            facts.time = start.advanced(by: .seconds(second))
            #expect(route.decision(for: facts, path: [0x2F], profile: .ada).isAdmission == isAdmitted, "\(second)")
        }
    }

    private static func until(_ seconds: Int64) -> RequestCondition {
        .until(Self.noon.advanced(by: .seconds(seconds)))
    }
    private static func from(_ seconds: Int64) -> RequestCondition { .from(Self.noon.advanced(by: .seconds(seconds))) }

    /// Entries of `allow`, of `deny`, and the seconds after which the access ends; 0 for none now, nil for no end.
    private static let periods: [(allow: [AccessEntry], deny: [AccessEntry], end: Int64?)] = [
        ([.with { $0.request = [until(9)] }], [], 9),
        ([.with { $0.request = [until(0)] }], [], 0),
        ([.with { $0.request = [from(1)] }], [], 0),
        ([.with { $0.request = [from(0)] }], [], nil),
        // The latest end of those that admit now, or go on with what another one ends.
        ([.with { $0.request = [until(9)] }, .with { $0.request = [until(5)] }], [], 9),
        ([.with { $0.request = [until(5)] }, .with { $0.request = [from(5), until(8)] }], [], 8),
        ([.with { $0.request = [until(5)] }, .with { $0.request = [from(6), until(8)] }], [], 5),
        ([.with { $0.request = [until(9)] }, .with { $0.email = EmailAddress("ada@example.com") }], [], nil),
        // Those about another user do not count.
        ([.with { $0.request = [until(9)] }, .with { ($0.user, $0.request) = ("other:1", [until(50)]) }], [], 9),
        // What depends on the request may be met.
        ([.with { $0.request = [until(9), .method(["PUT"])] }], [], 9),
        ([.with { $0.request = [until(9)] }, .with { $0.request = [.path([PathPattern("/a")])] }], [], nil),
        // A denial that begins, and one that ends.
        ([.with { $0.email = EmailAddress("ada@example.com") }], [.with { $0.request = [from(7)] }], 7),
        ([.with { $0.email = EmailAddress("ada@example.com") }], [.with { $0.request = [until(7)] }], 0),
        (
            [.with { $0.email = EmailAddress("ada@example.com") }],
            [.with { $0.nested = [.not(.with { $0.request = [until(6)] })] }], 6
        ),
        (
            [.with { $0.nested = [.any([.with { $0.request = [until(3)] }, .with { $0.request = [until(4)] }])] }], [],
            4
        ),
        (
            [.with { $0.nested = [.all([.with { $0.request = [until(3)] }, .with { $0.request = [until(4)] }])] }], [],
            3
        ),
        // Unknown facts about the user neither admit nor pass a denial.
        ([.with { ($0.role, $0.request) = ("r", [until(9)]) }], [], 0),
        ([.with { $0.request = [until(9)] }], [.with { ($0.role, $0.request) = ("r", [from(2)]) }], 2),
    ]

    @Test(arguments: Self.periods.indices)
    func `the access of a user ends when no rule admits any request any more`(index: Int) throws {
        let one = Self.periods[index]
        var route = try Route.to(.entries(one.allow))
        route.denied = one.deny
        let access = route.access(of: .ada, at: Self.noon)
        guard one.end != 0 else { return #expect(access == .denied) }
        #expect(access == .possible(until: one.end.map { Self.noon.advanced(by: .seconds($0)) }))
    }

    @Test(
        arguments: [
            ("/x", [], 9), ("/a/1", [], 50), ("/b", [], nil), ("/x", [.with { $0.request = [from(7)] }], 7),
            ("/a/1", [.with { $0.request = [from(7), .path([PathPattern("/x")])] }], 50),
        ] as [(String, [AccessEntry], Int64?)]
    )
    func `the admission of a request ends when no rule admits that request any more`(
        path: String,
        deny: [AccessEntry],
        end: Int64?
    ) throws {
        let utc = ZoneOffsets(name: "UTC", changes: [.init(from: 0, offset: 0)])
        let minute = Int(Self.noon.seconds % 86_400 / 60)
        var route = try Route.to(
            .entries([
                .with { $0.request = [Self.until(9)] },
                .with { $0.request = [Self.until(50), .path([PathPattern("/a/**")])] },
                // Open for this minute only, which is not a date.
                .with {
                    $0.request = [
                        .path([PathPattern("/b")]),
                        .time(TimeWindow(days: [0, 1, 2, 3, 4, 5, 6], start: minute, end: minute + 1, zone: utc)),
                    ]
                },
            ])
        )
        route.denied = deny
        var facts = self.facts()
        facts.time = Self.noon
        let bytes = Array(path.utf8)
        #expect(route.decision(for: facts, path: bytes, profile: .ada).isAdmission)
        let found = route.admissionEnd(for: facts, path: bytes, profile: .ada, guardsSpellings: true)
        #expect(found == end.map { Self.noon.advanced(by: .seconds($0)) })
    }

    @Test func `without dates in the rules no access ends`() throws {
        #expect(try Route.to(.signedIn).access(of: .ada, at: Self.noon) == .possible(until: nil))
        #expect(try Route.to(.signedIn).access(of: nil, at: Self.noon) == .denied)
        #expect(try !Route.to(.signedIn).hasDates)
        #expect(try Route.to(.entries([.with { $0.nested = [.not(.with { $0.request = [Self.from(1)] })] }])).hasDates)
    }

    @Test func `a preflight is denied by a date only while that holds`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.request = [Self.until(5)] }]
        let path = Array("/x".utf8)
        for (second, isDenied) in [(4, true), (5, false)] {
            let now = Self.noon.advanced(by: .seconds(second))
            let found = route.deniesEveryUser(method: "OPTIONS", path.span, at: now, guardsSpellings: true)
            #expect(found == isDenied, "\(second)")
        }
    }

    @Test func `a public rule for a network admits its clients only, without a session`() throws {
        var rule = PublicRule(method: nil, path: "/metrics")
        rule.networks = [try #require(CIDRRange("10.0.0.0/8"))]
        let route = try Route.to(.signedIn, publicRules: [rule])
        func decision(_ path: String, from client: String?, _ profile: Profile?) -> Decision {
            route.decision(for: self.facts(from: client), path: Array(path.utf8), profile: profile)
        }
        #expect(decision("/metrics", from: "10.9.9.9", nil) == .openToNetwork(at: nil))
        #expect(decision("/metrics", from: "10.9.9.9", .ada) == .admitted(at: nil))
        #expect(decision("/metrics", from: "192.0.2.1", nil) == .signInNeeded)
        #expect(decision("/metrics", from: nil, nil) == .signInNeeded)
        #expect(decision("/other", from: "10.9.9.9", nil) == .signInNeeded)
        #expect(decision("/x%2F..%2Fmetrics", from: "10.9.9.9", nil) == .signInNeeded)
    }

    @Test func `ten rules decide fast enough for each request`() throws {
        let route = try Route.to(
            .entries(
                (0..<10).map { index in
                    .with {
                        $0.request = [
                            .network([CIDRRange("10.\(index).0.0/16")].compactMap(\.self)), .method(["GET"]),
                            .path([PathPattern("/area\(index)/**")]),
                        ]
                    }
                }
            )
        )
        guard case .depends(let rules) = route.userDecision(for: .ada) else {
            Issue.record("the rules depend on the request")
            return
        }
        let path = Array("/area9/page".utf8)
        let facts = self.facts(from: "10.9.2.3")
        var decision = Decision.signInNeeded
        let time = ContinuousClock().measure {
            for _ in 0..<1000 { decision = rules.decision(for: facts, path.span, guardsSpellings: true) }
        }
        #expect(decision.isAdmission)
        // In a build for debugging; the scenario `rules` of `make bench` measures a release.
        #expect(time / 1000 < .milliseconds(1))
    }
}
