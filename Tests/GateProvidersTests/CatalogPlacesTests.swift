// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateProviders

/// Where each type of provider is.
@Suite struct CatalogPlacesTests {
    /// One type with or without an own server, and what is asked where.
    struct Place: Sendable, CustomTestStringConvertible {
        let type: ProviderType
        var base: String?
        var issuer: String?
        let rule: IssuerRule
        /// Discovery; or authorization, token and the calls of the API.
        let addresses: [String]

        var testDescription: String { "\(self.type.name) at \(self.base ?? self.issuer ?? "its own place")" }
    }

    private static let wellKnown = "/.well-known/openid-configuration"
    private static let fields = "?fields=id,name,first_name,last_name,email,picture.width(200)"

    private static let places: [Place] = [
        Place(
            type: .apple,
            rule: .exact("https://appleid.apple.com"),
            addresses: ["https://appleid.apple.com\(wellKnown)"]
        ),
        Place(
            type: .apple,
            base: "http://localhost:9000/",
            rule: .exact("http://localhost:9000"),
            addresses: ["http://localhost:9000\(wellKnown)"]
        ),
        Place(type: .gitlab, rule: .exact("https://gitlab.com"), addresses: ["https://gitlab.com\(wellKnown)"]),
        Place(
            type: .gitlab,
            base: "https://git.example.com/gitlab",
            rule: .exact("https://git.example.com/gitlab"),
            addresses: ["https://git.example.com/gitlab\(wellKnown)"]
        ),
        Place(
            type: .okta,
            issuer: "https://acme.okta.com",
            rule: .exact("https://acme.okta.com"),
            addresses: ["https://acme.okta.com\(wellKnown)"]
        ),
        Place(
            type: .okta,
            issuer: "https://acme.okta.com/oauth2/default",
            rule: .exact("https://acme.okta.com/oauth2/default"),
            addresses: ["https://acme.okta.com/oauth2/default\(wellKnown)"]
        ),
        Place(
            type: .auth0,
            issuer: "https://acme.eu.auth0.com",
            rule: .exact("https://acme.eu.auth0.com/"),
            addresses: ["https://acme.eu.auth0.com\(wellKnown)"]
        ),
        Place(
            type: .auth0,
            issuer: "https://acme.eu.auth0.com/",
            rule: .exact("https://acme.eu.auth0.com/"),
            addresses: ["https://acme.eu.auth0.com\(wellKnown)"]
        ),
        Place(
            type: .keycloak,
            issuer: "https://id.example.com/realms/R",
            rule: .exact("https://id.example.com/realms/R"),
            addresses: ["https://id.example.com/realms/R\(wellKnown)"]
        ),
        Place(
            type: .linkedin,
            rule: .aliased("https://www.linkedin.com/oauth", alias: "https://www.linkedin.com"),
            addresses: ["https://www.linkedin.com/oauth\(wellKnown)"]
        ),
        Place(
            type: .linkedin,
            base: "http://127.0.0.1:9001",
            rule: .aliased("http://127.0.0.1:9001/oauth", alias: "http://127.0.0.1:9001"),
            addresses: ["http://127.0.0.1:9001/oauth\(wellKnown)"]
        ),
        Place(type: .slack, rule: .exact("https://slack.com"), addresses: ["https://slack.com\(wellKnown)"]),
        Place(
            type: .slack,
            base: "http://localhost:9002",
            rule: .exact("http://localhost:9002"),
            addresses: ["http://localhost:9002\(wellKnown)"]
        ),
        Place(
            type: .facebook,
            rule: .exact("https://www.facebook.com"),
            addresses: [
                "https://www.facebook.com/v23.0/dialog/oauth", "https://graph.facebook.com/v23.0/oauth/access_token",
                "https://graph.facebook.com/v23.0/me\(fields)",
            ]
        ),
        Place(
            type: .facebook,
            base: "http://localhost:9003",
            rule: .exact("http://localhost:9003"),
            addresses: [
                "http://localhost:9003/v23.0/dialog/oauth", "http://localhost:9003/v23.0/oauth/access_token",
                "http://localhost:9003/v23.0/me\(fields)",
            ]
        ),
        Place(
            type: .discord,
            rule: .exact("https://discord.com"),
            addresses: [
                "https://discord.com/oauth2/authorize", "https://discord.com/api/oauth2/token",
                "https://discord.com/api/v10/users/@me",
            ]
        ),
        Place(
            type: .discord,
            base: "http://localhost:9004/",
            rule: .exact("http://localhost:9004"),
            addresses: [
                "http://localhost:9004/oauth2/authorize", "http://localhost:9004/api/oauth2/token",
                "http://localhost:9004/api/v10/users/@me",
            ]
        ),
        Place(
            type: .oauth2,
            rule: .exact("https://id.example.com"),
            addresses: [
                "https://id.example.com/authorize", "https://id.example.com/token", "https://api.example.com/v2/user",
            ]
        ),
        Place(
            type: .oauth2,
            issuer: "https://issuer.example.com/x",
            rule: .exact("https://issuer.example.com/x"),
            addresses: [
                "https://id.example.com/authorize", "https://id.example.com/token", "https://api.example.com/v2/user",
            ]
        ),
    ]

    @Test(arguments: places)
    func `a provider has the URLs of its documentation, or URLs below that of the file`(place: Place) throws {
        var provider = settings(place.type)
        provider.baseURL = place.base.flatMap { WebURL($0) }
        provider.issuer = place.issuer ?? provider.issuer
        let definition = try ProviderDefinition(provider)
        #expect(definition.issuer == place.rule)
        #expect(definition.addresses == place.addresses)
    }
}

extension ProviderDefinition {
    /// All addresses that the definition names: discovery, or the endpoints; and the calls of the API.
    var addresses: [String] {
        let calls = self.apiCalls.map(\.address.description)
        return switch self.signIn {
        case .openID(let discovery): [discovery.description] + calls
        case .oauth2(let endpoints): [endpoints.authorization.description, endpoints.token.description] + calls
        }
    }
}
