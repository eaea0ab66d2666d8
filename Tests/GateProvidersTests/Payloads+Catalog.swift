// SPDX-License-Identifier: Apache-2.0

import GateCore

/// Payloads of the providers that are not among the first three, in the shapes that they document.
extension Payloads {
    static let apple = Self.json(
        """
        { "iss":"https://appleid.apple.com","aud":"org.example.gateway","exp":1790086400,"iat":1790000000,
          "sub":"001234.0123456789abcdef0123456789abcdef.0905","at_hash":"77QmUPtjPfzWtF2AnpK9RQ",
          "email":"x7q9k2@privaterelay.appleid.com","email_verified":"true","is_private_email":"true",
          "auth_time":1789999998,"nonce_supported":true }
        """
    )

    static let appleCallback = Self.json(
        """
        { "user": { "name": { "firstName": "Ada", "lastName": "Example" },
                    "email": "x7q9k2@privaterelay.appleid.com" } }
        """
    )

    static let gitLab = Self.json(
        """
        { "iss": "https://gitlab.com", "sub": "1442817", "sub_legacy": "3f1c", "aud": "client",
          "exp": 1790000120, "iat": 1790000000, "auth_time": 1789990000,
          "email": "ada@example.org", "email_verified": true, "groups_direct": ["top/sub"] }
        """
    )

    static let gitLabUserinfo = Self.json(
        """
        { "sub": "1442817", "sub_legacy": "3f1c", "name": "Ada Example", "nickname": "ada",
          "preferred_username": "ada", "email": "ada@example.org", "email_verified": true,
          "profile": "https://gitlab.com/ada", "website": "https://ada.example.org",
          "picture": "https://gitlab.com/uploads/-/system/user/avatar/1442817/avatar.png",
          "groups": ["top/sub", "top"], "https://gitlab.org/claims/groups/owner": ["top"] }
        """
    )

    static let okta = Self.json(
        """
        { "iss": "https://id.example.com/realms/staff", "sub": "00uid4BxXw6I6TV4m0g3", "ver": 1, "aud": "client",
          "iat": 1790000000, "exp": 1790003600, "auth_time": 1789999000, "idp": "00o1", "at_hash": "x",
          "preferred_username": "ada@example.org" }
        """
    )

    static let oktaUserinfo = Self.json(
        """
        { "sub": "00uid4BxXw6I6TV4m0g3", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
          "locale": "en_US", "preferred_username": "ada@example.org", "email": "ada@example.org",
          "email_verified": true, "zoneinfo": "America/Los_Angeles", "groups": ["Everyone", "Platform"] }
        """
    )

    static let auth0 = Self.json(
        """
        { "iss": "https://tenant.eu.auth0.com/", "sub": "google-oauth2|104729384756102938475", "aud": "client",
          "iat": 1790000000, "exp": 1790036000, "nickname": "ada", "name": "Ada Example", "given_name": "Ada",
          "family_name": "Example", "picture": "https://s.gravatar.example/avatar/1.png",
          "updated_at": "2026-09-30T10:00:00.000Z", "email": "ada@example.org", "email_verified": true,
          "https://example.org/roles": ["editor"], "groups": ["not-read"] }
        """
    )

    static let keycloak = Self.json(
        """
        { "iss": "https://id.example.com/realms/staff", "sub": "f3b1c9d0-0000-4000-8000-000000000001", "aud": "client",
          "exp": 1790000300, "iat": 1790000000, "auth_time": 1789999999, "typ": "ID", "azp": "client", "acr": "1",
          "session_state": "5a1", "email_verified": false, "name": "Ada Example", "preferred_username": "ada",
          "given_name": "Ada", "family_name": "Example", "email": "ada@example.org",
          "groups": ["/staff/platform", "/staff"], "realm_access": { "roles": ["offline_access", "admin"] } }
        """
    )

    static let facebook = Self.json(
        """
        { "id": "10226543210987654", "name": "Ada Example", "first_name": "Ada", "last_name": "Example",
          "email": "ada@example.org", "verified": true,
          "picture": { "data": { "height": 200, "width": 200, "is_silhouette": false,
                                 "url": "https://scontent.example/ada.jpg" } } }
        """
    )

    static let linkedIn = Self.json(
        """
        { "iss": "https://www.linkedin.com", "aud": "client", "iat": 1790000000, "exp": 1790003600,
          "sub": "782bbtaQ_x", "email_verified": "true", "locale": "en_US", "email": "ada@example.org" }
        """
    )

    static let linkedInUserinfo = Self.json(
        """
        { "sub":"782bbtaQ_x","name":"Ada Example","given_name":"Ada","family_name":"Example",
          "picture":"https://media.licdn.com/dms/ada.jpg","locale":{"country":"US","language":"en"},
          "email":"ada@example.org","email_verified":true }
        """
    )

    static let discord = Self.json(
        """
        { "id":"80351110224678912","username":"ada","discriminator":"0","global_name":"Ada",
          "avatar":"8342729096ea3675442027381ff50dfe","verified":true,"email":"ada@example.org","locale":"en-US",
          "mfa_enabled":true }
        """
    )

    static let slack = Self.json(
        """
        { "iss": "https://slack.com", "sub": "U0R7JM", "aud": "client", "exp": 1790000300, "iat": 1790000000,
          "auth_time": 1789999000, "nonce": "n", "at_hash": "x",
          "https://slack.com/team_id": "T0R7GR", "https://slack.com/user_id": "U0R7JM",
          "email": "ada@example.org", "email_verified": true, "date_email_verified": 1650000000,
          "locale": "en-US", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
          "picture": "https://avatars.slack-edge.example/ada_512.png",
          "https://slack.com/team_name": "Example", "https://slack.com/team_domain": "example" }
        """
    )

    static let microsoftGraph = Self.json(
        """
        { "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users/$entity",
          "businessPhones": ["+1 425 555 0100"], "displayName": "Ada Graph", "givenName": "Ada", "jobTitle": null,
          "mail": "ada@graph.example", "mobilePhone": null, "officeLocation": null, "preferredLanguage": "en-US",
          "surname": "Graph", "userPrincipalName": "ada@contoso.example",
          "id": "00000000-1111-2222-3333-444455556666" }
        """
    )
}
