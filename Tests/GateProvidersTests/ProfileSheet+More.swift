// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders

extension ProfileSheet {
    static let okta = ProfileSheet(
        settings(.okta),
        ProviderPayloads(idToken: Payloads.okta, userinfo: Payloads.oktaUserinfo),
        """
        provider | okta | the file
        issuer | https://id.example.com/realms/staff | the file
        subject | 00uid4BxXw6I6TV4m0g3 | id_token:/sub
        tenant | - | -
        username | ada@example.org | id_token:/preferred_username
        name | Ada Example | userinfo:/name
        given_name | Ada | userinfo:/given_name
        family_name | Example | userinfo:/family_name
        email | ada@example.org | userinfo:/email
        email_verified | true | userinfo:/email_verified
        email_authoritative | false | derived
        picture | - | -
        locale | en-US | userinfo:/locale
        groups | ["Everyone","Platform"] | userinfo:/groups
        roles | [] | -
        groups_complete | true | userinfo:/groups
        auth_time | 1789999000 | id_token:/auth_time
        """
    )

    static let auth0: ProfileSheet = {
        var tenant = settings(.auth0)
        tenant.issuer = "https://tenant.eu.auth0.com"
        return ProfileSheet(
            tenant,
            ProviderPayloads(idToken: Payloads.auth0),
            """
            provider | auth0 | the file
            issuer | https://tenant.eu.auth0.com/ | the file
            subject | google-oauth2|104729384756102938475 | id_token:/sub
            tenant | - | -
            username | ada | id_token:/nickname
            name | Ada Example | id_token:/name
            given_name | Ada | id_token:/given_name
            family_name | Example | id_token:/family_name
            email | ada@example.org | id_token:/email
            email_verified | true | id_token:/email_verified
            email_authoritative | false | derived
            picture | https://s.gravatar.example/avatar/1.png | id_token:/picture
            locale | - | -
            groups | [] | -
            roles | [] | -
            groups_complete | false | nothing lists groups
            auth_time | - | -
            """
        )
    }()

    static let keycloak = ProfileSheet(
        settings(.keycloak),
        ProviderPayloads(idToken: Payloads.keycloak),
        """
        provider | keycloak | the file
        issuer | https://id.example.com/realms/staff | the file
        subject | f3b1c9d0-0000-4000-8000-000000000001 | id_token:/sub
        tenant | - | -
        username | ada | id_token:/preferred_username
        name | Ada Example | id_token:/name
        given_name | Ada | id_token:/given_name
        family_name | Example | id_token:/family_name
        email | ada@example.org | id_token:/email
        email_verified | false | id_token:/email_verified
        email_authoritative | false | derived
        picture | - | -
        locale | - | -
        groups | ["/staff","/staff/platform"] | id_token:/groups
        roles | ["admin","offline_access"] | id_token:/realm_access/roles
        groups_complete | true | id_token:/groups
        auth_time | 1789999999 | id_token:/auth_time
        """
    )

    static let facebook = ProfileSheet(
        settings(.facebook),
        ProviderPayloads(api: ["/me": Payloads.facebook]),
        """
        provider | facebook | the file
        issuer | https://www.facebook.com | the file
        subject | 10226543210987654 | api:/me#/id
        tenant | - | -
        username | - | -
        name | Ada Example | api:/me#/name
        given_name | Ada | api:/me#/first_name
        family_name | Example | api:/me#/last_name
        email | ada@example.org | api:/me#/email
        email_verified | false | -
        email_authoritative | false | derived
        picture | https://scontent.example/ada.jpg | api:/me#/picture/data/url
        locale | - | -
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | - | -
        """
    )
}
