// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct DecisionTests {
    private let staff = AccessRule.entries([.with { $0.group = "staff" }])

    @Test func `a user without a session must sign in`() throws {
        #expect(try Route.to(self.staff).decision(method: "GET", path: "/", profile: nil) == .signInNeeded)
        #expect(try Route.to(.signedIn).decision(method: "GET", path: "/", profile: nil) == .signInNeeded)
    }

    @Test func `a user who matches is admitted, another is denied`() throws {
        let route = try Route.to(self.staff)
        #expect(route.decision(method: "GET", path: "/", profile: .ada) == .admitted(at: RulePlace(line: 7)))
        var other = Profile.ada
        other.groups = ["guests"]
        #expect(route.decision(method: "GET", path: "/", profile: other) == .denied(.notAllowed))
    }

    @Test func `a session of a provider that the app does not accept leads to a sign-in, never to a denial`() throws {
        var profile = Profile.ada
        profile.provider = "github"
        for access in [self.staff, .signedIn, .entries([])] {
            #expect(try Route.to(access).decision(method: "GET", path: "/", profile: profile) == .signInNeeded)
        }
    }

    @Test func `the current claims decide`() throws {
        let route = try Route.to(self.staff)
        var profile = Profile.ada
        #expect(route.decision(method: "GET", path: "/", profile: profile) == .admitted(at: RulePlace(line: 7)))
        profile.groups = []
        #expect(route.decision(method: "GET", path: "/", profile: profile) == .denied(.notAllowed))
        profile.groups = ["staff"]
        #expect(route.decision(method: "GET", path: "/", profile: profile) == .admitted(at: RulePlace(line: 7)))
    }

    @Test func `a deny entry overrides allow`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "staff" }]
        #expect(route.decision(for: .ada) == .denied(.denyEntry(at: RulePlace(line: 7))))
        var other = Profile.ada
        other.groups = ["guests"]
        #expect(route.decision(for: other) == .admitted(at: nil))
    }

    @Test func `a user who may be in a denied group is denied`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "contractors" }]
        var profile = Profile.ada
        #expect(route.decision(for: profile) == .admitted(at: nil))
        profile.groupsComplete = false
        #expect(route.decision(for: profile) == .denied(.unknown(.groups, at: RulePlace(line: 7))))
    }

    @Test func `a user who withholds the email address of a deny entry is denied`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.emailDomain = "evil.example" }]
        var profile = Profile.ada
        #expect(route.decision(for: profile) == .admitted(at: nil))
        profile.emailVerified = false
        #expect(route.decision(for: profile) == .denied(.unknown(.email, at: RulePlace(line: 7))))
    }

    @Test func `a group that was not kept at the sign-in leads to a new sign-in`() throws {
        var profile = Profile.ada
        profile.groupsRequested = ["staff"]
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "contractors" }]
        #expect(route.decision(for: profile) == .signInNeeded)
        #expect(try Route.to(.entries([.with { $0.group = "board" }])).decision(for: profile) == .signInNeeded)
        profile.groupsRequested = ["staff", "contractors", "board"]
        #expect(route.decision(for: profile) == .admitted(at: nil))
        let board = try Route.to(.entries([.with { $0.group = "board" }]))
        #expect(board.decision(for: profile) == .denied(.notAllowed))
    }

    @Test func `a new route admits no user`() throws {
        let origin = try #require(Origin(scheme: "https", host: "a.example"))
        var route = Route(app: "a", origin: origin, path: "/")
        #expect(route.decision(method: "GET", path: "/", profile: .ada) == .signInNeeded)
        route.providers = ["google"]
        #expect(route.decision(method: "GET", path: "/", profile: .ada) == .denied(.notAllowed))
    }

    @Test(arguments: [
        ("GET", "/healthz", true), ("POST", "/healthz", false), ("get", "/healthz", false), ("GET", "/healthz/", false),
        ("GET", "/healthz/x", false), ("GET", "/healthzz", false), ("GET", "/assets/", true),
        ("PUT", "/assets/a/b", true),
        ("GET", "/assets", false), ("GET", "/assetsx/", false), ("GET", "/Assets/a", false),
        ("GET", "/x/assets/", false),
        ("GET", "/secret?x=/assets/", false), ("GET", "/secret%23/assets/", false), ("GET", "/healthz%23", false),
        ("GET", "/", false), ("GET", "", false),
    ])
    func `only requests that a public rule covers are open`(method: String, path: String, isOpen: Bool) throws {
        let rules = [PublicRule(method: "GET", path: "/healthz"), PublicRule(method: nil, path: "/assets/")]
        let route = try Route.to(self.staff, publicRules: rules)
        let expected = isOpen ? Decision.openToAll : .signInNeeded
        #expect(route.decision(method: method, path: path, profile: nil) == expected)
    }

    @Test func `a public path needs no user`() throws {
        let route = try Route.to(.entries([]), publicRules: [PublicRule(method: nil, path: "/")])
        #expect(route.decision(method: "GET", path: "/x", profile: .ada) == .openToAll)
    }

    @Test(arguments: [("/", "https://wiki.example.com"), ("/docs", "https://wiki.example.com/docs")])
    func `the audience is the app's URL`(path: String, audience: String) throws {
        var route = try Route.to(.signedIn)
        route.path = path
        #expect(route.audience == audience)
    }
}
