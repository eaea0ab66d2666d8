// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// GitHub's OAuth App flow: no ID token, form responses unless the client asks for JSON, errors with status 200.
///
/// Always so, as with the real one: scopes with commas, an API that requires a `User-Agent`, an email address that is null
/// unless it is public, a numeric id that may be above 2^53.
///
/// Marks give the source of a fact: [D] documented at https://docs.github.com/apps/oauth-apps, [O] observed in recorded
/// traffic, [K] known but not verified.
enum GitHubSimulator {
    private static let documentation = "https://docs.github.com/apps/oauth-apps/"

    static let provider = SimulatedProvider(
        "github",
        clientID: "Ov23liDemo0123456789",
        quirks: GitHubQuirk.all,
        lines: { context in
            var lines = [
                "base_url: \(context.urls.base)",
                "authorization_endpoint: \(context.urls.pages)/login/oauth/authorize",
            ]
            if context.has(GitHubQuirk.app) { lines.append("app: github_app") }
            if GitHubQuirk.aboutGroups.contains(where: context.has) {
                lines.append("groups: [ organizations, teams ]")
            }
            return lines
        },
        traits: Self.traits
    )

    @Sendable private static func traits(_ context: SimulatorContext) -> CodeFlowTraits {
        var traits = CodeFlowTraits(
            title: "GitHub",
            accent: "#24292f",
            users: self.users,
            paths: CodeFlowTraits.Paths(
                // OAuth metadata, not OpenID: no keys, at the path-inserted URL only. [O]
                discovery: "/.well-known/oauth-authorization-server/login/oauth",
                authorize: "/login/oauth/authorize",
                token: "/login/oauth/access_token",
            ),
            // What the callback names since 2026. [O]
            issuer: context.urls.base + "/login/oauth",
        )
        traits.authorization = self.authorization(context)
        traits.token = self.token(context)
        traits.metadata = [
            "response_modes_supported": .null, "subject_types_supported": .null, "scopes_supported": .null,
            "token_endpoint_auth_methods_supported": .null, "authorization_response_iss_parameter_supported": .null,
            "grant_types_supported": ["authorization_code", "refresh_token"],
        ]
        traits.notFound = self.message("Not Found", status: 404)
        traits.precheck = self.precheck
        traits.resourceErrors = OAuthErrorFormat { self.message("Bad credentials", status: $0.status) }
        // The API's paths are those of Enterprise Server. [D]
        traits.resources = [
            "/api/v3/user": self.resource(context) { .json(.object($0.grant.user.record)) },
            "/api/v3/user/emails": self.resource(context) { self.emails($0, context) },
            "/api/v3/user/orgs": self.resource(context) { self.list("organizations", $0, context) },
            "/api/v3/user/teams": self.resource(context) { self.list("teams", $0, context) },
        ]
        return traits
    }

    private static func authorization(_ context: SimulatorContext) -> AuthorizationTraits {
        let mismatch = "The redirect_uri MUST match the registered callback URL for this application."
        let challenge = OAuthError("invalid_request", "The code challenge must be S256 with 43 characters.")
        var traits = AuthorizationTraits()
        traits.skippedChecks = [.responseType, .scope, .responseMode, .prompt]
        // S256 only, since July 2025, and not enforced. [D]
        traits.checksWithPage = [.client, .challenge]
        traits.errors = [
            .client: OAuthError("404", "Not Found", status: 404),
            .redirect: OAuthError("redirect_uri_mismatch", mismatch), .challenge: challenge,
        ]
        traits.extraCheck = { form in
            form["code_challenge"] == nil && form["code_challenge_method"] != nil ? challenge : nil
        }
        traits.redirect = { requested, registered in self.redirect(requested, registered, context) }
        // A GitHub App has no scopes. [D]
        traits.granted = { context.has(GitHubQuirk.app) ? [] : $0.sorted() }
        traits.denial = OAuthError("access_denied", "The user has denied your application access.")
        // Errors lead to the registered callback and name the issuer too. [O]
        traits.sendsIssuer = !context.has(GitHubQuirk.noIssuer)
        traits.writesSpaceAsPlus = true
        traits.errorFields = { error in
            [
                Form.Field("error", error.error), Form.Field("error_description", error.text),
                Form.Field("error_uri", self.documentation + "troubleshooting-authorization-request-errors/"),
            ]
        }
        return traits
    }

    /// An OAuth App's redirect may be below the registered callback, on its host and port; an App's must equal it. [D]
    private static func redirect(_ requested: String?, _ registered: String, _ context: SimulatorContext) -> String? {
        guard !context.has(GitHubQuirk.wrongHost) else { return nil }
        guard let requested, requested != registered else { return registered }
        guard !context.has(GitHubQuirk.app), let asked = WebURL(requested), let known = WebURL(registered),
            asked.origin == known.origin, asked.path.hasPrefix(known.path + "/")
        else { return nil }
        return requested
    }

    /// Credentials are in the body, errors are GitHub's own and have status 200. [D]
    private static func token(_ context: SimulatorContext) -> TokenTraits {
        let isApp = context.has(GitHubQuirk.app)
        let mismatch = "The redirect_uri MUST match the registered callback URL for this application."
        let code = OAuthError("bad_verification_code", "The code passed is incorrect or expired.", status: 200)
        var traits = TokenTraits()
        traits.authentication = [.post]
        traits.skippedChecks = [.grantType]
        traits.redirectIsOptional = true
        traits.errors = [
            .client: OAuthError("Not Found", status: 404),
            .authentication: OAuthError(
                "incorrect_client_credentials",
                "The client_id and/or client_secret passed are incorrect.",
                status: 200
            ),
            .refreshToken: OAuthError(
                "bad_refresh_token",
                "The refresh token passed is incorrect or expired.",
                status: 200
            ),
            .code: code, .verifier: code, .redirect: OAuthError("redirect_uri_mismatch", mismatch, status: 200),
        ]
        traits.outage = context.has(GitHubQuirk.error) ? code : nil
        traits.errorFormat = OAuthErrorFormat { error in
            guard error.status == 200 else { return OAuthErrorFormat.bare.response(error) }
            let page = "\(self.documentation)troubleshooting-oauth-app-access-token-request-errors/"
            return .json([
                "error": .string(error.error), "error_description": .string(error.text), "error_uri": .string(page),
            ])
        }
        // A form, or JSON or XML if the client asks for it, also for errors. [D]
        traits.encoding = { request in
            let accept = request.field("accept") ?? ""
            if context.has(GitHubQuirk.xml) || accept.contains("application/xml") { return .xml }
            return !context.has(GitHubQuirk.form) && accept.contains("application/json") ? .json : .form
        }
        traits.code = { hexadecimal($0.bytes(10)) }
        traits.accessToken = { "\(isApp ? "ghu" : "gho")_\(hexadecimal($0.bytes(18)))" }
        traits.tokenType = "bearer"
        traits.lifetime = nil
        traits.scope = { $0.joined(separator: ",") }
        // Expiring tokens are documented for GitHub Apps, and for OAuth Apps since 2026. [D]
        guard isApp || context.has(GitHubQuirk.expiring) else { return traits }
        traits.lifetime = 28_800
        traits.extras = { _, _ in
            [
                "refresh_token": .string("ghr_\(hexadecimal(context.random.bytes(38)))"),
                "refresh_token_expires_in": isApp ? 15_811_200 : 15_897_600,
            ]
        }
        return traits
    }

    // MARK: API

    /// The API rejects a program without a name.
    @Sendable private static func precheck(_ request: DemoRequest) -> DemoResponse? {
        guard request.path.hasPrefix("/api/"), request.field("user-agent")?.isEmpty != false else { return nil }
        let text = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.\n"
        return .text(text, status: 403)
    }

    private static func resource(
        _ context: SimulatorContext,
        _ response: @escaping @Sendable (ResourceRequest) -> DemoResponse,
    ) -> ProtectedResource {
        ProtectedResource { call in
            guard !context.has(GitHubQuirk.redirects) else {
                return .redirect(to: "\(context.urls.other)/elsewhere")
            }
            var response = response(call)
            response.fields += [
                (name: "X-OAuth-Scopes", value: call.grant.scopes.joined(separator: ", ")),
                (name: "X-Accepted-OAuth-Scopes", value: ""),
                (name: "X-GitHub-Media-Type", value: "github.v3; format=json"),
                (name: "X-RateLimit-Limit", value: "5000"),
                (name: "X-RateLimit-Remaining", value: "4990"),
            ]
            return response
        }
    }

    /// 404 without the scope, 403 for a GitHub App without the permission. [K]
    private static func emails(_ call: ResourceRequest, _ context: SimulatorContext) -> DemoResponse {
        guard !context.has(GitHubQuirk.app) else {
            return self.message("Resource not accessible by integration", status: 403)
        }
        guard call.grant.scopes.contains("user:email") || call.grant.scopes.contains("user") else {
            return self.message("Not Found", status: 404)
        }
        return .json(call.grant.user.more["emails"] ?? [])
    }

    /// Organizations or teams: 30 to a page, at most 100, the next page in the Link header. [D]
    ///
    /// Without `read:org`, teams are rejected and only public organizations are listed, and no user here is in one.
    private static func list(_ name: String, _ call: ResourceRequest, _ context: SimulatorContext) -> DemoResponse {
        let request = call.request
        let isAllowed = call.grant.scopes.contains("read:org") || context.has(GitHubQuirk.app)
        guard isAllowed || name == "organizations" else {
            return self.message("You need at least read:org scope", status: 403)
        }
        let all = isAllowed ? self.everything(name, of: call.grant.user, context) : []
        let size = min(max(request.query["per_page"].flatMap { Int($0) } ?? 30, 1), 100)
        let page = min(max(request.query["page"].flatMap { Int($0) } ?? 1, 1), 1000)
        guard page == 1 || !context.has(GitHubQuirk.failingPage) else {
            return self.message("Server Error", status: 502)
        }
        var response = DemoResponse.json(.array(Array(all.dropFirst((page - 1) * size).prefix(size))))
        if page * size < all.count {
            let host = context.has(GitHubQuirk.foreignLink) ? context.urls.other : context.urls.base
            let last = (all.count + size - 1) / size
            let links = [("next", page + 1), ("last", last)].map { relation, number in
                "<\(host)\(request.path)?per_page=\(size)&page=\(number)>; rel=\"\(relation)\""
            }
            response.fields.append(("Link", links.joined(separator: ", ")))
        }
        // Lists leave out organizations whose SAML session is missing. [O]
        if context.has(GitHubQuirk.partial) {
            response.fields.append(("X-GitHub-SSO", "partial-results; organizations=9001299"))
        }
        return response
    }

    private static func everything(_ name: String, of user: DemoUser, _ context: SimulatorContext) -> [JSON] {
        let own = user.more[name]?.array ?? []
        let isLong = [GitHubQuirk.threePages, GitHubQuirk.failingPage, GitHubQuirk.foreignLink]
            .contains(where: context.has)
        guard isLong, !own.isEmpty else { return own }
        return own
            + (1...(250 - own.count)).map { number in
                name == "teams"
                    ? self.team("team-\(number)", id: 4_500_000 + Int64(number))
                    : self.organization("org-\(number)", id: 9_100_000 + Int64(number))
            }
    }

    /// An error of the API; the status in the body is a string. [O]
    private static func message(_ text: String, status: Int) -> DemoResponse {
        let body: JSON = [
            "message": .string(text), "documentation_url": "https://docs.github.com/rest",
            "status": .string(String(status)),
        ]
        return .json(body, status: status)
    }

    // MARK: users

    /// A user with a private address, one with an id above 2^53 and no name, and one with an unverified address.
    private static let users: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "ada-example",
            note: "Ada Example, private email address, found through the list of addresses",
            record: Self.user(login: "ada-example", id: 73_205_511, name: "Ada Example", email: nil),
            more: [
                "emails": [
                    ["email": "old@example.net", "primary": false, "verified": false, "visibility": .null],
                    ["email": "ada@example.org", "primary": true, "verified": true, "visibility": "private"],
                    [
                        "email": "73205511+ada-example@users.noreply.github.com", "primary": false, "verified": true,
                        "visibility": .null,
                    ],
                ],
                "organizations": [Self.organization("example-org", id: 9_001_234)],
                "teams": [Self.team("platform-eng", id: 4_401_122), Self.team("on-call", id: 4_401_123)],
            ],
        ),
        DemoUser(
            id: "grace",
            name: "grace-sample",
            note: "No display name, no public email address, id above 2^53",
            record: Self.user(login: "grace-sample", id: 9_007_199_254_740_993, name: nil, email: nil),
            more: [
                "emails": [["email": "grace@example.org", "primary": true, "verified": true, "visibility": .null]]
            ],
        ),
        DemoUser(
            id: "margaret",
            name: "margaret-test",
            note: "Public email address that was never verified",
            record: Self.user(
                login: "margaret-test",
                id: 583_231,
                name: "Margaret Test",
                email: "margaret@example.com"
            ),
            more: [
                "emails": [
                    ["email": "margaret@example.com", "primary": true, "verified": false, "visibility": "public"]
                ]
            ],
        ),
    ]

    private static func user(login: String, id: Int64, name: String?, email: String?) -> [String: JSON] {
        let api = "https://api.github.com/users/\(login)"
        return [
            "login": .string(login), "id": .int(id), "node_id": .string("U_demo\(id)"), "gravatar_id": "",
            "avatar_url": .string("https://avatars.githubusercontent.com/u/\(id)?v=4"),
            "url": .string(api), "html_url": .string("https://github.com/\(login)"),
            "followers_url": .string(api + "/followers"),
            "following_url": .string(api + "/following{/other_user}"),
            "organizations_url": .string(api + "/orgs"), "repos_url": .string(api + "/repos"),
            "type": "User", "user_view_type": "private", "site_admin": false,
            "name": name.map { .string($0) } ?? .null, "company": .null, "blog": "", "location": .null,
            "email": email.map { .string($0) } ?? .null, "notification_email": .null, "hireable": .null,
            "bio": .null, "twitter_username": .null, "public_repos": 2, "public_gists": 0, "followers": 20,
            "following": 0, "created_at": "2020-10-19T08:15:30Z", "updated_at": "2026-08-31T17:02:11Z",
        ]
    }

    /// An entry of `/user/orgs`. [D]
    private static func organization(_ login: String, id: Int64) -> JSON {
        let api = "https://api.github.com/orgs/\(login)"
        return [
            "login": .string(login), "id": .int(id), "node_id": .string("O_demo\(id)"), "url": .string(api),
            "repos_url": .string(api + "/repos"), "events_url": .string(api + "/events"),
            "members_url": .string(api + "/members{/member}"),
            "avatar_url": .string("https://avatars.githubusercontent.com/u/\(id)?v=4"), "description": .null,
        ]
    }

    /// An entry of `/user/teams`, a team of `example-org`. [D]
    private static func team(_ slug: String, id: Int64) -> JSON {
        [
            "id": .int(id), "node_id": .string("T_demo\(id)"), "name": .string(slug.replacing("-", with: " ")),
            "slug": .string(slug), "description": "", "privacy": "closed", "permission": "pull",
            "url": .string("https://api.github.com/organizations/9001234/team/\(id)"),
            "html_url": .string("https://github.com/orgs/example-org/teams/\(slug)"), "type": "organization",
            "members_count": 7, "repos_count": 12, "created_at": "2024-01-05T10:00:00Z",
            "updated_at": "2026-02-01T10:00:00Z", "parent": .null,
            "organization": ["login": "example-org", "id": 9_001_234, "type": "Organization"],
        ]
    }
}

private enum GitHubQuirk {
    static let form = DemoQuirk(
        "github-form-response",
        of: "github",
        "The token endpoint responds with a form, its default, although JSON was asked for; the gateway reads both.",
    )
    static let xml = DemoQuirk(
        "github-xml-response",
        of: "github",
        "The token endpoint responds with XML, its third format, unasked; the gateway rejects it.",
    )
    static let error = DemoQuirk(
        "github-error-with-200",
        of: "github",
        "The token endpoint rejects every code with status 200; the gateway looks for a token, not at the status.",
    )
    static let expiring = DemoQuirk(
        "github-expiring-tokens",
        of: "github",
        "Access tokens expire after eight hours and a refresh token comes with them, as with apps since 2026.",
    )
    static let noIssuer = DemoQuirk(
        "github-no-callback-issuer",
        of: "github",
        "The callback has no iss, as before 2026; the gateway accepts it.",
    )
    static let wrongHost = DemoQuirk(
        "github-wrong-host",
        of: "github",
        "The app is registered for another host, which GitHub reports in the callback; the gateway shows the error.",
    )
    static let redirects = DemoQuirk(
        "github-api-redirects",
        of: "github",
        "The API redirects to another host; the gateway does not send the access token there.",
    )
    static let app = DemoQuirk(
        "github-app",
        of: "github",
        "A GitHub App: tokens begin with ghu_, there are no scopes, and this one may not read email addresses (403); "
            + "the gateway signs users in without one.",
    )
    static let groups = DemoQuirk(
        "github-groups",
        of: "github",
        "The gateway reads organizations and teams, each on one page.",
    )
    static let threePages = DemoQuirk(
        "github-three-pages",
        of: "github",
        "Organizations and teams come on three pages of a hundred, joined by the Link header; the gateway reads them all.",
    )
    static let failingPage = DemoQuirk(
        "github-failing-page",
        of: "github",
        "The second page of teams fails with status 502; the gateway marks the list as incomplete.",
    )
    static let foreignLink = DemoQuirk(
        "github-foreign-link",
        of: "github",
        "The Link header leads to another host; the gateway does not follow it and marks the list as incomplete.",
    )
    static let partial = DemoQuirk(
        "github-sso-partial",
        of: "github",
        "An organization with SAML sign-on is left out of the lists (X-GitHub-SSO); the gateway marks them as incomplete.",
    )

    static let all = [
        Self.form, Self.xml, Self.error, Self.expiring, Self.noIssuer, Self.wrongHost, Self.redirects, Self.app,
        Self.groups, Self.threePages, Self.failingPage, Self.foreignLink, Self.partial,
    ]

    /// The quirks that have no effect unless the gateway reads groups.
    static let aboutGroups = [Self.groups, Self.threePages, Self.failingPage, Self.foreignLink, Self.partial]
}
