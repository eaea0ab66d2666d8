// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

/// What is looked up at a provider, and which calls of its API are made.
@Suite struct LookupTests {
    private static let transitive =
        "member_key_id == '{email}' && 'cloudidentity.googleapis.com/groups.discussion_forum' in labels"

    @Test func `GitHub lists organizations and teams page by page, and reports what it leaves out`() throws {
        var gitHub = settings(.github)
        gitHub.groups = ["organizations", "teams"]
        let definition = try ProviderDefinition(gitHub)
        #expect(
            definition.lookups.map(\.address.description) == [
                "https://api.github.com/user/orgs", "https://api.github.com/user/teams",
            ]
        )
        #expect(definition.lookups.map(\.name) == [["/login"], ["/organization/login", "/slug"]])
        for lookup in definition.lookups {
            #expect(
                lookup.query == [Form.Field("per_page", "100")] && lookup.paging == .link && lookup.elements.isEmpty
            )
            #expect(lookup.partialMark == Form.Field("x-github-sso", "partial-results"))
            #expect(lookup.occasion == .always && lookup.body == nil && !lookup.namesEmail)
        }
        #expect(definition.scopes == ["user:email", "read:org"])
        gitHub.baseURL = WebURL("https://git.example.com")
        #expect(
            try ProviderDefinition(gitHub).lookups.first?.address.description
                == "https://git.example.com/api/v3/user/orgs"
        )
    }

    @Test(
        arguments: [
            (nil, "Iv1.0123", []), (nil, "Iv23abc", []), (nil, "0123456789abcdef0123", ["user:email", "read:org"]),
            (true, "0123456789abcdef0123", []), (false, "Iv1.0123", ["user:email", "read:org"]),
        ] as [(Bool?, String, [String])]
    )
    func `a GitHub App is sent no scopes`(isApp: Bool?, clientID: String, scopes: [String]) throws {
        var gitHub = settings(.github)
        gitHub.clientID = clientID
        gitHub.isGitHubApp = isApp
        gitHub.groups = ["organizations"]
        #expect(try ProviderDefinition(gitHub).scopes == scopes)
    }

    @Test(arguments: [("direct", "searchDirectGroups"), ("transitive", "searchTransitiveGroups")])
    func `Google asks Cloud Identity for the groups of an address`(kind: String, search: String) throws {
        var google = settings(.google)
        google.groups = [kind]
        let definition = try ProviderDefinition(google)
        let lookup = try #require(definition.lookups.first)
        #expect(
            lookup.address.description == "https://cloudidentity.googleapis.com/v1/groups/-/memberships:\(search)"
        )
        #expect(lookup.query == [Form.Field("query", Self.transitive)] && lookup.namesEmail)
        #expect(lookup.paging == .token(member: "nextPageToken", parameter: "pageToken"))
        #expect(lookup.elements == "/memberships" && lookup.name == ["/groupKey/id"])
        #expect(definition.scopes.last == "https://www.googleapis.com/auth/cloud-identity.groups.readonly")
    }

    @Test func `Microsoft's groups are looked up at Graph's URL, and only if the token does not list them`() throws {
        var microsoft = settings(.microsoft)
        #expect(try ProviderDefinition(microsoft).lookups.isEmpty)
        microsoft.groups = ["graph"]
        let definition = try ProviderDefinition(microsoft)
        let lookup = try #require(definition.lookups.first)
        #expect(lookup.address.description == "https://graph.microsoft.com/v1.0/me/getMemberObjects")
        #expect(lookup.body == #"{"securityEnabledOnly":false}"# && lookup.occasion == .unlisted)
        #expect(lookup.paging == .address(member: "@odata.nextLink") && lookup.elements == "/value")
        #expect(definition.scopes.contains("User.Read"))
    }

    @Test func `an overage is resolved by the look-up alone, and only if it came to its end`() throws {
        var microsoft = settings(.microsoft)
        microsoft.groups = ["graph"]
        let definition = try ProviderDefinition(microsoft)
        let overage = Payloads.microsoft.with(["groups": nil, "_claim_names": ["groups": "src1"]])
        for (lookedUp, groups, isComplete) in [
            (nil, [], false), (LookedUpNames(["b", "a"], isComplete: true), ["a", "b"], true),
            (LookedUpNames(["a"], isComplete: false), ["a"], false),
        ] as [(LookedUpNames?, [String], Bool)] {
            var payloads = ProviderPayloads(idToken: overage)
            payloads.lookedUp = lookedUp
            let profile = try definition.profile(from: payloads).profile
            #expect(profile.groups == groups && profile.groupsComplete == isComplete)
        }
        var both = ProviderPayloads(idToken: overage.with(["groups": ["from-token"]]))
        both.lookedUp = LookedUpNames(["from-graph"], isComplete: true)
        #expect(try !definition.profile(from: both).profile.groupsComplete)
    }

    @Test func `groups that have a constant as their source are not looked up`() throws {
        var gitHub = settings(.github)
        gitHub.groups = ["teams"]
        gitHub.profile = ["groups": ["const:x"]]
        #expect(try ProviderDefinition(gitHub).lookups.isEmpty)
    }

    @Test func `a look-up that was not made leaves groups unknown`() throws {
        var gitHub = settings(.github)
        gitHub.groups = ["teams"]
        let payloads = ProviderPayloads(api: ["/user": Payloads.gitHubUser])
        #expect(try !ProviderDefinition(gitHub).profile(from: payloads).profile.groupsComplete)
    }

    @Test func `Graph is asked only for what the tokens do not have`() throws {
        var microsoft = settings(.microsoft)
        microsoft.scopes = ["openid", "profile", "email", "User.Read"]
        let definition = try ProviderDefinition(microsoft)
        let thin = Payloads.microsoft.with(["name": nil, "email": nil, "xms_edov": nil])
        #expect(definition.wantedCalls(for: ProviderPayloads(idToken: thin), made: []).map(\.path) == ["/v1.0/me"])
        #expect(definition.wantedCalls(for: ProviderPayloads(idToken: thin), made: ["/v1.0/me"]).isEmpty)
        let full = Payloads.microsoft.with(["given_name": "A", "family_name": "E", "xms_pl": "de"])
        #expect(definition.wantedCalls(for: ProviderPayloads(idToken: full), made: []).isEmpty)
        let payloads = ProviderPayloads(idToken: thin, api: ["/v1.0/me": Payloads.microsoftGraph])
        let profile = try definition.profile(from: payloads).profile
        #expect(profile.name == "Ada Graph" && profile.givenName == "Ada" && profile.familyName == "Graph")
        #expect(profile.locale == "en-US" && profile.email == "ada@graph.example")
        #expect(!profile.emailVerified && !profile.emailAuthoritative)
        #expect(profile.subject == "8eae0000-2b34-4da1-9baa-8bc8c9d6a490:00000000-1111-2222-3333-444455556666")
    }

    @Test(
        arguments: [
            ("name", .string("Ada"), false), ("name", .string(""), true), ("name", .object([:]), true),
            ("name", .string("a\r\nb"), true), ("name", .bool(true), true), ("name", .null, true),
            ("email", .string("no address"), false), ("email_verified", .bool(false), false),
            ("email_verified", .string("perhaps"), true), ("locale", .object(["language": "de"]), false),
            ("locale", .string("?"), true), ("auth_time", .number("1790000000"), false),
            ("auth_time", .string("yesterday"), true), ("groups", .array([]), false), ("groups", .null, true),
            ("roles", .string("admin"), false), ("tenant", .number("7"), false),
        ] as [(String, JSON, Bool)]
    )
    func `a later source is called only when those before it have no value`(
        field: String,
        value: JSON,
        isCalled: Bool
    ) throws {
        var other = settings(.oauth2)
        other.profile = ["subject": ["api:/a#/id"], field: ["api:/b#/x", "api:/c#/x"]]
        let definition = try ProviderDefinition(other)
        var payloads = ProviderPayloads()
        #expect(definition.wantedCalls(for: payloads, made: []).map(\.path) == ["/a", "/b"])
        payloads.api = ["/a": ["id": 1], "/b": ["x": value]]
        let next = definition.wantedCalls(for: payloads, made: ["/a", "/b"]).map(\.path)
        #expect(next == (isCalled ? ["/c"] : []))
        #expect(definition.wantedCalls(for: payloads, made: ["/a", "/b", "/c"]).isEmpty)
    }

    @Test func `one hosted domain is a hint for Google, and several are any`() throws {
        var google = settings(.google)
        google.hostedDomains = ["example.org", "example.com"]
        #expect(try ProviderDefinition(google).authorizationParameters.last == Form.Field("hd", "*"))
        google.authorizationParameters = [Form.Field("hd", "example.com"), Form.Field("login_hint", "a@example.com")]
        let parameters = try ProviderDefinition(google).authorizationParameters
        #expect(parameters.filter { $0.name == "hd" }.map(\.value) == ["example.com"])
        #expect(parameters.contains(Form.Field("login_hint", "a@example.com")))
    }

    @Test(arguments: [(nil, false), (.null, false), ([], true), (["a"], true)] as [(JSON?, Bool)])
    func `a list that is missing is not the same as an empty one`(groups: JSON?, isComplete: Bool) throws {
        let claims: JSON = ["sub": "1", "groups": groups ?? .null]
        let payloads = ProviderPayloads(idToken: groups == nil ? ["sub": "1"] : claims)
        for type in [ProviderType.oidc, .okta, .keycloak] {
            let profile = try ProviderDefinition(settings(type)).profile(from: payloads).profile
            #expect(profile.groupsComplete == isComplete)
        }
        #expect(payloads.listsGroups == isComplete)
    }
}
