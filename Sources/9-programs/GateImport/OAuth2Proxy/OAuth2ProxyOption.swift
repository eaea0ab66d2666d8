// SPDX-License-Identifier: Apache-2.0

/// An option of oauth2-proxy, and what becomes of it.
struct OAuth2ProxyOption: Sendable {
    enum Kind: Sendable {
        case flag
        case text
        case list
        /// A text that must not be shown or copied.
        case secret
    }

    enum Fate: Sendable {
        /// It is carried over; the converters write their own notes.
        case carried
        /// It has no meaning here, or the gateway always behaves so.
        case needless(String)
        case lost(String)
    }

    /// The name of its flag with `_` for `-`, which is the key in a file but for the plural of lists.
    let name: String
    let kind: Kind
    let fate: Fate
    /// Whether it restricts who may sign in, so that a value that cannot be read denies all users.
    let restricts: Bool

    init(_ name: String, _ kind: Kind, _ fate: Fate, restricts: Bool = false) {
        self.name = name
        self.kind = kind
        self.fate = fate
        self.restricts = restricts
    }

    /// The options of oauth2-proxy 7, by group of its documentation.
    static let all = provider + providerTypes + cookie + header + logging + page + proxy + server + session + upstream

    private static let byName = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }

    /// The option with a name, which may be written with `-`, in capitals, and in the plural.
    static func named(_ name: String) -> OAuth2ProxyOption? {
        let folded = String(name.lowercased().map { $0 == "-" ? "_" : $0 })
        if let option = self.byName[folded] { return option }
        if let option = self.byName[folded + "s"], option.kind == .list { return option }
        guard folded.hasSuffix("s"), let option = self.byName[String(folded.dropLast())] else { return nil }
        return option.kind == .list ? option : nil
    }
}

// What becomes of each option; docs/migration/oauth2-proxy.md has the same table for operators.
extension OAuth2ProxyOption {
    private static let provider: [OAuth2ProxyOption] = [
        Self("acr_values", .text, .carried),
        Self("allowed_group", .list, .carried, restricts: true),
        Self("allowed_role", .list, .carried, restricts: true),
        Self("approval_prompt", .text, .needless("a consent prompt is not requested; see 'authorization_parameters'")),
        Self("backend_logout_url", .text, .needless("a sign-out ends the provider's session by its metadata")),
        Self("client_id", .text, .carried),
        Self("client_secret", .secret, .carried),
        Self("client_secret_file", .text, .carried),
        Self("code_challenge_method", .text, .needless("PKCE with S256 is the default; 'pkce' changes that")),
        Self("force_code_challenge_method", .text, .needless("PKCE with S256 is the default; 'pkce' changes that")),
        Self(
            "insecure_oidc_allow_unverified_email",
            .flag,
            .lost(
                "email addresses count only if the provider has verified them; docs/profile.md describes 'email_verified'"
            )
        ),
        Self("insecure_oidc_skip_issuer_verification", .flag, .lost("the issuer of ID tokens is always verified")),
        Self("insecure_oidc_skip_nonce", .flag, .needless("the nonce of ID tokens is always verified")),
        Self(
            "jwt_key",
            .secret,
            .lost("write 'private_key' and 'client_authentication: private_key_jwt' if it is needed")
        ),
        Self(
            "jwt_key_file",
            .text,
            .lost("write 'private_key' and 'client_authentication: private_key_jwt' if it is needed")
        ),
        Self("login_url", .text, .carried),
        Self("oidc_audience_claim", .list, .lost("the audience of ID tokens is always in 'aud'"), restricts: true),
        Self("oidc_email_claim", .text, .carried),
        Self("oidc_extra_audience", .list, .carried),
        Self("oidc_groups_claim", .text, .carried),
        Self("oidc_issuer_url", .text, .carried, restricts: true),
        Self("oidc_jwks_url", .text, .needless("the provider's metadata name its keys")),
        Self("profile_url", .text, .needless("the provider's metadata name its userinfo endpoint")),
        Self("prompt", .text, .carried),
        Self("provider", .text, .carried, restricts: true),
        Self("provider_ca_file", .list, .carried),
        Self("provider_display_name", .text, .carried),
        Self("pubjwk_url", .text, .lost("login.gov has no type of its own; see docs/providers/oidc.md")),
        Self("redeem_url", .text, .carried),
        Self("resource", .text, .lost("the parameter 'resource' is not sent; write it in 'authorization_parameters'")),
        Self("scope", .text, .carried),
        Self(
            "skip_claims_from_profile_url",
            .flag,
            .needless("userinfo is read only for fields that the ID token lacks")
        ),
        Self("skip_oidc_discovery", .flag, .lost("the provider's metadata are always read")),
        Self("use_system_trust_store", .flag, .carried),
        Self("user_id_claim", .text, .carried),
        Self("validate_url", .text, .needless("sessions are confirmed by refresh token, userinfo or prompt=none")),
    ]

    private static let providerTypes: [OAuth2ProxyOption] = [
        Self("adfs_skip_scope", .flag, .needless("scopes are always sent; write 'scopes'")),
        Self("azure_graph_group_field", .text, .lost("groups of Microsoft are object IDs; write those in rules")),
        Self("azure_tenant", .text, .carried, restricts: true),
        Self("bitbucket_repository", .text, .carried, restricts: true),
        Self("bitbucket_team", .text, .carried, restricts: true),
        Self("entra_id_allowed_tenant", .list, .carried, restricts: true),
        Self(
            "entra_id_federated_token_auth",
            .flag,
            .lost("write 'client_assertion_file' of the provider instead of 'client_secret'")
        ),
        Self("github_org", .text, .carried, restricts: true),
        Self("github_repo", .text, .carried, restricts: true),
        Self("github_team", .text, .carried, restricts: true),
        Self("github_token", .secret, .needless("collaborators of a repository cannot be looked up")),
        Self("github_user", .list, .carried),
        Self("gitlab_group", .list, .carried, restricts: true),
        Self("gitlab_project", .list, .carried, restricts: true),
        Self("google_admin_api_user_scope", .text, .needless("groups are looked up with the user's own token")),
        Self("google_admin_email", .text, .needless("groups are looked up with the user's own token")),
        Self("google_group", .list, .carried, restricts: true),
        Self("google_service_account_json", .text, .needless("groups are looked up with the user's own token")),
        Self("google_target_principal", .text, .needless("groups are looked up with the user's own token")),
        Self(
            "google_use_application_default_credentials",
            .flag,
            .needless("groups are looked up with the user's own token")
        ),
        Self("google_use_organization_id", .flag, .lost("the name of the organization is not sent")),
        Self("keycloak_group", .list, .carried, restricts: true),
    ]

    private static let cookie: [OAuth2ProxyOption] = [
        Self("cookie_csrf_expire", .text, .needless("a sign-in expires after 10 minutes")),
        Self("cookie_csrf_per_request", .flag, .needless("each sign-in has its own cookie")),
        Self("cookie_csrf_per_request_limit", .text, .needless("at most five sign-ins of a browser are in progress")),
        Self("cookie_csrf_samesite", .text, .needless("cookies are SameSite=Lax")),
        Self(
            "cookie_domain",
            .list,
            .lost("each host has its own cookie; see docs/hosts.md for an app with several hosts")
        ),
        Self("cookie_expire", .text, .carried),
        Self("cookie_httponly", .flag, .needless("cookies are always HttpOnly")),
        Self("cookie_name", .text, .needless("the cookie is __Host-gatehouse, so both can run side by side")),
        Self("cookie_path", .text, .needless("cookies are for all paths of a host")),
        Self("cookie_refresh", .text, .carried),
        Self("cookie_samesite", .text, .needless("cookies are SameSite=Lax")),
        Self("cookie_secret", .secret, .carried),
        Self("cookie_secret_file", .text, .carried),
        Self("cookie_secure", .flag, .needless("cookies are Secure unless public_url is plain http on loopback")),
    ]

    private static let header: [OAuth2ProxyOption] = [
        Self("basic_auth_password", .secret, .carried),
        Self("pass_access_token", .flag, .carried),
        Self("pass_authorization_header", .flag, .carried),
        Self("pass_basic_auth", .flag, .carried),
        Self("pass_user_headers", .flag, .carried),
        Self(
            "prefer_email_to_user",
            .flag,
            .lost("X-Forwarded-User is always the user key; apps read X-Forwarded-Email")
        ),
        Self(
            "set_authorization_header",
            .flag,
            .lost("an app with 'forward_auth' gets it with 'identity: { authorization: id_token }'")
        ),
        Self("set_basic_auth", .flag, .lost("forward-auth returns the assertion in X-Gatehouse-Assertion")),
        Self(
            "set_xauthrequest",
            .flag,
            .lost(
                "apps with 'forward_auth' always get X-Auth-Request-*; 'upstream' is for apps to which the gateway forwards"
            )
        ),
        Self("skip_auth_strip_headers", .flag, .needless("identity headers of clients are always removed")),
    ]

    private static let localUsers =
        "hashes of htpasswd cannot be carried over; add the users to a provider of type local"

    private static let logging: [OAuth2ProxyOption] = [
        ("auth_logging", Kind.flag), ("auth_logging_format", .text), ("errors_to_info_log", .flag),
        ("exclude_logging_path", .list), ("logging_compress", .flag), ("logging_filename", .text),
        ("logging_local_time", .flag), ("logging_max_age", .text), ("logging_max_backups", .text),
        ("logging_max_size", .text), ("request_id_header", .text), ("request_logging", .flag),
        ("request_logging_format", .text), ("silence_ping_logging", .flag), ("standard_logging", .flag),
        ("standard_logging_format", .text),
    ].map { Self($0, $1, .needless("the gateway has its own log, on standard error; see docs/running.md")) }

    private static let page: [OAuth2ProxyOption] = [
        Self("banner", .text, .lost("write texts of the sign-in page in 'pages.texts'")),
        Self("custom_sign_in_logo", .text, .lost("write it as 'pages.logo'")),
        Self(
            "custom_templates_dir",
            .text,
            .lost("templates of pages are in 'pages.templates', with other names; see docs/pages.md")
        ),
        Self("display_htpasswd_form", .flag, .needless("a provider of type local has its form anyway")),
        Self("footer", .text, .lost("write texts of the sign-in page in 'pages.texts'")),
        Self(
            "show_debug_on_error",
            .flag,
            .needless("error pages have a code and an incident ID, the log has the rest")
        ),
        Self("ping_path", .text, .needless("/ping is on the operations listener")),
        Self("ping_user_agent", .text, .needless("/ping is on the operations listener")),
        Self("ready_path", .text, .needless("/readyz is on the operations listener")),
        Self("gcp_healthchecks", .flag, .needless("/livez and /readyz are on the operations listener")),
    ]
}

extension OAuth2ProxyOption {
    private static let proxy: [OAuth2ProxyOption] = [
        Self("allow_query_semicolons", .flag, .needless("queries are forwarded as they are")),
        Self(
            "api_route",
            .list,
            .needless("scripts get 401 with JSON, page navigations a redirect; see docs/headers.md")
        ),
        Self("authenticated_emails_file", .text, .carried, restricts: true),
        Self(
            "bearer_token_login_fallback",
            .flag,
            .lost("an invalid token gets 401 and never a redirect to the sign-in")
        ),
        Self("email_domain", .list, .carried, restricts: true),
        Self("encode_state", .flag, .needless("the state is URL-safe")),
        Self(
            "extra_jwt_issuers",
            .list,
            .lost(
                "write each in 'issuers', with its audience, and name it in 'machines' of the app; see docs/machines.md"
            )
        ),
        Self("force_https", .flag, .carried),
        Self("force_json_errors", .flag, .needless("scripts get errors as JSON")),
        Self("htpasswd_file", .text, .lost(OAuth2ProxyOption.localUsers)),
        Self("htpasswd_user_group", .list, .lost(OAuth2ProxyOption.localUsers)),
        Self("proxy_prefix", .text, .carried),
        Self(
            "real_client_ip_header",
            .text,
            .lost("the client IP comes from X-Forwarded-For or Forwarded of 'trusted_proxies'")
        ),
        Self("redirect_url", .text, .carried),
        Self("relative_redirect_url", .flag, .lost("callbacks are on the host of 'public_url' only")),
        Self("reverse_proxy", .flag, .carried),
        Self(
            "signature_key",
            .secret,
            .lost("GAP-Signature is not sent; 'identity: { signature: request }' of the app signs by RFC 9421")
        ),
        Self("skip_auth_preflight", .flag, .carried),
        Self("skip_auth_regex", .list, .carried),
        Self("skip_auth_route", .list, .carried),
        Self(
            "skip_jwt_bearer_tokens",
            .flag,
            .lost("bearer tokens of clients get 401; write 'issuers', and 'machines' of the app; see docs/machines.md")
        ),
        Self("skip_provider_button", .flag, .needless("with one provider the sign-in begins without a page")),
        Self("ssl_insecure_skip_verify", .flag, .lost("providers are always verified; write 'tls: { ca_file: … }'")),
        Self(
            "trusted_ip",
            .list,
            .lost(
                "these clients need a sign-in; write 'public: [{ path: /**, network: … }]' of the app, see docs/policy.md"
            )
        ),
        Self("trusted_proxy_ip", .list, .carried),
        Self("whitelist_domain", .list, .needless("after a sign-in the browser returns to the same host only")),
    ]

    private static let server: [OAuth2ProxyOption] = [
        Self("http_address", .text, .carried),
        Self("https_address", .text, .carried),
        Self("metrics_address", .text, .carried),
        Self(
            "metrics_secure_address",
            .text,
            .lost("the operations listener has no TLS; keep it on a private network")
        ),
        Self("metrics_tls_cert_file", .text, .lost("the operations listener has no TLS; keep it on a private network")),
        Self("metrics_tls_key_file", .text, .lost("the operations listener has no TLS; keep it on a private network")),
        Self("tls_cert_file", .text, .carried),
        Self("tls_key_file", .text, .carried),
        Self("tls_cipher_suite", .list, .needless("TLS 1.2 and 1.3 with current cipher suites")),
        Self("tls_min_version", .text, .needless("TLS 1.2 is the minimum")),
        Self("config", .text, .needless("name that file on the command line of this import too")),
        Self("alpha_config", .text, .needless("name that file on the command line of this import too, with --alpha")),
        Self("convert_config_to_alpha", .flag, .needless("it is a command")),
        Self("version", .flag, .needless("it is a command")),
    ]

    private static let session: [OAuth2ProxyOption] = [
        Self("redis_ca_path", .text, .carried),
        Self("redis_cluster_connection_urls", .list, .carried),
        Self("redis_connection_idle_timeout", .text, .needless("connections to Redis are kept and checked")),
        Self("redis_connection_url", .secret, .carried),
        Self(
            "redis_insecure_skip_tls_verify",
            .flag,
            .lost("Redis is always verified; write 'redis: { tls: { ca_file: … } }'")
        ),
        Self("redis_password", .secret, .carried),
        Self("redis_sentinel_connection_urls", .list, .carried),
        Self("redis_sentinel_master_name", .text, .carried),
        Self("redis_sentinel_password", .secret, .carried),
        Self("redis_use_cluster", .flag, .carried),
        Self("redis_use_sentinel", .flag, .carried),
        Self("redis_username", .text, .carried),
        Self("session_cookie_minimal", .flag, .needless("cookies hold no tokens")),
        Self("session_store_type", .text, .carried),
    ]

    private static let upstream: [OAuth2ProxyOption] = [
        Self(
            "disable_keep_alives",
            .flag,
            .lost("connections to apps are reused; 'reuse: never' in 'upstream' changes that")
        ),
        Self("flush_interval", .text, .needless("bodies are forwarded as they arrive")),
        Self("pass_host_header", .flag, .carried),
        Self("proxy_websockets", .flag, .carried),
        Self(
            "ssl_upstream_insecure_skip_verify",
            .flag,
            .lost("apps are always verified; write 'upstream: { tls: { ca_file: … } }'")
        ),
        Self("upstream", .list, .carried),
        Self("upstream_timeout", .text, .carried),
    ]
}
