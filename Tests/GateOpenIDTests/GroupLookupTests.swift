// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateOpenID

@Suite struct GroupLookupTests {
    private static let teams = "https://api.github.com/user/teams?per_page=100"
    private static let orgs = "https://api.github.com/user/orgs?per_page=100"

    private static func team(_ organization: String, _ slug: String) -> JSON {
        ["slug": .string(slug), "organization": ["login": .string(organization), "id": 1]]
    }

    private static func link(_ page: Int) -> String { "\(Self.teams)&page=\(page)" }

    private func gitHub(_ groups: [String] = ["teams"]) throws -> ProviderFixture {
        var settings = ProviderFixture.settings(.github, id: "github")
        settings.groups = groups
        let fixture = try ProviderFixture(settings)
        fixture.transport.stub(
            "https://github.com/login/oauth/access_token",
            ["access_token": "gho_INVENTED", "scope": "read:org,user:email", "token_type": "bearer"]
        )
        fixture.transport.stub("https://api.github.com/user", ["login": "ada-example", "id": 73_205_511])
        fixture.transport.stub(
            "https://api.github.com/user/emails?per_page=100",
            [["email": "ada@example.org", "primary": true, "verified": true]]
        )
        return fixture
    }

    private func signIn(_ fixture: ProviderFixture, looksUp: Bool = true) async throws -> FoundUser {
        let (_, attempt) = try await fixture.begin()
        return try await fixture.signIn(fixture.callback(attempt), attempt, looksUpGroups: looksUp)
    }

    @Test func `three pages of teams are one list, asked for with the token and the API's own fields`() async throws {
        let fixture = try self.gitHub()
        fixture.transport.stub(
            Self.teams,
            [Self.team("example-org", "platform-eng")],
            fields: ["Link": "<\(Self.link(2))>; rel=\"next\", <\(Self.link(3))>; rel=\"last\""]
        )
        fixture.transport.stub(
            Self.link(2),
            [Self.team("b", "x")],
            fields: ["Link": "<?per_page=100&page=3>; rel=next"]
        )
        fixture.transport.stub(
            Self.link(3),
            [Self.team("a", "y")],
            fields: ["Link": "<\(Self.teams)>; rel=\"first\""]
        )
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["a/y", "b/x", "example-org/platform-eng"])
        #expect(signIn.profile.groupsComplete && signIn.notes.isEmpty && fixture.reports.all.isEmpty)
        #expect(signIn.tokens.scopes == ["read:org", "user:email"])
        let pages = fixture.transport.requests.filter { $0.address.path == "/user/teams" }
        #expect(pages.count == 3)
        for page in pages {
            #expect(page.method == "GET" && page.limit == 262_144 && page.timeout <= .seconds(10))
            #expect(page.headers.contains { $0.name == "Authorization" && $0.value == "Bearer gho_INVENTED" })
            #expect(page.headers.contains { $0.name == "X-GitHub-Api-Version" })
        }
    }

    @Test(
        arguments: [
            ("gate:house", "read:org,user:email", true), ("gate:house", "admin:org", true),
            ("gate:house", "user:email", false), ("gate:house", nil, true), ("Iv23gate", "", true),
        ] as [(String, String?, Bool)]
    )
    func `without the scope GitHub lists what is public, which is not all`(
        clientID: String,
        scope: String?,
        isComplete: Bool
    ) async throws {
        var settings = ProviderFixture.settings(.github, id: "github")
        settings.groups = ["teams"]
        settings.clientID = clientID
        let fixture = try ProviderFixture(settings)
        let response: JSON = ["access_token": "gho_INVENTED", "token_type": "bearer"]
        fixture.transport.stub(
            "https://github.com/login/oauth/access_token",
            response.with(["scope": scope.map(JSON.string)])
        )
        fixture.transport.stub("https://api.github.com/user", ["login": "ada-example", "id": 73_205_511])
        fixture.transport.stub("https://api.github.com/user/emails?per_page=100", [])
        fixture.transport.stub(Self.teams, [Self.team("a", "x")])
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["a/x"] && signIn.profile.groupsComplete == isComplete)
        #expect(signIn.notes.contains { $0.contains("read:org") } != isComplete)
    }

    @Test func `groups that no rule or app needs are not looked up, and then they are unknown`() async throws {
        let fixture = try self.gitHub()
        let signIn = try await self.signIn(fixture, looksUp: false)
        #expect(signIn.profile.groups.isEmpty && !signIn.profile.groupsComplete)
        #expect(fixture.transport.count(Self.teams) == 0)
    }

    @Test func `organizations and teams are joined, and one that fails leaves the other`() async throws {
        let fixture = try self.gitHub(["organizations", "teams"])
        fixture.transport.stub(Self.orgs, [["login": "example-org"], ["login": "second"]])
        fixture.transport.stub(Self.teams, 403, #"{"message":"Resource not accessible by integration"}"#)
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["example-org", "second"] && !signIn.profile.groupsComplete)
        #expect(signIn.notes.count == 1)
        #expect(
            signIn.notes.first?.contains("403") == true
                && signIn.notes.first?.contains("not accessible by integration") == true
        )
        #expect(fixture.reports.all.map(\.code) == ["provider.groups_incomplete"])
    }

    @Test(arguments: [
        "<https://evil.example/user/teams?page=2>; rel=\"next\"", "<http://api.github.com/user/teams?page=2>; rel=next",
        "<https://api.github.com:444/user/teams?page=2>; rel=next", "<//evil.example/user/teams>; rel=next",
        "<https://api.github.com/user/emails>; rel=next", "</user/../admin?x>; rel=next", "<emails?page=2>; rel=next",
        "<https://api.github.com@evil.example/user/teams>; rel=next", "<javascript:alert(1)>; rel=next",
        "<\(teams)>; rel=next", "<\(link(2)); rel=next", "\(link(2)); rel=next", "<>; rel=next",
        "<\(link(2))>; rel=\"next", "<\(link(2))> rel=next", "<\(link(2))>; rel=next; title=\"a\\",
    ])
    func `a next page elsewhere, unreadable or the same again is never called, and the list is incomplete`(
        link: String
    ) async throws {
        let fixture = try self.gitHub()
        fixture.transport.stub(Self.teams, [Self.team("a", "x")], fields: ["Link": link])
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["a/x"] && !signIn.profile.groupsComplete && signIn.notes.count == 1)
        #expect(fixture.transport.requests.last?.address.description == Self.teams)
        #expect(fixture.transport.requests.filter { $0.address.path == "/user/teams" }.count == 1)
    }

    @Test(arguments: [
        (["page=2>; rel=\"prev next\""], true), (["page=2>; title=\"a, b; rel=x\"; rel=next"], true),
        (["page=2>; title=\"\\\"<>,\" ; REL = NEXT"], true), (["page=2>;rel=prev;rel=next"], false),
        (["page=2>; rel=next; anchor=\"#x\""], false), (["page=2>; rel=\"nextish\""], false),
        (["page=2>; rel=prev, ,<\(teams)&page=2>; rel=next"], true), (["page=2>"], false), (["page=2>; rel"], false),
    ])
    func `a Link field is read as RFC 8288 has it`(rest: [String], leads: Bool) {
        let value = "<\(Self.teams)&\(rest[0])"
        let response = ProviderResponse(status: 200, headers: [(name: "Link", value: value)])
        #expect(NextLink.after(response) == (leads ? .at(Self.link(2)) : .none))
    }

    @Test func `a second Link field is read too`() {
        let fields = [(name: "Link", value: "<a>; rel=prev"), (name: "Link", value: "<b>; rel=next")]
        #expect(NextLink.after(ProviderResponse(status: 200, headers: fields)) == .at("b"))
    }

    @Test func `organizations that single sign-on hides are missing, and that is known`() async throws {
        let fixture = try self.gitHub(["organizations"])
        let fields = ["X-GitHub-SSO": "partial-results; organizations=21955855,20582480"]
        fixture.transport.stub(Self.orgs, [["login": "example-org"]], fields: fields)
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["example-org"] && !signIn.profile.groupsComplete)
        #expect(signIn.notes.first?.contains("partial-results") == true)
    }

    @Test(
        arguments: [
            (500, "[]"), (429, "[]"), (302, "[]"), (200, "{}"), (200, "["), (200, "null"),
            (200, #"{"error":{"code":"x","message":"y"}}"#),
        ] as [(Int, String)]
    )
    func `a second page that fails leaves the first, unfinished, and signs the user in`(
        status: Int,
        body: String
    ) async throws {
        let fixture = try self.gitHub()
        fixture.transport.stub(Self.teams, [Self.team("a", "x")], fields: ["Link": "<\(Self.link(2))>; rel=next"])
        fixture.transport.stub(Self.link(2), status, body)
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.subject == "73205511" && signIn.profile.groups == ["a/x"])
        #expect(!signIn.profile.groupsComplete && signIn.notes.count == 1)
        #expect(fixture.reports.all.count == 1)
    }

    @Test(
        arguments: [
            team("example-org/admins", "x"), team("a", "b/c"), ["login": "a"], 1, "a", .null, team("", "x"),
            ["slug": .number("1.5"), "organization": ["login": "a"]], team("a\r\nb", "x"),
        ] as [JSON]
    )
    func `what cannot be a name is left out, above all a slash that would make one team pass as another`(
        element: JSON
    ) async throws {
        let fixture = try self.gitHub()
        fixture.transport.stub(Self.teams, [element, Self.team("a", "x")])
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups == ["a/x"] && !signIn.profile.groupsComplete)
    }

    @Test func `an organization with a slash in its login forges no team`() async throws {
        let fixture = try self.gitHub(["organizations"])
        fixture.transport.stub(Self.orgs, [["login": "example-org/admins"]])
        let signIn = try await self.signIn(fixture)
        #expect(signIn.profile.groups.isEmpty && !signIn.profile.groupsComplete)
    }

    @Test func `fifty pages are read and no more, as are five thousand names`() async throws {
        let endless = try self.gitHub()
        for page in 1...60 {
            let address = page == 1 ? Self.teams : Self.link(page)
            let fields = ["Link": "<\(Self.link(page + 1))>; rel=next"]
            endless.transport.stub(address, [Self.team("a", "t\(page)")], fields: fields)
        }
        let signIn = try await self.signIn(endless)
        #expect(signIn.profile.groups.count == 50 && !signIn.profile.groupsComplete)
        #expect(endless.transport.requests.filter { $0.address.path == "/user/teams" }.count == 50)
        let huge = try self.gitHub(["organizations"])
        huge.transport.stub(Self.orgs, .array((0..<5001).map { ["login": .string("o\($0)")] }))
        let many = try await self.signIn(huge)
        #expect(many.profile.groups.count == 5000 && !many.profile.groupsComplete)
    }

    @Test func `a page over its bound is not read`() async throws {
        let fixture = try self.gitHub()
        let filler = String(repeating: " ", count: 262_144)
        fixture.transport.stub(Self.teams, 200, "[\(filler)]")
        #expect(try await self.signIn(fixture).profile.groupsComplete == false)
    }

    @Test func `all look-ups together have ten seconds`() async throws {
        let fixture = try self.gitHub()
        fixture.transport.stub(Self.teams, [Self.team("a", "x")], fields: ["Link": "<\(Self.link(2))>; rel=next"])
        fixture.transport.stub(Self.link(2), [Self.team("a", "y")])
        let call = ProviderCall(provider: "github", transport: fixture.transport)
        let access = APIAccess(fixture.party.definition, accessToken: "t", secret: Secret(text: "s"))
        var search = GroupResolver(definition: fixture.party.definition, call: call, access: access)
        let asked = Counter()
        search.elapsed = { asked.next() == 1 ? .seconds(7) : .seconds(10) }
        let profile = Profile(provider: "github", issuer: "x", subject: "1")
        let found = await search.found(for: profile, ProviderPayloads(), granted: nil)
        #expect(found?.names == LookedUpNames(["a/x"], isComplete: false))
        #expect(fixture.transport.requests.last?.timeout == .seconds(3))
        #expect(fixture.transport.count(Self.link(2)) == 0)
    }
}
