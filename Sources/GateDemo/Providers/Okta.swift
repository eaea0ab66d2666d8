// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Okta: an organization's own issuer or a custom authorization server, thin ID tokens, groups by a claim.
///
/// https://developer.okta.com/docs/reference/api/oidc/
enum OktaSimulator {
    private static let organization = DemoQuirk(
        "okta-org-server",
        of: "okta",
        "The issuer is the organization itself and its endpoints are below /oauth2/v1; "
            + "the gateway follows discovery and people sign in.",
    )
    private static let loginSubject = DemoQuirk(
        "okta-login-subject",
        of: "okta",
        "A custom server's sub is the login, which can change hands; the gateway takes uid, because its file says so.",
    )
    private static let rateLimit = DemoQuirk(
        "okta-rate-limit",
        of: "okta",
        "The token endpoint answers 429 in the form of Okta's API; the gateway says that the provider failed.",
    )

    static let simulation = SimulatedProvider.codeFlow(
        "okta",
        clientID: "0oademo1234567890abc",
        quirks: [Self.organization, Self.loginSubject, Self.rateLimit],
        lines: { stage in
            let subject = ["profile:", "  subject: \(quoted("id_token:/uid"))"]
            let isLogin = stage.quirks.contains(Self.loginSubject.name)
            return ["issuer: \(Self.issuer(stage))"] + (isLogin ? subject : [])
        },
        traits: Self.traits
    )

    private static func isOrganization(_ stage: SimulatorContext) -> Bool {
        stage.quirks.contains(self.organization.name)
    }

    private static func issuer(_ stage: SimulatorContext) -> String {
        stage.address.base + (self.isOrganization(stage) ? "" : "/oauth2/default")
    }

    @Sendable private static func traits(_ stage: SimulatorContext) -> CodeFlowTraits {
        let root = self.isOrganization(stage) ? "" : "/oauth2/default"
        let below = self.isOrganization(stage) ? "/oauth2/v1" : "/oauth2/default/v1"
        let isLogin = stage.quirks.contains(self.loginSubject.name)
        var traits = CodeFlowTraits(
            title: "Okta",
            accent: "#00297a",
            people: isLogin ? self.people.map(self.withLogin) : self.people,
            paths: CodeFlowTraits.Paths(
                discovery: root + "/.well-known/openid-configuration",
                authorize: below + "/authorize",
                token: below + "/token",
                keys: below + "/keys",
                userinfo: below + "/userinfo",
            ),
            issuer: self.issuer(stage),
        )
        traits.authorization.responseModes = ["query", "form_post"]
        var idToken = IDTokenTraits(key: .rs256(stage.key))
        idToken.names = ["sub", "uid", "groups"]
        idToken.extras = { _, now in
            [
                "ver": 1, "jti": .string("ID.\(stage.random.token(24))"), "amr": ["pwd"],
                "idp": "00odemo1234567890abc", "auth_time": .int(now.seconds - 5),
            ]
        }
        traits.idToken = idToken
        traits.resources[below + "/userinfo"] = .userinfo()
        if stage.quirks.contains(self.rateLimit.name) {
            traits.token.outage = OAuthError("E0000047", "API call exceeded rate limit due to too many requests.")
            traits.token.problem = self.tooMany
        }
        return traits
    }

    private static let tooMany = OAuthErrorFormat { problem in
        let fields = [
            (name: "X-Rate-Limit-Limit", value: "600"), (name: "X-Rate-Limit-Remaining", value: "0"),
            (name: "X-Rate-Limit-Reset", value: "1790000000"),
        ]
        let body: JSON = ["errorCode": .string(problem.error), "errorSummary": .string(problem.text)]
        return .json(body, status: 429, fields: fields)
    }

    private static func withLogin(_ person: DemoUser) -> DemoUser {
        let changed = person.record.merging([
            "uid": person.record["sub"] ?? .null, "sub": person.record["preferred_username"] ?? .null,
        ]) { $1 }
        return DemoUser(id: person.id, name: person.name, note: person.note, record: changed)
    }

    private static let people: [DemoUser] = [
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
