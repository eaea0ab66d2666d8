// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePolicy

/// Generates rules, users and requests that often have to do with each other.
private struct Generator {
    private var state: UInt64

    init(seed: UInt64) {
        self.state = seed
    }

    mutating func number(_ limit: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(self.state >> 33) % limit
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[self.number(elements.count)] }

    mutating func chance(_ one: Int) -> Bool { self.number(one) == 0 }

    mutating func profile() -> Profile {
        var profile = Profile(provider: self.pick(["google", "github"]), issuer: "https://id.example", subject: "1")
        if !self.chance(3) { profile.email = self.pick(["a@x.example", "b@x.example", "a@y.example"]) }
        profile.emailVerified = !self.chance(3)
        profile.emailAuthoritative = self.chance(2)
        profile.groups = ["g", "h"].filter { _ in self.chance(2) }
        profile.groupsComplete = !self.chance(3)
        if self.chance(4) { profile.groupsRequested = ["g"] }
        profile.roles = ["r"].filter { _ in self.chance(2) }
        profile.rolesComplete = !self.chance(4)
        if self.chance(2) { profile.tenant = self.pick(["t", "u"]) }
        return profile
    }

    mutating func request() -> (facts: RequestFacts, path: String) {
        let client = self.chance(4) ? nil : IPAddress(self.pick(["10.1.2.3", "192.0.2.7"]))
        let time = Instant(seconds: 1_790_000_000 + Int64(self.number(7 * 86_400)))
        let authenticated = self.chance(4) ? nil : Instant(seconds: time.seconds - Int64(self.number(7200)))
        let message = self.pick([
            nil, .stream, MCPMessage(method: "ping"), MCPMessage(method: "tools/call", tool: "rm"),
        ])
        var facts = RequestFacts(
            method: self.pick(["GET", "POST"]),
            client: client,
            time: time,
            authenticated: authenticated
        )
        facts.message = message
        facts.passkeyUsed = self.chance(2) ? nil : Instant(seconds: time.seconds - Int64(self.number(7200)))
        facts.scopes = self.pick([nil, [], ["r"], ["r", "w"]])
        facts.certificate = self.pick([nil, .of("CN=a,O=x"), .of("CN=b,O=y")])
        return (
            facts,
            self.pick(["/", "/a", "/a/b", "/admin", "/admin/x", "/admin/x/y"])
        )
    }

    /// For every certificate, and for the names of one authority.
    private static let certificateConditions: [CertificateCondition] = {
        var condition = CertificateCondition()
        condition.subjects = CertificateName("O=x").map { [.init(name: $0, isBase: true)] } ?? []
        return [CertificateCondition(), condition]
    }()

    mutating func condition() -> RequestCondition {
        switch self.number(12) {
        case 0: .network([CIDRRange("10.0.0.0/8")].compactMap(\.self))
        case 1: .method([self.pick(["GET", "POST"])])
        case 2: .path([PathPattern(self.pick(["/a", "/a/", "/admin/**", "/*/x", "/**/b"]))])
        case 3:
            .time(
                TimeWindow(
                    days: [0, 1, 2, 3],
                    start: self.pick([0, 600, 1300]),
                    end: 900,
                    zone: ZoneOffsets(name: "UTC", changes: [])
                )
            )
        case 4: .mcpMethod([self.pick(["ping", "initialize"])])
        case 5: .mcpTool([self.pick(["rm", "dd"])])
        case 6: .passkey(within: self.pick([nil, .seconds(3600)]))
        case 10: .certificate(self.pick(Self.certificateConditions))
        case 7: .scope(self.pick([["r"], ["w"], ["w", "x"]]))
        case 8: .from(Instant(seconds: 1_790_000_000 + Int64(self.number(7 * 86_400))))
        case 9: .until(Instant(seconds: 1_790_000_000 + Int64(self.number(7 * 86_400))))
        default: .authenticated(within: .seconds(3600))
        }
    }

    mutating func entry(line: Int, depth: Int = 0) -> AccessEntry {
        var entry = AccessEntry(at: RulePlace(line: line))
        if self.chance(3) { entry.provider = self.pick(["google", "github"]) }
        if self.chance(6) { entry.user = "google:1" }
        if self.chance(4) { entry.emailDomain = self.pick(["x.example", "y.example"]) }
        if self.chance(6) { entry.email = EmailAddress("a@x.example") }
        if self.chance(4) { entry.group = self.pick(["g", "h"]) }
        if self.chance(6) { entry.role = "r" }
        if self.chance(6) { entry.tenant = "t" }
        if self.chance(8) { entry.organization = self.pick(["t", "g", "h", "g/h"]) }
        if self.chance(2) { entry.authorities = ["google"] }
        if self.chance(2) { entry.rolesFrom = ["google"] }
        if self.chance(2) { entry.tenantsFrom = ["google"] }
        if self.chance(2) { entry.organizationsFrom = ["github"] }
        if self.chance(2) { entry.mayHaveTenant = ["google", "github"] }
        if self.chance(2) { entry.request.append(self.condition()) }
        if depth < 3, self.chance(3) {
            let inner = (0...self.number(2)).map { _ in self.entry(line: line, depth: depth + 1) }
            entry.nested.append(self.pick([.not(inner[0]), .any(inner), .all(inner)]))
        }
        return entry
    }

    mutating func route() throws -> Route {
        var route = try Route.to(.signedIn)
        route.providers = self.chance(5) ? ["google"] : ["google", "github"]
        if !self.chance(4) { route.access = .entries((0..<self.number(4)).map { self.entry(line: $0 + 1) }) }
        route.denied = (0..<self.number(3)).map { self.entry(line: $0 + 100) }
        return route
    }
}

/// The rules as their definition has them: every entry is looked at for every request, with all that is known.
private struct Definition {
    let profile: Profile
    let request: RequestFacts
    let path: String

    /// Kleene: no before unknown before yes, of unknown facts the first.
    func all(_ results: [MatchResult]) -> MatchResult {
        if results.contains(.no) { return .no }
        let unknown = results.compactMap { result -> UnknownFact? in
            guard case .unknown(let fact) = result else { return nil }
            return fact
        }
        return unknown.min().map(MatchResult.unknown) ?? .yes
    }

    func opposite(_ result: MatchResult) -> MatchResult {
        switch result {
        case .yes: .no
        case .no: .yes
        case .unknown: result
        }
    }

    func match(_ entry: AccessEntry) -> MatchResult {
        var results = entry.request.map { $0.match(self.request, Array(self.path.utf8).span, as: .canonical) }
        for nested in entry.nested {
            switch nested {
            case .not(let inner): results.append(self.opposite(self.match(inner)))
            case .all(let inner): results.append(self.all(inner.map(self.match)))
            case .any(let inner):
                results.append(self.opposite(self.all(inner.map(self.match).map(self.opposite))))
            }
        }
        return self.all([entry.match(self.profile)] + results)
    }

    func decision(of route: Route) -> Decision {
        guard route.providers.contains(self.profile.provider) else { return .signInNeeded }
        for entry in route.denied {
            switch self.match(entry) {
            case .yes, .unknown(.emailAuthority): return .denied(.denyEntry(at: entry.place))
            case .unknown(.keptGroups): return .signInNeeded
            case .unknown(let fact): return .denied(.unknown(fact, at: entry.place))
            case .no: continue
            }
        }
        guard case .entries(let entries) = route.access else { return .admitted(at: nil) }
        let results = entries.map(self.match)
        if let index = results.firstIndex(of: .yes) { return .admitted(at: entries[index].place) }
        if results.contains(.unknown(.keptGroups)) { return .signInNeeded }
        let unproven = results.firstIndex(of: .unknown(.emailAuthority))
        if let unproven { return .denied(.emailNotAuthoritative(at: entries[unproven].place)) }
        let uncertified = results.firstIndex(of: .unknown(.certificate))
        return .denied(uncertified.map { .certificateNeeded(at: entries[$0].place) } ?? .notAllowed)
    }

    /// The decision, with all scopes, a passkey, a new authentication or several of them where that would admit the user.
    func renewableDecision(of route: Route) -> Decision {
        let decision = self.decision(of: route)
        guard case .denied = decision else { return decision }
        var renewed = self.request
        renewed.scopes = nil
        let wider = Definition(profile: self.profile, request: renewed, path: self.path)
        if case .admitted(let place) = wider.decision(of: route) {
            return .scopesNeeded(at: decision.place ?? place)
        }
        for (usesPasskey, authenticates) in [(true, false), (false, true), (true, true)] {
            var renewed = wider.request
            if usesPasskey { renewed.passkeyUsed = self.request.time }
            if authenticates { renewed.authenticated = self.request.time }
            let later = Definition(profile: self.profile, request: renewed, path: self.path).decision(of: route)
            guard case .admitted(let place) = later else { continue }
            let rule = decision.place ?? place
            return authenticates ? .authenticationNeeded(at: rule) : .passkeyNeeded(at: rule)
        }
        return decision
    }
}

@Suite struct RuleAlgebraTests {
    @Test func `what is decided for a user and then for a request equals the definition`() throws {
        var generator = Generator(seed: 7)
        var kinds: [String: Int] = [:]
        for _ in 0..<32_000 {
            let route = try generator.route()
            let profile = generator.profile()
            let (facts, path) = generator.request()
            let expected = Definition(profile: profile, request: facts, path: path).renewableDecision(of: route)
            let decision = route.decision(for: facts, path: Array(path.utf8), profile: profile, guardsSpellings: false)
            try #require(decision == expected, "\(route) \(profile) \(facts) \(path)")
            if case .scopesNeeded = decision {
                let names = route.missingScopes(for: facts, path: Array(path.utf8), profile: profile)
                func isAdmitted(_ names: [String]) -> Bool {
                    var wider = facts
                    wider.scopes = (facts.scopes ?? []) + names
                    return Definition(profile: profile, request: wider, path: path).decision(of: route).isAdmission
                }
                try #require(isAdmitted(names) && !names.isEmpty, "\(names) \(route) \(facts)")
            }
            kinds[String("\(decision)".prefix { $0 != "(" }), default: 0] += 1
            if case .depends = route.userDecision(for: profile) { kinds["depends", default: 0] += 1 }
        }
        // The generator reaches every kind of decision.
        let all = [
            "admitted", "denied", "signInNeeded", "authenticationNeeded", "passkeyNeeded", "scopesNeeded", "depends",
        ]
        for kind in all {
            #expect(kinds[kind, default: 0] > 100, "\(kinds)")
        }
    }

    @Test func `a deny that matches wins over every allow`() throws {
        var generator = Generator(seed: 11)
        for _ in 0..<2000 {
            var route = try generator.route()
            let profile = generator.profile()
            let (facts, path) = generator.request()
            var everyone = AccessEntry(at: RulePlace(line: 900))
            everyone.nested = [.any([.with { $0.provider = "google" }, .with { $0.provider = "github" }])]
            route.denied.append(everyone)
            let decision = route.decision(for: facts, path: Array(path.utf8), profile: profile)
            #expect(!decision.isAdmission)
        }
    }

    @Test func `less knowledge admits no request that more knowledge denies`() throws {
        var generator = Generator(seed: 13)
        for _ in 0..<4000 {
            let route = try generator.route()
            var profile = generator.profile()
            var (facts, path) = generator.request()
            profile.groupsRequested = nil
            let known = route.decision(for: facts, path: Array(path.utf8), profile: profile)
            profile.emailVerified = false
            profile.groupsComplete = false
            profile.rolesComplete = false
            (facts.client, facts.authenticated) = (nil, nil)
            let unknown = route.decision(for: facts, path: Array(path.utf8), profile: profile)
            if unknown.isAdmission { #expect(known.isAdmission) }
        }
    }

    @Test func `users who are compared together gain and lose what each of them alone does`() throws {
        var generator = Generator(seed: 17)
        let now = Instant(seconds: 1_790_000_000)
        func counts(_ apps: [PolicyDifference.App]) -> [Int] {
            apps.reduce(into: [0, 0, 0, 0]) { counts, app in
                counts[0] += app.losers
                counts[1] += app.gainers
                counts[2] += app.renewals
                counts[3] += app.rows.isEmpty ? 0 : app.holders
            }
        }
        var seen = [0, 0, 0, 0]
        for _ in 0..<60 {
            let (old, new) = (try generator.route(), try generator.route())
            let users = (0..<25).map { _ in
                var profile = generator.profile()
                profile.subject = generator.pick(["1", "2"])
                if generator.chance(2) { profile.authTime = now.advanced(by: .seconds(-generator.number(7200))) }
                return profile
            }
            func apps(_ users: [Profile]) throws -> [PolicyDifference.App] {
                let rules = [old, new].map { AppRules($0, guardsSpellings: true) }
                var comparison = PolicyComparison(old: [rules[0]], new: [rules[1]], examples: 1, at: now)
                for user in users { _ = comparison.add(user) }
                return try #require(comparison.difference()).apps
            }
            let together = try apps(users)
            // An app without any change is not reported, and neither are its holders.
            let alone = try users.map { counts(try apps([$0])) }
            let sums = (0..<3).map { column in alone.reduce(0) { $0 + $1[column] } }
            #expect(Array(counts(together).prefix(3)) == sums, "\(old) \(new)")
            seen = zip(seen, counts(together)).map { $0 + $1 }
        }
        #expect(seen.allSatisfy { $0 > 2 }, "\(seen)")
    }

    @Test(arguments: UnknownFact.allCases)
    func `the opposite of what is unknown is unknown`(fact: UnknownFact) {
        let unknown = MatchResult.unknown(fact)
        #expect(unknown.negated == unknown)
        #expect(unknown.and(.no) == .no && unknown.and(.yes) == unknown)
        #expect(unknown.or(.yes) == .yes && unknown.or(.no) == unknown)
    }

    @Test func `an app without conditions on requests is decided once for a user`() throws {
        var route = try Route.to(.entries([.with { $0.group = "staff" }]))
        route.denied = [.with { $0.emailDomain = "evil.example" }]
        #expect(route.userDecision(for: .ada) == .final(.admitted(at: RulePlace(line: 7))))
        // An entry that cannot match the user leaves nothing to decide.
        route.denied.append(
            .with {
                $0.group = "guests"
                $0.request = [.method(["POST"])]
            }
        )
        #expect(route.userDecision(for: .ada) == .final(.admitted(at: RulePlace(line: 7))))
    }
}
