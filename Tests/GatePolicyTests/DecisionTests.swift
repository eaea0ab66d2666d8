// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePolicy
import Testing

@Suite struct DecisionTests {
    private let staff = AccessRule.entries([.with { $0.group = "staff" }])

    @Test func `a stranger is asked to sign in, not turned away`() throws {
        #expect(try Route.to(self.staff).decision(method: "GET", path: "/", person: nil) == .signInNeeded)
        #expect(try Route.to(.signedIn).decision(method: "GET", path: "/", person: nil) == .signInNeeded)
    }

    @Test func `who fits enters and who does not is refused`() throws {
        let route = try Route.to(self.staff)
        #expect(route.decision(method: "GET", path: "/", person: .ada) == .admitted(Admission(line: 7)))
        var other = Profile.ada
        other.groups = ["guests"]
        #expect(route.decision(method: "GET", path: "/", person: other) == .refused(.notAllowed))
    }

    @Test func `a session of a provider that the app does not accept leads to a sign-in and never to a refusal`() throws
    {
        var person = Profile.ada
        person.provider = "github"
        for access in [self.staff, .signedIn, .entries([])] {
            #expect(try Route.to(access).decision(method: "GET", path: "/", person: person) == .signInNeeded)
        }
    }

    @Test func `the claims of the moment count`() throws {
        let route = try Route.to(self.staff)
        var person = Profile.ada
        #expect(route.decision(method: "GET", path: "/", person: person) == .admitted(Admission(line: 7)))
        person.groups = []
        #expect(route.decision(method: "GET", path: "/", person: person) == .refused(.notAllowed))
        person.groups = ["staff"]
        #expect(route.decision(method: "GET", path: "/", person: person) == .admitted(Admission(line: 7)))
    }

    @Test func `who is denied does not enter whatever else fits`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "staff" }]
        #expect(route.decision(about: .ada) == .refused(.denied(line: 7)))
        var other = Profile.ada
        other.groups = ["guests"]
        #expect(route.decision(about: other) == .admitted(Admission(line: nil)))
    }

    @Test func `who may be in a denied group does not enter`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "contractors" }]
        var person = Profile.ada
        #expect(route.decision(about: person) == .admitted(Admission(line: nil)))
        person.groupsComplete = false
        #expect(route.decision(about: person) == .refused(.unknown(.groups, line: 7)))
    }

    @Test func `who hides the address that a deny entry asks for does not enter`() throws {
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.emailDomain = "evil.example" }]
        var person = Profile.ada
        #expect(route.decision(about: person) == .admitted(Admission(line: nil)))
        person.emailVerified = false
        #expect(route.decision(about: person) == .refused(.unknown(.email, line: 7)))
    }

    @Test func `a group that was not kept when the session began leads to a new sign-in`() throws {
        var person = Profile.ada
        person.groupsRequested = ["staff"]
        var route = try Route.to(.signedIn)
        route.denied = [.with { $0.group = "contractors" }]
        #expect(route.decision(about: person) == .signInNeeded)
        #expect(try Route.to(.entries([.with { $0.group = "board" }])).decision(about: person) == .signInNeeded)
        person.groupsRequested = ["staff", "contractors", "board"]
        #expect(route.decision(about: person) == .admitted(Admission(line: nil)))
        let board = try Route.to(.entries([.with { $0.group = "board" }]))
        #expect(board.decision(about: person) == .refused(.notAllowed))
    }

    @Test func `a new route admits nobody`() throws {
        let origin = try #require(Origin(scheme: "https", host: "a.example"))
        var route = Route(app: "a", origin: origin, path: "/")
        #expect(route.decision(method: "GET", path: "/", person: .ada) == .signInNeeded)
        route.providers = ["google"]
        #expect(route.decision(method: "GET", path: "/", person: .ada) == .refused(.notAllowed))
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
    func `only what a public rule names is open`(method: String, path: String, isOpen: Bool) throws {
        let rules = [PublicRule(method: "GET", path: "/healthz"), PublicRule(method: nil, path: "/assets/")]
        let route = try Route.to(self.staff, publicRules: rules)
        let expected = isOpen ? Decision.openToAll : .signInNeeded
        #expect(route.decision(method: method, path: path, person: nil) == expected)
    }

    @Test func `a public path asks nobody who they are`() throws {
        let route = try Route.to(.entries([]), publicRules: [PublicRule(method: nil, path: "/")])
        #expect(route.decision(method: "GET", path: "/x", person: .ada) == .openToAll)
    }

    @Test(arguments: [("/", "https://wiki.example.com"), ("/docs", "https://wiki.example.com/docs")])
    func `the audience is the app's address`(path: String, audience: String) throws {
        var route = try Route.to(.signedIn)
        route.path = path
        #expect(route.audience == audience)
    }
}
