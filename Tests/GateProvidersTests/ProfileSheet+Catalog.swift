// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders

extension ProfileSheet {
    /// A sheet for each type of the catalogue, from what its provider documents.
    static let all = [
        google, gitHub, microsoft, apple, gitLab, okta, auth0, keycloak, facebook, linkedIn, discord, slack, openID,
        oauth2,
    ]

    static let google = ProfileSheet(
        settings(.google),
        ProviderPayloads(idToken: Payloads.google),
        """
        provider | google | the file
        issuer | https://accounts.google.com | the file
        subject | 104729384756102938475 | id_token:/sub
        tenant | example.org | id_token:/hd
        username | ada | id_token:/email before the @
        name | Ada Example | id_token:/name
        given_name | Ada | id_token:/given_name
        family_name | Example | id_token:/family_name
        email | ada@example.org | id_token:/email
        email_verified | true | id_token:/email_verified
        email_authoritative | true | derived
        picture | https://lh3.googleusercontent.com/a/INVENTED=s96-c | id_token:/picture
        locale | - | -
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | - | -
        """
    )

    static let gitHub = ProfileSheet(
        settings(.github),
        ProviderPayloads(api: ["/user": Payloads.gitHubUser, "/user/emails": Payloads.gitHubEmails]),
        """
        provider | github | the file
        issuer | https://github.com/login/oauth | the file
        subject | 73205511 | api:/user#/id
        tenant | - | -
        username | ada-example | api:/user#/login
        name | ada-example | api:/user#/login
        given_name | - | -
        family_name | - | -
        email | ada@example.org | \(verifiedEntry)
        email_verified | true | \(verifiedEntry)
        email_authoritative | false | derived
        picture | https://avatars.githubusercontent.com/u/73205511?v=4 | api:/user#/avatar_url
        locale | - | -
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | - | -
        """
    )
    private static let verifiedEntry = "api:/user/emails#[primary&&verified]/email, else [verified]/email"

    static let microsoft = ProfileSheet(
        settings(.microsoft),
        ProviderPayloads(idToken: Payloads.microsoft),
        """
        provider | microsoft | the file
        issuer | https://login.microsoftonline.com/8eae0000-2b34-4da1-9baa-8bc8c9d6a490/v2.0 | id_token:/iss
        subject | 8eae0000-2b34-4da1-9baa-8bc8c9d6a490:00000000-1111-2222-3333-444455556666 | \(tenantAndObject)
        tenant | 8eae0000-2b34-4da1-9baa-8bc8c9d6a490 | id_token:/tid
        username | ada@contoso.example | id_token:/preferred_username without #EXT#
        name | Ada Example | id_token:/name
        given_name | - | -
        family_name | - | -
        email | ada@contoso.example | id_token:/email
        email_verified | true | id_token:/xms_edov
        email_authoritative | true | derived
        picture | - | -
        locale | - | -
        groups | ["1b2c3d4e-0000-4000-8000-aabbccddeeff"] | id_token:/groups
        roles | ["Gateway.Admin"] | id_token:/roles
        groups_complete | true | id_token:/groups
        auth_time | - | -
        """
    )
    private static let tenantAndObject = #"id_token:/tid + ":" + id_token:/oid"#

    static let apple = ProfileSheet(
        settings(.apple),
        ProviderPayloads(idToken: Payloads.apple, callback: Payloads.appleCallback),
        """
        provider | apple | the file
        issuer | https://appleid.apple.com | the file
        subject | 001234.0123456789abcdef0123456789abcdef.0905 | id_token:/sub
        tenant | - | -
        username | - | -
        name | Ada Example | callback:/user/name/firstName + callback:/user/name/lastName
        given_name | Ada | callback:/user/name/firstName
        family_name | Example | callback:/user/name/lastName
        email | x7q9k2@privaterelay.appleid.com | id_token:/email
        email_verified | true | id_token:/email_verified
        email_authoritative | false | derived
        picture | - | -
        locale | - | -
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | 1789999998 | id_token:/auth_time
        """
    )

    static let gitLab = ProfileSheet(
        settings(.gitlab),
        ProviderPayloads(idToken: Payloads.gitLab, userinfo: Payloads.gitLabUserinfo),
        """
        provider | gitlab | the file
        issuer | https://gitlab.com | the file
        subject | 1442817 | id_token:/sub
        tenant | - | -
        username | ada | userinfo:/preferred_username
        name | Ada Example | userinfo:/name
        given_name | - | -
        family_name | - | -
        email | ada@example.org | id_token:/email
        email_verified | true | id_token:/email_verified
        email_authoritative | false | derived
        picture | https://gitlab.com/uploads/-/system/user/avatar/1442817/avatar.png | userinfo:/picture
        locale | - | -
        groups | ["top","top/sub"] | userinfo:/groups
        roles | [] | -
        groups_complete | true | userinfo:/groups
        auth_time | 1789990000 | id_token:/auth_time
        """
    )
}
