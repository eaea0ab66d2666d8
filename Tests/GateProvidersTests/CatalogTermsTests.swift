// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

/// How each type of provider is spoken to, and what cannot be made into one.
@Suite struct CatalogTermsTests {
    /// The type, its scopes, its client authentication, and its rules for PKCE and the nonce.
    private static let terms: [(ProviderType, [String], ProviderDefinition.ClientAuthentication, String, String)] = [
        (.google, ["openid", "email", "profile"], .secretPost, "required", "required"),
        (.github, ["user:email"], .secretPost, "required", "required"),
        (.microsoft, ["openid", "profile", "email", "offline_access"], .secretPost, "required", "required"),
        (.apple, ["openid", "name", "email"], .signedSecret, "required", "required"),
        (.gitlab, ["openid", "profile", "email"], .advertised, "required", "required"),
        (.okta, ["openid", "profile", "email"], .advertised, "required", "required"),
        (.auth0, ["openid", "profile", "email"], .advertised, "required", "required"),
        (.keycloak, ["openid", "profile", "email"], .advertised, "auto", "required"),
        (.facebook, ["public_profile", "email"], .secretPost, "required", "required"),
        (.linkedin, ["openid", "profile", "email"], .secretPost, "off", "if_present"),
        (.discord, ["identify", "email"], .secretPost, "required", "required"),
        (.slack, ["openid", "email", "profile"], .secretPost, "required", "required"),
        (.oidc, ["openid", "email", "profile"], .advertised, "auto", "required"),
        (.oauth2, [], .secretBasic, "required", "required"),
    ]

    @Test func `each type has its own terms`() throws {
        #expect(Self.terms.map(\.0) == ProviderType.all)
        for (type, scopes, authentication, pkce, nonce) in Self.terms {
            let definition = try ProviderDefinition(settings(type))
            #expect(definition.scopes == scopes, "\(type.name)")
            #expect(definition.clientAuthentication == authentication, "\(type.name)")
            #expect(definition.pkce.rawValue == pkce && definition.nonce.rawValue == nonce, "\(type.name)")
            #expect(definition.responseMode == (type == .apple ? .formPost : .query), "\(type.name)")
            #expect(definition.apiProof == (type == .facebook ? .appSecretProof : .none), "\(type.name)")
            #expect(definition.requiresCallbackIssuer == nil && !definition.pushesAuthorization, "\(type.name)")
        }
    }

    @Test func `tokens are not revoked where that ends more than one sign-in, unless the file wants it`() throws {
        for type in ProviderType.all {
            let endsMore = [.google, .apple, .keycloak, .auth0].contains(type)
            #expect(try ProviderDefinition(settings(type)).revokesTokens == !endsMore, "\(type.name)")
            var own = settings(type)
            own.revokesTokens = endsMore
            #expect(try ProviderDefinition(own).revokesTokens == endsMore, "\(type.name)")
        }
    }

    @Test func `a provider without ID tokens names no algorithm, and most others name one`() throws {
        let all = SignatureAlgorithm.standard
        for type in ProviderType.all {
            let definition = try ProviderDefinition(settings(type))
            let expected: Set<SignatureAlgorithm> =
                if case .oauth2 = definition.signIn { [] } else { [.oidc, .keycloak].contains(type) ? all : [.rs256] }
            #expect(definition.signatureAlgorithms == expected, "\(type.name)")
        }
    }

    @Test func `W-01: an HMAC is for oidc, alone, and with a secret of 32 bytes`() throws {
        let secret = Secret(text: "0123456789abcdef0123456789abcdef")
        for (type, list, secret, isGood) in [
            (.oidc, [.hs256], secret, true), (.oidc, [.hs256, .hs384, .hs512], secret, true),
            (.oidc, [.hs256, .rs256], secret, false), (.oidc, [.hs512], Secret(text: "0123456789abcdef"), false),
            (.oidc, [.hs512], Secret([]), false), (.keycloak, [.hs256], secret, false),
            (.google, [.hs256], secret, false), (.oidc, [.rs512, .es512, .ps384], Secret(text: "x"), true),
            (.google, [.rs512], Secret(text: "x"), true),
        ] as [(ProviderType, [SignatureAlgorithm], Secret, Bool)] {
            var provider = settings(type)
            provider.clientSecret = secret
            provider.signatureAlgorithms = list
            let definition = try? ProviderDefinition(provider)
            #expect((definition != nil) == isGood, "\(type.name) \(list)")
            #expect(definition?.usesSecretForTokens ?? false == (isGood && list.contains { $0.isSymmetric }))
        }
    }

    @Test func `Z-03: a provider is asked for another account in the words that it knows`() throws {
        let expected: [ProviderType: String] = [
            .google: "select_account", .microsoft: "select_account", .github: "select_account", .oidc: "login",
            .keycloak: "login", .okta: "login", .auth0: "login",
        ]
        for type in ProviderType.all {
            let choice = try ProviderDefinition(settings(type)).accountChoice
            #expect(choice == expected[type].map { Form.Field("prompt", $0) }, "\(type.name)")
        }
    }

    @Test func `X-04: the settings that decide who is admitted, and no others, are admission terms`() throws {
        var google = settings(.google)
        let before = google.admissionTerms.map { "\($0.name)=\($0.value)" }
        #expect(before.first == "type=google" && before.count == 12)
        google.clientSecret = Secret(text: "another secret")
        google.name = "Staff"
        google.scopes = ["openid"]
        google.authorizationParameters = [Form.Field("prompt", "consent")]
        google.profile = ["picture": ["id_token:/picture"]]
        #expect(google.admissionTerms.map { "\($0.name)=\($0.value)" } == before)
        let changes: [(String, (inout ProviderSettings) -> Void)] = [
            ("client_id", { $0.clientID = "another" }), ("hosted_domains", { $0.hostedDomains = ["example.org"] }),
            ("tenant", { $0.tenant = "consumers" }), ("tenants", { $0.tenants = ["a"] }),
            ("workspaces", { $0.workspaces = ["T1"] }), ("issuer", { $0.issuer = "https://other.example" }),
            ("base_url", { $0.baseURL = WebURL("https://other.example") }),
            ("trust_email", { $0.trustsEmail = true }),
            ("reject_noreply", { $0.rejectsNoreply = true }), ("profile", { $0.profile = ["email": ["id_token:/x"]] }),
        ]
        for (name, change) in changes {
            var changed = google
            change(&changed)
            #expect(changed.admissionTerms.map { "\($0.name)=\($0.value)" } != before, "\(name)")
        }
        var (one, two) = (google, google)
        one.hostedDomains = ["a.example", "b.example"]
        two.hostedDomains = ["b.example", "a.example"]
        #expect(one.admissionTerms.map(\.value) == two.admissionTerms.map(\.value))
    }

    @Test func `the terms of the file take precedence`() throws {
        for type in ProviderType.all {
            var provider = settings(type)
            provider.pkce = .off
            provider.nonce = .ifPresent
            provider.responseMode = .formPost
            provider.clientAuthentication = .privateKeyJWT
            provider.scopes = ["openid", "x"]
            provider.requiresIssuer = true
            provider.authorizationParameters = [Form.Field("prompt", "login")]
            let definition = try ProviderDefinition(provider)
            #expect(definition.pkce == .off && definition.nonce == .ifPresent, "\(type.name)")
            #expect(definition.responseMode == .formPost && definition.requiresCallbackIssuer == true, "\(type.name)")
            #expect(definition.clientAuthentication == .privateKeyJWT, "\(type.name)")
            #expect(definition.scopes == ["openid", "x"], "\(type.name)")
            #expect(definition.authorizationParameters.filter { $0.name == "prompt" }.map(\.value) == ["login"])
        }
    }

    @Test func `an API call that the id needs is required, and others are not`() throws {
        #expect(try ProviderDefinition(settings(.discord)).apiCalls.map(\.isRequired) == [true])
        var other = settings(.oauth2)
        other.profile = ["subject": ["api:/a#/id", "api:/b#/id"], "name": ["api:/c#/name"]]
        let calls = try ProviderDefinition(other).apiCalls
        #expect(calls.map(\.path) == ["/a", "/b", "/c"] && calls.map(\.isRequired) == [true, true, false])
    }

    @Test(arguments: [
        [:], ["subject": []], ["name": ["api:/user#/name"]], ["subject": ["id_token:/sub"]],
        ["subject": ["userinfo:/sub"]], ["subject": ["api:/user#/id"], "name": ["id_token:/name"]],
        ["subject": ["const:x"]],
    ])
    func `an OAuth 2 provider needs the source of the id`(profile: [String: [String]]) {
        var other = settings(.oauth2)
        other.profile = profile
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
    }

    @Test func `an OAuth 2 provider needs both endpoints, and an API only if something is read there`() throws {
        var other = settings(.oauth2)
        other.tokenEndpoint = nil
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
        other.tokenEndpoint = WebURL("http://id.example.com/token")
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
        other = settings(.oauth2)
        other.authorizationEndpoint = nil
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
        other = settings(.oauth2)
        other.apiURL = nil
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
        other.apiURL = WebURL("http://api.example.com")
        #expect(throws: Failure.self) { try ProviderDefinition(other) }
    }

    @Test(arguments: ["23", "v", "v1.2.3", "v1.", "v23.0/../x", "v1 ", "v12345678901234567", "V23.0", ""])
    func `an invalid version is rejected`(version: String) {
        for type in [ProviderType.facebook, .discord] {
            var provider = settings(type)
            provider.apiVersion = version
            #expect(throws: Failure.self) { try ProviderDefinition(provider) }
        }
    }

    @Test func `the version of the API is part of its addresses`() throws {
        var facebook = settings(.facebook)
        facebook.apiVersion = "v24.0"
        let addresses = try ProviderDefinition(facebook).addresses
        #expect(addresses.allSatisfy { $0.contains(".facebook.com/v24.0/") } && addresses.count == 3)
        var discord = settings(.discord)
        discord.apiVersion = "v11"
        discord.apiURL = WebURL("https://api.example.com/")
        #expect(try ProviderDefinition(discord).addresses.last == "https://api.example.com/api/v11/users/@me")
    }

    @Test func `one workspace is a hint for Slack, several are not`() throws {
        var slack = settings(.slack)
        slack.workspaces = ["T0R7GR"]
        #expect(try ProviderDefinition(slack).authorizationParameters == [Form.Field("team", "T0R7GR")])
        slack.workspaces = ["T0R7GR", "T0OTHER"]
        #expect(try ProviderDefinition(slack).authorizationParameters.isEmpty)
    }

    @Test func `any user can have an account with a public service`() {
        let open = ProviderType.all.filter { $0.acceptsAnyAccount(settings($0)) }.map(\.name)
        #expect(
            open == ["google", "github", "microsoft", "apple", "gitlab", "facebook", "linkedin", "discord", "slack"]
        )
        var slack = settings(.slack)
        slack.workspaces = ["T0R7GR"]
        var gitLab = settings(.gitlab)
        gitLab.baseURL = WebURL("https://git.example.com")
        #expect(!ProviderType.slack.acceptsAnyAccount(slack) && !ProviderType.gitlab.acceptsAnyAccount(gitLab))
    }

    @Test func `groups come by themselves from five types`() {
        let listing = ProviderType.all.filter(\.listsGroups).map(\.name)
        #expect(listing == ["microsoft", "gitlab", "okta", "keycloak", "oidc"])
    }

    @Test func `Apple needs a key, and no secret is in the file`() {
        #expect(ProviderType.apple.required == [.teamID, .keyID, .privateKey])
        #expect(ProviderType.apple.redirects == .secureOnly)
    }
}
