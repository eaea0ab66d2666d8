// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Microsoft Entra ID, version 2.0 endpoints: one simulator for each tenant, an issuer template, alternating key sets.
///
/// Always so, as with the real one: keys without `alg` but with an `issuer`, key sets that differ between two fetches,
/// no `iss` in the callback, line breaks in error descriptions, errors of Graph inside an object, no picture, a guest
/// whose principal name is not an email address, an email address that is not verified.
///
/// Marks give the source of a fact: [D] documented at https://learn.microsoft.com/entra/identity-platform, [O] observed in
/// recorded traffic, [K] known but not verified.
enum MicrosoftSimulator {
    /// The tenant of the demo's work accounts.
    private static let tenant = "8eae0000-2b34-4da1-9baa-8bc8c9d6a490"
    /// The tenant of all personal accounts. [D]
    fileprivate static let consumers = "9188040d-6c67-4c5b-b112-36a304b66dad"
    /// The tenant of another organization.
    private static let foreign = "0bad0000-5c11-4e0f-8d3a-1f2e3d4c5b6a"
    private static let trace = "0000aaaa-11bb-cccc-dd22-eeeeee333333"

    static let provider = SimulatedProvider(
        "microsoft",
        clientID: "6cb04018-a3f5-46a7-b995-940c78f5aef3",
        quirks: MicrosoftQuirk.all,
        lines: { context in
            var lines = ["base_url: \(context.urls.base)", "tenant: \(Self.configuredTenant(context))"]
            if context.has(MicrosoftQuirk.tenantList) { lines.append("tenants: [ \(Self.tenant) ]") }
            if context.has(MicrosoftQuirk.formPost) { lines.append("response_mode: form_post") }
            if MicrosoftQuirk.aboutGroups.contains(where: context.has) { lines.append("groups: [ graph ]") }
            return lines
        },
        tenants: { context in
            let keys = MicrosoftKeys(context)
            let configured = Self.configuredTenant(context)
            let others = [Self.tenant, "common", "organizations", "consumers", Self.consumers]
            return ([configured] + others.filter { $0 != configured }).map { Self.traits($0, keys, context) }
        }
    )

    /// The tenant in the gateway's file.
    private static func configuredTenant(_ context: SimulatorContext) -> String {
        let several = [MicrosoftQuirk.common, MicrosoftQuirk.tenantList, MicrosoftQuirk.badTenant]
        if several.contains(where: context.has) { return "common" }
        if context.has(MicrosoftQuirk.organizations) { return "organizations" }
        return context.has(MicrosoftQuirk.consumers) ? "consumers" : self.tenant
    }

    private static func traits(_ tenant: String, _ keys: MicrosoftKeys, _ context: SimulatorContext) -> CodeFlowTraits {
        let base = context.urls.base
        let issuer =
            switch tenant {
            case "common", "organizations": "{tenantid}"
            case "consumers": self.consumers
            default: tenant
            }
        var traits = CodeFlowTraits(
            title: "Microsoft",
            accent: "#0067b8",
            users: self.users(of: tenant).map { self.changed($0, context) },
            paths: CodeFlowTraits.Paths(
                discovery: "/\(tenant)/v2.0/.well-known/openid-configuration",
                authorize: "/\(tenant)/oauth2/v2.0/authorize",
                token: "/\(tenant)/oauth2/v2.0/token",
                keys: "/\(tenant)/discovery/v2.0/keys",
                userinfo: "/oidc/userinfo",
                endSession: "/\(tenant)/oauth2/v2.0/logout",
            ),
            issuer: "\(base)/\(issuer)/v2.0",
        )
        traits.authorization = self.authorization(context)
        traits.token = self.token(context)
        traits.idToken = self.idToken(keys, context)
        traits.resourceErrors = self.graphErrors
        traits.resources = self.graph(context)
        traits.metadata = self.metadata(base: base, tenant: tenant)
        traits.notFound = .text("AADSTS90002: Tenant not found.\n", status: 404)
        return traits
    }

    /// The members of October 2024, without `code_challenge_methods_supported`. [O]
    private static func metadata(base: String, tenant: String) -> [String: JSON] {
        [
            "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt", "client_secret_basic"],
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "code_challenge_methods_supported": .null,
            "request_uri_parameter_supported": false,
            "device_authorization_endpoint": .string("\(base)/\(tenant)/oauth2/v2.0/devicecode"),
            "http_logout_supported": true, "frontchannel_logout_supported": true,
            "claims_supported": [
                "sub", "iss", "aud", "exp", "iat", "auth_time", "acr", "nonce", "preferred_username", "name", "tid",
                "ver", "at_hash", "c_hash", "email",
            ],
            "kerberos_endpoint": .string("\(base)/\(tenant)/kerberos"),
            "cloud_instance_name": "microsoftonline.com", "msgraph_host": "graph.microsoft.com",
        ]
    }

    private static func authorization(_ context: SimulatorContext) -> AuthorizationTraits {
        let missing = OAuthError("AADSTS900144", "The request body must contain response_type and scope.")
        let mismatch = "The redirect URI specified in the request does not match the ones configured."
        var traits = AuthorizationTraits()
        traits.responseModes = ["query", "fragment", "form_post"]
        traits.skippedChecks = [.challenge]
        traits.checksWithPage.formUnion([.responseType, .scope])
        traits.errors = [
            .client: OAuthError("AADSTS700016", "Application was not found in the directory."),
            .redirect: OAuthError("AADSTS50011", mismatch), .responseType: missing, .scope: missing,
            .prompt: OAuthError("interaction_required", "AADSTS50058: A silent sign-in request was sent."),
        ]
        traits.granted = { $0.filter { $0 != "offline_access" } }
        traits.extras = { _ in [Form.Field("session_state", "4f98aaaa-cc1f-47b9-81b2-66522ea80000")] }
        traits.denial = OAuthError("access_denied", "AADSTS65004: User declined to consent to access the app.")
        traits.errorFields = { error in
            let ids = "Trace ID: \(self.trace)\r\nCorrelation ID: \(self.trace)"
            return [
                Form.Field("error", error.error), Form.Field("error_subcode", "cancel"),
                Form.Field("error_description", "\(error.text)\r\n\(ids)\r\nTimestamp: \(context.clock.now)"),
                Form.Field("error_uri", "\(context.urls.base)/error?code=65004"),
            ]
        }
        return traits
    }

    /// The errors of the token endpoint. [D]
    private static func token(_ context: SimulatorContext) -> TokenTraits {
        var traits = TokenTraits()
        traits.authentication = [.post, .basic]
        let expired = self.error(
            "invalid_grant",
            70_008,
            "The provided authorization code or refresh token has expired."
        )
        traits.errors = [
            .client: self.error("unauthorized_client", 700_016, "Application was not found in the directory."),
            .authentication: self.error("invalid_client", 7_000_215, "Invalid client secret provided.", status: 401),
            .grantType: self.error("unsupported_grant_type", 70_003, "The app requested an unsupported grant type."),
            .code: expired, .redirect: expired, .refreshToken: expired,
            .verifier: self.error("invalid_grant", 501_481, "The Code_Verifier does not match the code_challenge."),
        ]
        traits.refresh = .renews
        traits.extras = { grant, _ in
            let scopes = (grant.request["scope"] ?? "").split(separator: " ")
            guard scopes.contains("offline_access") else { return [:] }
            return ["refresh_token": .string("1.AX\(context.random.token(48))")]
        }
        traits.extraCheck = { request in
            let text = "Cross-origin token redemption is not permitted here."
            return request.field("origin") == nil ? nil : self.error("invalid_request", 9_002_326, text)
        }
        traits.errorFormat = OAuthErrorFormat { error in
            let number = error.text.split(separator: ":").first.flatMap { Int64($0.dropFirst(6)) } ?? 90_033
            let text = "\(error.text)\r\nTrace ID: \(self.trace)\r\nCorrelation ID: \(self.trace)"
            let body: JSON = [
                "error": .string(error.error), "error_codes": [.int(number)], "trace_id": .string(self.trace),
                "error_description": .string(text), "correlation_id": .string(self.trace),
                "error_uri": .string("\(context.urls.base)/error?code=\(number)"),
            ]
            return .json(body, status: error.status)
        }
        traits.code = { "0.AXoA\($0.token(750))" }
        traits.accessToken = { "EwB4A8l6\($0.token(300))" }
        // A number in version 2.0 [D], a string in version 1.0 and B2C [O].
        let lifetime: JSON = context.has(MicrosoftQuirk.textExpiry) ? "3600" : 4021
        traits.lifetime = lifetime
        traits.extras = { _, _ in ["ext_expires_in": lifetime] }
        traits.scope = { ($0 + ["User.Read"]).joined(separator: " ") }
        return traits
    }

    private static func error(_ error: String, _ number: Int, _ text: String, status: Int = 400) -> OAuthError {
        OAuthError(error, "AADSTS\(number): \(text)", status: status)
    }

    /// Given and family name come from userinfo only, unless the app asks for them as optional claims; no `at_hash`. [D]
    private static func idToken(_ keys: MicrosoftKeys, _ context: SimulatorContext) -> IDTokenTraits {
        var traits = IDTokenTraits(key: .rs256(context.key))
        traits.lifetime = 3900
        traits.hashesAccessToken = false
        traits.rotation = keys
        traits.extras = { grant, now in
            let record = grant.user.record
            let tenant = self.claimedTenant(record, context)
            var claims: [String: JSON] = [
                "given_name": .null, "family_name": .null, "tid": .string(tenant), "ver": "2.0",
                "iss": .string("\(context.urls.base)/\(tenant)/v2.0"), "nbf": .int(now.seconds),
                "uti": .string(context.random.token(16)),
            ]
            if [MicrosoftQuirk.overage, MicrosoftQuirk.overageUnresolved].contains(where: context.has) {
                claims.merge(self.groupsOverage(record, context)) { $1 }
            }
            return claims
        }
        return traits
    }

    private static func claimedTenant(_ record: [String: JSON], _ context: SimulatorContext) -> String {
        if context.has(MicrosoftQuirk.badTenant) { return "../\(self.tenant)" }
        return context.has(MicrosoftQuirk.otherTenant) ? self.foreign : record["tid"]?.string ?? self.tenant
    }

    /// Over 200 groups the token names a URL instead. [D]
    ///
    /// The real one is at `graph.windows.net`, which no longer exists [K]; this one counts its requests. No client may call it:
    /// the author of a token would choose where the client sends its access token.
    private static func groupsOverage(_ record: [String: JSON], _ context: SimulatorContext) -> [String: JSON] {
        let object = record["oid"]?.string ?? ""
        let url = "\(context.urls.base)/graph.windows.net/\(self.tenant)/users/\(object)/getMemberObjects"
        return [
            "groups": .null, "_claim_names": ["groups": "src1"],
            "_claim_sources": ["src1": ["endpoint": .string(url)]],
        ]
    }

    // MARK: Graph

    /// The resources of `graph.microsoft.com`.
    private static func graph(_ context: SimulatorContext) -> [String: ProtectedResource] {
        [
            "/oidc/userinfo": ProtectedResource { .json(self.userinfo($0.grant.user)) },
            "/v1.0/me": ProtectedResource { .json(self.me($0.grant.user)) },
            "/v1.0/me/getMemberObjects": ProtectedResource { self.groups($0, context) },
            "/v1.0/me/photo/$value": ProtectedResource { _ in
                self.graphError("ImageNotFound", "The photo wasn't found.", status: 404)
            },
        ]
    }

    /// All members that userinfo can have: neither `oid` nor `tid`, and a picture that browsers cannot load. [D]
    private static func userinfo(_ user: DemoUser) -> JSON {
        var members = user.record.filter { ["sub", "name", "given_name", "family_name", "email"].contains($0.key) }
        members["picture"] = "https://graph.microsoft.com/v1.0/me/photo/$value"
        return .object(members)
    }

    /// The eleven properties that come without `$select`; `mail` is often null. [D]
    private static func me(_ user: DemoUser) -> JSON {
        let record = user.record
        return [
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#users/$entity", "businessPhones": [],
            "displayName": record["name"] ?? .null, "givenName": record["given_name"] ?? .null,
            "surname": record["family_name"] ?? .null, "jobTitle": .null, "mobilePhone": .null,
            "officeLocation": .null, "mail": record["email"] ?? .null, "preferredLanguage": "en-US",
            "userPrincipalName": record["preferred_username"] ?? .null, "id": record["oid"] ?? .null,
        ]
    }

    /// The ids of all groups, groups of groups included. [D]
    private static func groups(_ call: ResourceRequest, _ context: SimulatorContext) -> DemoResponse {
        guard (try? JSON(parsing: call.request.body))?["securityEnabledOnly"]?.bool != nil else {
            return self.graphError("BadRequest", "The securityEnabledOnly parameter is missing.", status: 400)
        }
        guard !context.has(MicrosoftQuirk.overageUnresolved) else {
            let text = "Insufficient privileges to complete the operation."
            return self.graphError("Authorization_RequestDenied", text, status: 403)
        }
        let own = call.grant.user.record["groups"]?.array ?? []
        let more = (1...220).map { JSON.string("1b2c3d4e-0000-4000-8000-\(12_000_000_000 + $0)0".lowercased()) }
        return .json([
            "@odata.context": "https://graph.microsoft.com/v1.0/$metadata#Collection(Edm.String)",
            "value": .array(context.has(MicrosoftQuirk.overage) ? own + more : own),
        ])
    }

    private static let graphErrors = OAuthErrorFormat { error in
        let text = "Access token is missing or malformed."
        let fields = [(name: "WWW-Authenticate", value: "Bearer")]
        return graphError("InvalidAuthenticationToken", text, status: error.status, fields: fields)
    }

    /// An error of Graph is an object, not a string. [D]
    private static func graphError(
        _ code: String,
        _ text: String,
        status: Int,
        fields: [(name: String, value: String)] = [],
    ) -> DemoResponse {
        let inner: JSON = [
            "date": "2026-09-30T10:00:00", "request-id": .string(self.trace), "client-request-id": .string(self.trace),
        ]
        let error: JSON = ["code": .string(code), "message": .string(text), "innerError": inner]
        return .json(["error": error], status: status, fields: fields)
    }

    // MARK: users

    private static func changed(_ user: DemoUser, _ context: SimulatorContext) -> DemoUser {
        user.changed { record in
            if context.has(MicrosoftQuirk.noMail) { record["email"] = nil }
        }
    }

    /// The accounts that can sign in at a tenant: work accounts, personal ones, or both.
    private static func users(of tenant: String) -> [DemoUser] {
        switch tenant {
        case "common": self.workUsers + self.personalUsers + self.foreignUsers
        case "organizations": self.workUsers + self.foreignUsers
        case "consumers", self.consumers: self.personalUsers
        default: self.workUsers
        }
    }

    private static let workUsers: [DemoUser] = [
        DemoUser(
            id: "ada",
            name: "Ada Example",
            note: "ada@contoso.example, work account with a verified domain",
            record: Self.record(object: "444455556666", name: ("Ada", "Example"), user: "ada@contoso.example")
                .merging([
                    "email": "ada@contoso.example", "xms_edov": true,
                    "groups": ["1b2c3d4e-0000-4000-8000-aabbccddeeff", "1b2c3d4e-0000-4000-8000-001122334455"],
                    "roles": ["Gateway.Admin"],
                ]) { $1 },
        ),
        DemoUser(
            id: "grace",
            name: "Grace Sample",
            note: "grace@contoso.example, email address not verified",
            record: Self.record(object: "777788889999", name: ("Grace", "Sample"), user: "grace@contoso.example")
                .merging(["email": "grace@contoso.example"]) { $1 },
        ),
        DemoUser(
            id: "margaret",
            name: "Margaret Test",
            note: "margaret@example.org, guest of the tenant",
            record: Self.record(
                object: "aaaabbbbcccc",
                name: ("Margaret", "Test"),
                user: "margaret_example.org#EXT#@contoso.onmicrosoft.com",
            ).merging(["email": "margaret@example.org"]) { $1 },
        ),
    ]

    private static let personalUsers: [DemoUser] = [
        DemoUser(
            id: "katherine",
            name: "Katherine Sample",
            note: "katherine@outlook.example, personal account",
            record: Self.record(
                object: "1887fa52aaaa",
                name: ("Katherine", "Sample"),
                user: "katherine@outlook.example"
            )
            .merging(["email": "katherine@outlook.example", "tid": .string(Self.consumers)]) { $1 }
            .merging(["oid": "00000000-0000-0000-48d3-1887fa52aaaa"]) { $1 },
        )
    ]

    /// The administrator of another tenant, who has entered a foreign email address there; known as nOAuth. [D]
    private static let foreignUsers: [DemoUser] = [
        DemoUser(
            id: "mallory",
            name: "Mallory Sample",
            note: "another tenant, whose administrator claims to be ada@contoso.example",
            record: Self.record(object: "ddddeeeeffff", name: ("Mallory", "Sample"), user: "mallory@evil.example")
                .merging(["email": "ada@contoso.example", "tid": .string(Self.foreign)]) { $1 },
        )
    ]

    private static func record(object: String, name: (given: String, family: String), user: String) -> [String: JSON] {
        [
            "sub": .string("AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSa\(object)"),
            "oid": .string("00000000-1111-2222-3333-\(object)"), "tid": .string(Self.tenant),
            "name": .string("\(name.given) \(name.family)"), "given_name": .string(name.given),
            "family_name": .string(name.family), "preferred_username": .string(user),
        ]
    }
}

/// The quirks of Microsoft Entra ID.
private enum MicrosoftQuirk {
    static let common = DemoQuirk(
        "microsoft-common",
        of: "microsoft",
        "The gateway's file has tenant: common, so the issuer is a template; the gateway fills in the token's tenant.",
    )
    static let organizations = DemoQuirk(
        "microsoft-organizations",
        of: "microsoft",
        "The gateway's file has tenant: organizations; accounts of every company, no personal ones.",
    )
    static let consumers = DemoQuirk(
        "microsoft-consumers",
        of: "microsoft",
        "The gateway's file has tenant: consumers; personal accounts only, all of one tenant.",
    )
    static let tenantList = DemoQuirk(
        "microsoft-tenant-list",
        of: "microsoft",
        "The gateway's file has tenant: common and lists one tenant; users of all others are denied.",
    )
    static let otherTenant = DemoQuirk(
        "microsoft-other-tenant",
        of: "microsoft",
        "The token is of another tenant than the one in the gateway's file; the gateway denies access.",
    )
    static let badTenant = DemoQuirk(
        "microsoft-tenant-no-guid",
        of: "microsoft",
        "The token's tid is part of a URL path, not a GUID; the gateway does not put it into the issuer.",
    )
    static let consumerKey = DemoQuirk(
        "microsoft-consumer-key",
        of: "microsoft",
        "A work account's token is signed with the key for personal accounts; the gateway checks the key's issuer.",
    )
    static let alternatingKeys = DemoQuirk(
        "microsoft-alternating-keys",
        of: "microsoft",
        "Two servers sign and each publishes its own key only; the gateway keeps the keys of earlier fetches.",
    )
    static let textExpiry = DemoQuirk(
        "microsoft-text-expiry",
        of: "microsoft",
        "expires_in is a string, as in version 1.0 and Azure AD B2C; the gateway reads it.",
    )
    static let noMail = DemoQuirk(
        "microsoft-no-mail",
        of: "microsoft",
        "No user has an email address (mail is null); the gateway does not take the principal name for one.",
    )
    static let formPost = DemoQuirk(
        "microsoft-form-post",
        of: "microsoft",
        "The gateway's file has response_mode: form_post, so the callback is a form from another site.",
    )
    static let groups = DemoQuirk(
        "microsoft-groups",
        of: "microsoft",
        "The ID token has groups and roles, and the gateway's file asks for them.",
    )
    static let overage = DemoQuirk(
        "microsoft-overage",
        of: "microsoft",
        "More than 200 groups, so the token names a URL instead; the gateway asks Graph at the URL that it knows itself.",
    )
    static let overageUnresolved = DemoQuirk(
        "microsoft-overage-unresolved",
        of: "microsoft",
        "As microsoft-overage, and Graph rejects the request; the gateway marks the list as incomplete.",
    )

    static let all = [
        Self.common, Self.organizations, Self.consumers, Self.tenantList, Self.otherTenant, Self.badTenant,
        Self.consumerKey, Self.alternatingKeys, Self.textExpiry, Self.noMail, Self.formPost, Self.groups, Self.overage,
        Self.overageUnresolved,
    ]

    /// The quirks that have no effect unless the gateway asks for groups.
    static let aboutGroups = [Self.groups, Self.overage, Self.overageUnresolved]
}

/// Microsoft's key sets: several keys, no `alg`, and other keys from one fetch to the next. [O]
///
/// Each key names the issuer whose tokens it signs: all tenants, or personal accounts only. [D]
private final class MicrosoftKeys: KeyRotation {
    private let base: String
    private let key: RSASigningKey
    private let idleModuli: [String]
    private let signsAsConsumer: Bool
    private let alternates: Bool
    private let state = Mutex(State())

    private struct State {
        var tokens = 0
        var fetches = 0
    }

    init(_ context: SimulatorContext) {
        self.base = context.urls.base
        self.key = context.key
        self.idleModuli = [RSASigningKey.idleModulus(context.random), RSASigningKey.idleModulus(context.random)]
        self.signsAsConsumer = context.has(MicrosoftQuirk.consumerKey)
        self.alternates = context.has(MicrosoftQuirk.alternatingKeys)
    }

    func signer(of claims: [String: JSON]) -> SigningKey {
        let tokens = self.state.withLock { state in
            state.tokens += 1
            return state.tokens
        }
        let isConsumer = claims["tid"]?.string == MicrosoftSimulator.consumers
        if isConsumer || self.signsAsConsumer { return .rs256(self.key, id: self.id("consumers")) }
        return .rs256(self.key, id: self.id(self.alternates && tokens.isMultiple(of: 2) ? "second" : "first"))
    }

    /// The response may be cached for a day. [K]
    func keySet() -> DemoResponse {
        let fetches = self.state.withLock { state in
            state.fetches += 1
            return state.fetches
        }
        let isSecond = self.alternates && fetches.isMultiple(of: 2)
        let idle = self.idleModuli[fetches % self.idleModuli.count]
        let keys = [
            self.jwk(id: String(idle.prefix(27)), modulus: idle, tenant: "{tenantid}"),
            self.jwk(id: self.id("consumers"), modulus: self.key.modulus, tenant: MicrosoftSimulator.consumers),
            self.jwk(id: self.id(isSecond ? "second" : "first"), modulus: self.key.modulus, tenant: "{tenantid}"),
        ]
        return .json(["keys": .array(keys)], fields: [("Cache-Control", "max-age=86400, private")])
    }

    private func id(_ name: String) -> String { String(self.key.named(name).id.prefix(27)) }

    private func jwk(id: String, modulus: String, tenant: String) -> JSON {
        [
            "kty": "RSA", "use": "sig", "kid": .string(id), "x5t": .string(id), "n": .string(modulus), "e": "AQAB",
            "cloud_instance_name": "microsoftonline.com", "issuer": .string("\(self.base)/\(tenant)/v2.0"),
        ]
    }
}
