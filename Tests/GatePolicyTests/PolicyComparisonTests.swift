// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePolicy

@Suite struct PolicyComparisonTests {
    /// 2026-09-23 14:13:20 UTC, a Wednesday.
    private static let now = Instant(seconds: 1_790_172_800)

    /// An app at its own host with entries that have lines of a file.
    private func app(
        _ name: String = "wiki",
        allow: [(line: Int, change: (inout AccessEntry) -> Void)]? = nil,
        deny: [(line: Int, change: (inout AccessEntry) -> Void)] = [],
        file: String = "old.yaml",
        path: String = "/",
        change: (inout Route) -> Void = { _ in }
    ) throws -> AppRules {
        func entries(_ list: [(line: Int, change: (inout AccessEntry) -> Void)]) -> [AccessEntry] {
            list.map { line, change in
                var entry = AccessEntry(at: RulePlace(file: file, line: line))
                change(&entry)
                return entry
            }
        }
        let host = try #require(Origin(scheme: "https", host: "\(name).example.com"))
        var route = Route(app: name, origin: host, path: path)
        route.providers = ["google", "github"]
        route.access = allow.map { .entries(entries($0)) } ?? .signedIn
        route.denied = entries(deny)
        change(&route)
        return AppRules(route, guardsSpellings: true)
    }

    private func user(_ name: String, _ change: (inout Profile) -> Void = { _ in }) -> Profile {
        var profile = Profile(provider: "google", issuer: "https://accounts.google.com", subject: name)
        profile.authTime = Self.now
        change(&profile)
        return profile
    }

    private func staff(_ count: Int, in group: String = "staff") -> [Profile] {
        (0..<count).map { number in self.user("\(group)-\(number)") { $0.groups = [group] } }
    }

    private func difference(
        _ old: [AppRules],
        _ new: [AppRules],
        _ users: [Profile],
        examples: Int = 2
    ) throws -> PolicyDifference {
        var comparison = PolicyComparison(old: old, new: new, examples: examples, at: Self.now)
        for user in users { _ = comparison.add(user) }
        return try #require(comparison.difference())
    }

    private func only(_ old: AppRules, _ new: AppRules, _ users: [Profile]) throws -> PolicyDifference.App {
        let difference = try self.difference([old], [new], users)
        #expect(difference.apps.count == 1)
        return try #require(difference.apps.first)
    }

    @Test func `a group that is taken from allow costs its members the app, by the lines of both files`() throws {
        let old = try self.app(allow: [(3, { $0.group = "staff" }), (4, { $0.group = "guests" })])
        let new = try self.app(allow: [(7, { $0.group = "staff" })], file: "new.yaml")
        let app = try self.only(old, new, self.staff(3) + self.staff(2, in: "guests"))
        #expect(app.losers == 2 && app.holders == 5 && app.gainers == 0)
        let row = try #require(app.rows.first)
        #expect(app.rows.count == 1 && row.change == .lose && row.users == 2)
        #expect(row.old == Verdict(decision: .admitted(at: place("old.yaml", 4)), place: place("old.yaml", 4)))
        #expect(row.new == Verdict(decision: .denied(.notAllowed), place: place("new.yaml", 7)))
        #expect(row.examples == ["google:guests-0", "google:guests-1"])
    }

    private func place(_ file: String, _ line: Int) -> RulePlace { RulePlace(file: file, line: line) }

    @Test func `a new entry of allow gives access, and one of deny takes it`() throws {
        let old = try self.app(allow: [(3, { $0.group = "staff" })])
        let new = try self.app(
            allow: [(3, { $0.group = "staff" }), (4, { $0.group = "guests" })],
            deny: [(9, { $0.user = "google:staff-1" })]
        )
        let app = try self.only(old, new, self.staff(3) + self.staff(2, in: "guests"))
        #expect(app.losers == 1 && app.gainers == 2)
        #expect(app.rows.map(\.change) == [.lose, .gain] && app.rows.map(\.users) == [1, 2])
        #expect(app.rows[0].examples == ["google:staff-1"])
        #expect(app.rows[0].new.decision == .denied(.denyEntry(at: place("old.yaml", 9))))
    }

    @Test func `rules on other lines are the same rules`() throws {
        let old = try self.app(allow: [(3, { $0.nested = [.any([.with { $0.group = "staff" }])] })])
        let new = try self.app(
            allow: [
                (
                    40,
                    {
                        $0.nested = [
                            .any(
                                [AccessEntry(at: RulePlace(line: 99))].map { entry in
                                    var entry = entry
                                    entry.group = "staff"
                                    return entry
                                }
                            )
                        ]
                    }
                )
            ],
            file: "new.yaml"
        )
        let difference = try self.difference([old], [new], self.staff(3))
        #expect(difference.isEmpty && difference.sameApps == 1)
        #expect(PolicyComparison(old: [old], new: [new], examples: 0, at: Self.now).isTrivial)
    }

    @Test func `rules that are written in another way and decide the same have the same decisions`() throws {
        let old = try self.app(allow: [(3, { $0.group = "staff" })])
        let new = try self.app(allow: [(3, { $0.group = "staff" }), (4, { $0.group = "absent" })])
        #expect(try self.difference([old], [new], self.staff(3)).isEmpty)
    }

    @Test func `a new app and one that is gone are reported, with who gains and loses them`() throws {
        let users = self.staff(3)
        let difference = try self.difference([try self.app("old")], [try self.app("new")], users)
        #expect(difference.apps.map(\.name) == ["old", "new"] && difference.apps.map(\.kind) == [.removed, .added])
        #expect(difference.apps.map(\.losers) == [3, 0] && difference.apps.map(\.gainers) == [0, 3])
        #expect(difference.apps[0].rows[0].new.word == nil && difference.changedUsers == 3)
    }

    @Test func `an app without users is reported when its providers change, or its host`() throws {
        let old = try self.app()
        let fewer = try self.app { $0.providers = ["google"] }
        #expect(try self.only(old, fewer, []).providers?.new == ["google"])
        let origin = try #require(Origin(scheme: "https", host: "docs.example.com"))
        #expect(try self.only(old, try self.app { $0.origins = OriginSet(origin) }, []).isMoved)
    }

    @Test func `a provider that is not accepted any more costs its users the app`() throws {
        let users = [self.user("1"), Profile(provider: "github", issuer: "https://github.com", subject: "2")]
        let app = try self.only(try self.app(), try self.app { $0.providers = ["google"] }, users)
        #expect(app.losers == 1 && app.rows[0].examples == ["github:2"] && app.rows[0].new.decision == .signInNeeded)
    }

    @Test func `a deny about a fact that is unknown takes access`() throws {
        let new = try self.app(deny: [(5, { $0.group = "suspended" })])
        let unknown = self.user("unknown") { $0.groupsComplete = false }
        let app = try self.only(try self.app(), new, [self.user("known"), unknown])
        #expect(app.losers == 1 && app.rows[0].examples == ["google:unknown"])
        #expect(app.rows[0].new.decision == .denied(.unknown(.groups, at: place("old.yaml", 5))))
    }

    @Test func `a group that no session has kept yet counts as lost until the next sign-in`() throws {
        let old = try self.app(allow: [(3, { $0.group = "staff" })])
        let new = try self.app(allow: [(3, { $0.group = "engineers" })])
        let users = self.staff(2).map { user in
            var user = user
            user.groupsRequested = ["staff"]
            return user
        }
        let app = try self.only(old, new, users)
        #expect(app.losers == 2 && app.rows[0].new.decision == .signInNeeded)
    }

    @Test func `a path, a method, a network and a message that a rule names are compared`() throws {
        let network = try #require(CIDRRange("10.0.0.0/8"))
        let cases: [(RequestCondition, String)] = [
            (.path([PathPattern("/admin/**")]), "GET /admin/x"), (.method(["DELETE"]), "DELETE /"),
            (.network([network]), "GET / from 10.0.0.0"), (.mcpTool(["rm"]), "GET / with tools/call rm"),
            (.mcpMethod(["ping"]), "GET / with ping"),
        ]
        for (condition, text) in cases {
            let new = try self.app(deny: [(5, { $0.request = [condition] })])
            let app = try self.only(try self.app(), new, self.staff(4))
            #expect(app.losers == 4 && app.rows[0].request.text == text && app.rows[0].requests == 1, "\(text)")
        }
    }

    @Test func `a path that only two conditions together deny is found`() throws {
        let old = try self.app(allow: [(3, { $0.request = [.path([PathPattern("/docs/*.pdf")])] })])
        let new = try self.app(
            allow: [(3, { $0.request = [.path([PathPattern("/docs/*.pdf")]), .method(["GET"])] })]
        )
        let app = try self.only(old, new, self.staff(1))
        #expect(app.losers == 1 && app.rows[0].request.text == "POST /docs/x.pdf")
    }

    @Test func `the time is compared inside and outside of a window`() throws {
        let zone = ZoneOffsets(name: "UTC", changes: [])
        let office = TimeWindow(days: [0, 1, 2, 3, 4], start: 420, end: 1140, zone: zone)
        let new = try self.app(allow: [(5, { $0.request = [.time(office)] })])
        let app = try self.only(try self.app(), new, self.staff(1))
        #expect(app.losers == 1 && app.rows[0].request.text == "GET / at 2026-09-23T19:00:00Z")
    }

    @Test func `hours are compared after each date, too`() throws {
        let zone = ZoneOffsets(name: "UTC", changes: [])
        let office = TimeWindow(days: [0, 1, 2, 3, 4], start: 420, end: 1140, zone: zone)
        let midnight = try #require(Instant(timestamp: "2027-01-01T00:00:00Z"))
        let old = try self.app(allow: [(5, { $0.request = [.time(office)] })])
        let ends = try self.app(allow: [(5, { $0.request = [.time(office), .until(midnight)] })])
        let lost = try self.only(old, ends, self.staff(1))
        #expect(lost.losers == 1 && lost.rows.map(\.request.text) == ["GET / at 2027-01-01T07:00:00Z"])
        let gained = try self.only(ends, old, self.staff(1))
        #expect(gained.gainers == 1 && gained.rows.map(\.request.text) == ["GET / at 2027-01-01T07:00:00Z"])
    }

    @Test func `dates are compared now and when they come`() throws {
        let end = Instant(seconds: Self.now.seconds + 86_400)
        let new = try self.app(allow: [(5, { $0.request = [.until(end)] })])
        let app = try self.only(try self.app(), new, self.staff(1))
        #expect(app.losers == 1 && app.rows.map(\.request.text) == ["GET / at \(end.timestamp)"])
        let past = try self.app(allow: [(5, { $0.request = [.until(Self.now)] })])
        #expect(try self.only(try self.app(), past, self.staff(1)).rows.map(\.request.text) == ["GET /"])
        let later = try self.app(allow: [(5, { $0.request = [.until(end.advanced(by: .seconds(60)))] })])
        let longer = try self.only(new, later, self.staff(1))
        #expect(longer.gainers == 1 && longer.rows.map(\.request.text) == ["GET / at \(end.timestamp)"])
    }

    @Test func `a rule about the authentication makes users renew theirs, and does not count as a loss`() throws {
        let new = try self.app(allow: [(5, { $0.request = [.authenticated(within: .seconds(3600))] })])
        let old = self.user("old") { $0.authTime = Self.now.advanced(by: .seconds(-7200)) }
        let app = try self.only(try self.app(), new, [self.user("fresh"), old])
        #expect(app.losers == 0 && app.renewals == 1 && app.rows.map(\.change) == [.renew])
        #expect(app.rows[0].examples == ["google:old"])
        let back = try self.only(new, try self.app(), [self.user("fresh"), old])
        #expect(back.gainers == 0 && back.relaxations == 1 && back.rows.map(\.change) == [.relax])
    }

    @Test func `a rule that asks for a passkey is reported when it comes and when it goes`() throws {
        let asking = try self.app(allow: [(5, { $0.request = [.passkey(within: nil)] })])
        let came = try self.only(try self.app(), asking, self.staff(2))
        #expect(came.renewals == 2 && came.losers == 0 && came.rows.map(\.change) == [.renew])
        let went = try self.only(asking, try self.app(), self.staff(2))
        #expect(went.relaxations == 2 && went.gainers == 0 && went.rows.map(\.change) == [.relax])
    }

    @Test func `public rules change access without a session, apart from users`() throws {
        let new = try self.app(allow: []) { $0.publicRules = [PublicRule(method: nil, path: "/open/")] }
        let app = try self.only(try self.app(allow: []), new, [])
        #expect(app.rows.map(\.isAnonymous) == [true] && app.rows[0].change == .gain && app.gainers == 0)
        // Who may only see what is public does not count as a holder: their number would hide a loss.
        let less = try self.app(allow: [(3, { $0.user = "google:other" })]) { $0.publicRules = new.route.publicRules }
        let more = try self.app(allow: [(3, { $0.group = "admins" })]) { $0.publicRules = new.route.publicRules }
        let losing = try self.only(more, less, self.staff(1, in: "admins") + self.staff(99))
        #expect(losing.losers == 1 && losing.holders == 1)
    }

    @Test func `a path of another app is not compared`() throws {
        let condition = RequestCondition.path([PathPattern("/admin/**")])
        let old = [try self.app(), try self.app("wiki", path: "/admin") { $0.app = "admin" }]
        let new = [try self.app(deny: [(5, { $0.request = [condition] })]), old[1]]
        #expect(try self.difference(old, new, self.staff(2)).isEmpty)
    }

    @Test func `too many combinations are reported, and each is still compared alone`() throws {
        let deny: [(line: Int, change: (inout AccessEntry) -> Void)] = (0..<200).map { number in
            (number, { $0.request = [.path([PathPattern("/p\(number)")]), .method(["M\(number % 9)"])] })
        }
        let app = try self.only(try self.app(), try self.app(deny: deny), self.staff(1))
        #expect(app.isPartial && app.losers == 1)
    }

    @Test(arguments: [("5%", 5, 100, false), ("5%", 6, 100, true), ("0.5%", 1, 200, false), ("0%", 1, 1000, true)])
    func `a share is exceeded by more than it`(text: String, part: Int, all: Int, isExceeded: Bool) throws {
        let share = try #require(AccessShare(text))
        #expect(share.isExceeded(by: part, of: all) == isExceeded && "\(share)" == text)
    }

    @Test(arguments: ["", "%", "101%", "5.%", "-1%", "1e1", "5.123%", "٥%", "100.01%", "1.2.3"])
    func `what is not a share is rejected`(text: String) {
        #expect(AccessShare(text) == nil)
    }

    @Test func `the apps with the largest loss above a share come first`() throws {
        let users = self.staff(20)
        let all = try ["a", "b", "c"].map { try self.app($0) }
        let denied = { (count: Int) in
            (0..<count).map { number -> (line: Int, change: (inout AccessEntry) -> Void) in
                (number + 1, { $0.user = "google:staff-\(number)" })
            }
        }
        let new = [
            try self.app("a", deny: denied(1)), try self.app("b", deny: denied(2)), try self.app("c", deny: denied(9)),
        ]
        let difference = try self.difference(all, new, users)
        #expect(difference.losses(above: try #require(AccessShare("5%"))).map(\.name) == ["c", "b"])
    }

    @Test func `users with the same facts are one class, whatever their names`() throws {
        let entries = try self.app(allow: [(3, { $0.group = "staff" }), (4, { $0.emailDomain = "example.com" })])
            .entries
        var classes = UserClasses(for: entries, examples: 1, at: Self.now)
        for number in 0..<1000 {
            classes.add(
                self.user("\(number)") {
                    $0.email = "user\(number)@example.com"
                    $0.emailVerified = true
                    $0.groups = number % 2 == 0 ? ["staff", "team-\(number)"] : ["team-\(number)"]
                }
            )
        }
        #expect(classes.classes.count == 2 && classes.count == 1000)
        #expect(classes.partition(for: entries).counts.filter { $0 > 0 }.sorted() == [500, 500])
    }
}
