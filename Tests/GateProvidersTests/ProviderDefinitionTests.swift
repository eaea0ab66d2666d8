// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@Suite struct ProviderDefinitionTests {
    private typealias SignInProtocol = ProviderDefinition.SignInProtocol

    private func discovery(_ text: String) throws -> SignInProtocol {
        .openID(discovery: try #require(WebURL(text)))
    }

    @Test func `Google is found by discovery and may leave the scheme out of its issuer`() throws {
        let definition = try ProviderDefinition(settings(.google))
        #expect(
            try definition.signIn == self.discovery("https://accounts.google.com/.well-known/openid-configuration")
        )
        #expect(definition.issuer == .aliased("https://accounts.google.com", alias: "accounts.google.com"))
        #expect(definition.signatureAlgorithms == [.rs256])
        #expect(definition.clientAuthentication == .secretPost)
        #expect(!definition.readsUserinfo)
        #expect(definition.apiCalls.isEmpty)
    }

    @Test func `Google elsewhere keeps its rules at the other address`() throws {
        var google = settings(.google)
        google.baseURL = WebURL("https://google.test:8443/")
        google.hostedDomains = ["example.org"]
        let definition = try ProviderDefinition(google)
        #expect(try definition.signIn == self.discovery("https://google.test:8443/.well-known/openid-configuration"))
        #expect(definition.issuer == .aliased("https://google.test:8443", alias: "google.test:8443"))
        #expect(definition.authorizationParameters.contains(Form.Field("hd", "example.org")))
    }

    @Test func `GitHub has fixed endpoints and two calls with its headers`() throws {
        let definition = try ProviderDefinition(settings(.github))
        guard case .oauth2(let endpoints) = definition.signIn else {
            Issue.record("GitHub is plain OAuth 2.0")
            return
        }
        #expect(endpoints.authorization.description == "https://github.com/login/oauth/authorize")
        #expect(endpoints.token.description == "https://github.com/login/oauth/access_token")
        #expect(definition.issuer == .exact("https://github.com/login/oauth"))
        #expect(
            definition.apiCalls.map(\.address.description) == [
                "https://api.github.com/user", "https://api.github.com/user/emails?per_page=100",
            ]
        )
        #expect(definition.apiCalls.map(\.isRequired) == [true, false])
        #expect(definition.apiHeaders.contains(Form.Field("X-GitHub-Api-Version", "2022-11-28")))
        #expect(definition.apiHeaders.contains(Form.Field("Accept", "application/vnd.github+json")))
        #expect(definition.scopes == ["user:email"])
    }

    @Test func `GitHub Enterprise Server has its endpoints below its own URL`() throws {
        var gitHub = settings(.github)
        gitHub.baseURL = WebURL("https://git.example.com")
        let definition = try ProviderDefinition(gitHub)
        #expect(definition.issuer == .exact("https://git.example.com/login/oauth"))
        #expect(definition.apiCalls.first?.address.description == "https://git.example.com/api/v3/user")
    }

    @Test(
        arguments: [
            (nil, "common", IssuerRule.TenantRule.any), ("organizations", "organizations", .organizations),
            ("consumers", "consumers", .only("9188040d-6c67-4c5b-b112-36a304b66dad")),
            ("contoso.example", "contoso.example", .discovered),
            (
                "8EAE0000-2b34-4da1-9baa-8bc8c9d6a490", "8EAE0000-2b34-4da1-9baa-8bc8c9d6a490",
                .only("8eae0000-2b34-4da1-9baa-8bc8c9d6a490")
            ),
        ] as [(String?, String, IssuerRule.TenantRule)]
    )
    func `Microsoft's tenant decides where discovery is and who may come`(
        tenant: String?,
        path: String,
        rule: IssuerRule.TenantRule
    ) throws {
        var microsoft = settings(.microsoft)
        microsoft.tenant = tenant
        let definition = try ProviderDefinition(microsoft)
        let base = "https://login.microsoftonline.com"
        #expect(try definition.signIn == self.discovery("\(base)/\(path)/v2.0/.well-known/openid-configuration"))
        #expect(definition.issuer == .tenanted(template: "\(base)/{tenantid}/v2.0", rule))
        #expect(definition.pkce == .required)
    }

    @Test func `any OpenID provider needs an issuer, and openid is always asked for`() throws {
        var staff = settings(.oidc, id: "staff")
        staff.scopes = ["email"]
        let definition = try ProviderDefinition(staff)
        #expect(definition.scopes == ["openid", "email"])
        #expect(definition.readsUserinfo)
        #expect(definition.signatureAlgorithms == [.rs256, .ps256, .es256, .es384, .edDSA, .ed25519])
        staff.issuer = nil
        #expect(throws: Failure.self) { try ProviderDefinition(staff) }
        for issuer in ["id.example.com", "http://id.example.com", "https://id.example.com?x=1", "ftp://id.example.com"]
        {
            staff.issuer = issuer
            #expect(throws: Failure.self) { try ProviderDefinition(staff) }
        }
        staff.issuer = "http://127.0.0.1:9000"
        #expect(throws: Never.self) { try ProviderDefinition(staff) }
    }

    @Test(arguments: [nil, "https://id.example.com/a?b=c", "http://localhost:9000/a", "http://id.example.com/a"])
    func `the browser may be sent elsewhere, but not over plain http off this machine`(text: String?) throws {
        for type in ProviderType.all {
            var other = settings(type)
            other.authorizationEndpoint = text.flatMap { WebURL($0) }
            if text == nil, type == .oauth2 { continue }
            guard text != "http://id.example.com/a" else {
                #expect(throws: Failure.self) { try ProviderDefinition(other) }
                continue
            }
            #expect(try ProviderDefinition(other).authorizationEndpoint?.description == text)
        }
    }

    @Test(
        arguments: [
            (.google, "Google"), (.github, "GitHub"), (.microsoft, "Microsoft"), (.apple, "Apple"), (.gitlab, "GitLab"),
            (.okta, "Okta"), (.auth0, "Auth0"), (.keycloak, "Keycloak"), (.facebook, "Facebook"),
            (.linkedin, "LinkedIn"), (.discord, "Discord"), (.slack, "Slack"), (.oidc, "staff"), (.oauth2, "staff"),
        ] as [(ProviderType, String)]
    )
    func `the button names the provider in the usual words`(type: ProviderType, name: String) throws {
        #expect(try ProviderDefinition(settings(type, id: "staff")).label == .signIn(with: name))
    }

    @Test func `the button has the text that the operator configured`() throws {
        var staff = settings(.oidc)
        staff.name = "Staff directory"
        #expect(try ProviderDefinition(staff).label == .custom("Staff directory"))
    }

    @Test func `a text that is spelled like one of the pages is in the language of the user`() {
        #expect(ProviderLabel(name: "Sign in with the Intranet") == .signIn(with: "the Intranet"))
        #expect(ProviderLabel(name: "Sign in with a password") == .password)
        #expect(ProviderLabel(name: "sign in with a password") == .custom("sign in with a password"))
    }
}
