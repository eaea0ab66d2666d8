// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders

extension ProfileSheet {
    static let linkedIn = ProfileSheet(
        settings(.linkedin),
        ProviderPayloads(idToken: Payloads.linkedIn, userinfo: Payloads.linkedInUserinfo),
        """
        provider | linkedin | the file
        issuer | https://www.linkedin.com/oauth | the file
        subject | 782bbtaQ_x | id_token:/sub
        tenant | - | -
        username | - | -
        name | Ada Example | userinfo:/name
        given_name | Ada | userinfo:/given_name
        family_name | Example | userinfo:/family_name
        email | ada@example.org | id_token:/email
        email_verified | true | id_token:/email_verified
        email_authoritative | false | derived
        picture | https://media.licdn.com/dms/ada.jpg | userinfo:/picture
        locale | en-US | id_token:/locale
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | - | -
        """
    )

    static let discord = ProfileSheet(
        settings(.discord),
        ProviderPayloads(api: ["/users/@me": Payloads.discord]),
        """
        provider | discord | the file
        issuer | https://discord.com | the file
        subject | 80351110224678912 | api:/users/@me#/id
        tenant | - | -
        username | ada | api:/users/@me#/username
        name | Ada | api:/users/@me#/global_name
        given_name | - | -
        family_name | - | -
        email | ada@example.org | api:/users/@me#/email
        email_verified | true | api:/users/@me#/verified
        email_authoritative | false | derived
        picture | \(avatar(of: "80351110224678912", "8342729096ea3675442027381ff50dfe")) | \(avatarSource)
        locale | en-US | api:/users/@me#/locale
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | - | -
        """
    )
    private static let avatarSource =
        avatar(of: "{}", "{}") + " with api:/users/@me#/id, api:/users/@me#/avatar"

    private static func avatar(of id: String, _ hash: String) -> String {
        "https://cdn.discordapp.com/avatars/\(id)/\(hash).png"
    }

    static let slack = ProfileSheet(
        settings(.slack),
        ProviderPayloads(idToken: Payloads.slack),
        """
        provider | slack | the file
        issuer | https://slack.com | the file
        subject | T0R7GR:U0R7JM | \(teamAndUser)
        tenant | T0R7GR | id_token:/https:~1~1slack.com~1team_id
        username | - | -
        name | Ada Example | id_token:/name
        given_name | Ada | id_token:/given_name
        family_name | Example | id_token:/family_name
        email | ada@example.org | id_token:/email
        email_verified | true | id_token:/email_verified
        email_authoritative | false | derived
        picture | https://avatars.slack-edge.example/ada_512.png | id_token:/picture
        locale | en-US | id_token:/locale
        groups | [] | -
        roles | [] | -
        groups_complete | false | nothing lists groups
        auth_time | 1789999000 | id_token:/auth_time
        """
    )
    private static let teamAndUser =
        #"id_token:/https:~1~1slack.com~1team_id + ":" + id_token:/https:~1~1slack.com~1user_id"#

    static let openID = ProfileSheet(
        settings(.oidc, id: "staff"),
        ProviderPayloads(idToken: Payloads.okta.with(["sub": "7", "name": "Ada"]), userinfo: Payloads.oktaUserinfo),
        """
        provider | staff | the file
        issuer | https://id.example.com/realms/staff | the file
        subject | 7 | id_token:/sub
        tenant | - | -
        username | ada@example.org | id_token:/preferred_username
        name | Ada | id_token:/name
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

    static let oauth2: ProfileSheet = {
        var other = settings(.oauth2, id: "git")
        other.profile = [
            "subject": ["api:/user#/id"], "username": ["api:/user#/login"], "name": ["api:/user#/full_name"],
            "email": ["api:/user/emails#[primary&&verified]/email"], "email_verified": ["const:true"],
            "groups": ["api:/user/orgs#[*]/username"], "tenant": ["const:forge"], "locale": ["api:/user#/language"],
            "picture": ["api:/user#/avatar_url"], "roles": ["api:/user#/role"],
        ]
        let user = Payloads.json(
            #"""
            { "id": 9007199254740993, "login": "ada", "full_name": "Ada Example", "language": "de_CH",
              "avatar_url": "https://git.example.com/a.png", "role": "admin" }
            """#
        )
        let emails = Payloads.json(
            #"[{"email":"a@x.example","primary":true,"verified":false},{"email":"b@x.example","primary":1,"verified":"1"}]"#
        )
        let groups = Payloads.json(#"[{"username": "zeta"}, {"username": "alpha"}, {"other": 1}]"#)
        return ProfileSheet(
            other,
            ProviderPayloads(api: ["/user": user, "/user/emails": emails, "/user/orgs": groups]),
            """
            provider | git | the file
            issuer | https://id.example.com | the file
            subject | 9007199254740993 | api:/user#/id
            tenant | forge | const:forge
            username | ada | api:/user#/login
            name | Ada Example | api:/user#/full_name
            given_name | - | -
            family_name | - | -
            email | b@x.example | api:/user/emails#[primary&&verified]/email
            email_verified | true | const:true
            email_authoritative | false | derived
            picture | https://git.example.com/a.png | api:/user#/avatar_url
            locale | de-CH | api:/user#/language
            groups | ["alpha","zeta"] | api:/user/orgs#[*]/username
            roles | ["admin"] | api:/user#/role
            groups_complete | false | api:/user/orgs#[*]/username
            auth_time | - | -
            """
        )
    }()
}
