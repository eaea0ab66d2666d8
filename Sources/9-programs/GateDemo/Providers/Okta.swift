// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Okta: the organization's issuer or a custom authorization server, small ID tokens, groups in a claim.
///
/// https://developer.okta.com/docs/reference/api/oidc/
enum OktaSimulator {
    private static let organization = DemoQuirk(
        "okta-org-server",
        of: "okta",
        "The issuer is the organization itself and its endpoints are below /oauth2/v1; "
            + "the gateway follows discovery and users sign in.",
    )
    private static let loginSubject = DemoQuirk(
        "okta-login-subject",
        of: "okta",
        "A custom server's sub is the login, which can be reassigned; the gateway's file maps the subject to uid.",
    )
    private static let rateLimit = DemoQuirk(
        "okta-rate-limit",
        of: "okta",
        "The token endpoint responds with 429 in the format of Okta's API; the gateway reports a provider failure.",
    )

    static let provider = SimulatedProvider(
        "okta",
        clientID: "0oademo1234567890abc",
        quirks: [Self.organization, Self.loginSubject, Self.rateLimit],
        lines: { context in
            let subject = ["profile:", "  subject: \(quoted("id_token:/uid"))"]
            let isLogin = context.has(Self.loginSubject)
            return ["issuer: \(Self.issuer(context))"] + (isLogin ? subject : [])
        },
        traits: Self.traits
    )

    private static func isOrganization(_ context: SimulatorContext) -> Bool {
        context.has(self.organization)
    }

    private static func issuer(_ context: SimulatorContext) -> String {
        context.urls.base + (self.isOrganization(context) ? "" : "/oauth2/default")
    }

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        let root = self.isOrganization(context) ? "" : "/oauth2/default"
        let below = self.isOrganization(context) ? "/oauth2/v1" : "/oauth2/default/v1"
        let isLogin = context.has(self.loginSubject)
        var traits = CodeFlowTraits(
            title: "Okta",
            accent: "#00297a",
            users: isLogin ? self.users.map(self.withLogin) : self.users,
            paths: CodeFlowTraits.Paths(
                discovery: root + "/.well-known/openid-configuration",
                authorize: below + "/authorize",
                token: below + "/token",
                keys: below + "/keys",
                userinfo: below + "/userinfo",
            ),
            issuer: self.issuer(context),
        )
        traits.authorization.responseModes = ["query", "form_post"]
        var idToken = IDTokenTraits(key: .rs256(context.key))
        idToken.names = ["sub", "uid", "groups"]
        idToken.extras = { _, now in
            [
                "ver": 1, "jti": .string("ID.\(context.random.token(24))"), "amr": ["pwd"],
                "idp": "00odemo1234567890abc", "auth_time": .int(now.seconds - 5),
            ]
        }
        traits.idToken = idToken
        traits.resources[below + "/userinfo"] = .userinfo()
        if context.has(self.rateLimit) {
            traits.token.outage = OAuthError("E0000047", "API call exceeded rate limit due to too many requests.")
            traits.token.errorFormat = self.tooMany
        }
        return traits
    }

    private static let tooMany = OAuthErrorFormat { error in
        let fields = [
            (name: "X-Rate-Limit-Limit", value: "600"), (name: "X-Rate-Limit-Remaining", value: "0"),
            (name: "X-Rate-Limit-Reset", value: "1790000000"),
        ]
        let body: JSON = ["errorCode": .string(error.error), "errorSummary": .string(error.text)]
        return .json(body, status: 429, fields: fields)
    }

    private static func withLogin(_ user: DemoUser) -> DemoUser {
        let changed = user.record.merging([
            "uid": user.record["sub"] ?? .null, "sub": user.record["preferred_username"] ?? .null,
        ]) { $1 }
        return DemoUser(id: user.id, name: user.name, note: user.note, record: changed)
    }

    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@example.org, in two groups",
            record: [
                "sub": "00u1demoADAexample02", "name": "Ada Example", "given_name": "Ada", "family_name": "Example",
                "preferred_username": "ada@example.org", "email": "ada@example.org", "email_verified": true,
                "locale": "en_US", "zoneinfo": "America/Los_Angeles", "updated_at": 1_790_000_000,
                "groups": ["Everyone", "Payroll Administrators"],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@example.org, in no group but Everyone",
            record: [
                "sub": "00u1demoGRACEsample7", "name": "Grace Sample", "given_name": "Grace",
                "family_name": "Sample", "preferred_username": "grace@example.org", "email": "grace@example.org",
                "email_verified": true, "locale": "en_GB", "groups": ["Everyone"],
            ],
        ),
    ]
}
