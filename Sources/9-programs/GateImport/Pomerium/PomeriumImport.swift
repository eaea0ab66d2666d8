// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateYAML

/// Converts the configuration of Pomerium.
///
/// https://www.pomerium.com/docs/reference
struct PomeriumImport: ProductImport {
    static let product = "Pomerium"

    func configuration(
        from files: [ImportFile],
        _ notes: inout ImportNotes
    ) throws(ImportFailure) -> ImportedConfiguration {
        guard let file = files.first, files.count == 1 else {
            throw ImportFailure("an import of Pomerium takes one file")
        }
        let root = try SourceNode(file: file)
        var configuration = ImportedConfiguration()
        configuration.publicURL = root["authenticate_service_url"]?.text.flatMap { WebURL($0) }?.origin
        let isSound = self.addNotes(of: root, &notes)
        self.addListener(root, to: &configuration.gateway)
        let lifetime = root["cookie_expire"]?.text.flatMap { Duration(go: $0) } ?? .seconds(14 * 3600)
        let text = ConfigText(lifetime.clamped(60...(3650 * 86_400)))
        configuration.sessions.add("idle_timeout", text)
        configuration.sessions.add("lifetime", text)
        configuration.sessions.add("cookie", .word("persistent"))
        configuration.providers = [self.provider(root, &notes)]
        let routes = (root["routes"]?.elements ?? []) + (root["policy"]?.elements ?? [])
        guard !routes.isEmpty else { throw ImportFailure("the file has no 'routes'", at: root.place) }
        let type = configuration.providers[0].name
        let claims = PomeriumClaims(root, routes: routes, ofType: type, &notes)
        configuration.claims = claims.claims
        configuration.apps = PomeriumRoutes(
            publicHost: configuration.publicURL?.host,
            headers: self.identityHeaders(root, claims, &notes),
            claims: claims,
            passesIdentity: root["pass_identity_headers"]?.flag ?? false
        )
        .apps(routes, &notes)
        self.addLookups(to: &configuration)
        if !isSound { configuration.apps.deny() }
        return configuration
    }

    /// Groups are looked up where a rule needs them; Apple has none, so that no such rule could match.
    private func addLookups(to configuration: inout ImportedConfiguration) {
        guard let type = configuration.providers.first?.name else { return }
        for index in configuration.apps.indices where type == "apple" {
            if configuration.apps[index].denied.contains(where: \.usesGroups) {
                configuration.apps[index].access = .deniedToAll
            }
            configuration.apps[index].denied.removeAll { $0.usesGroups }
            guard case .conditions(let conditions) = configuration.apps[index].access else { continue }
            configuration.apps[index].access = .any(of: conditions.filter { !$0.usesGroups })
        }
        let usesGroups = configuration.apps.contains { app in
            guard case .conditions(let conditions) = app.access else { return !app.denied.isEmpty }
            return (conditions + app.denied).contains(where: \.usesGroups)
        }
        if usesGroups { configuration.providers[0].settings.add("groups", ImportedProvider.lookups(ofType: type)) }
    }

    private static let carried: Set<String> = [
        "authenticate_service_url", "address", "certificate_file", "certificate_key_file", "insecure_server",
        "cookie_expire", "idp_provider", "idp_provider_url", "idp_client_id", "idp_client_secret",
        "idp_client_secret_file", "idp_scopes", "idp_request_params", "routes", "policy", "pass_identity_headers",
        "jwt_claims_headers",
    ]
    private static let lost: [String: String] = [
        "idp_refresh_directory_interval": "groups come from the provider at sign-ins and re-checks",
        "idp_service_account": "groups are looked up with the user's own token",
        "autocert": "write 'tls' of the listener with certificates of an ACME client",
        "certificates": "write 'tls' of the listener with each certificate",
        "set_response_headers": "write 'response_headers' of each app",
        "certificate_authority": "write 'ca_file' of provider or upstream",
        "certificate_authority_file": "write 'ca_file' of provider or upstream",
        "runtime_flags": "features are keys of the file; see docs/configuration.md",
        "xff_num_trusted_hops": "write the networks of your proxies in 'trusted_proxies'",
        "use_proxy_protocol": "write 'proxy_protocol' of the listener",
    ]
    private static let needless: Set<String> = [
        "shared_secret", "shared_secret_file", "cookie_secret", "cookie_secret_file", "signing_key", "signing_key_file",
        "cookie_name", "cookie_domain", "cookie_http_only", "cookie_same_site", "log_level", "proxy_log_level",
        "databroker_storage_type", "databroker_storage_connection_string", "databroker_service_url", "pomerium_debug",
        "metrics_address", "services", "grpc_address", "http_redirect_addr", "authorize_service_url", "debug",
        "access_log_fields", "authenticate_callback_path", "signout_redirect_url", "timeout_read", "timeout_write",
        "timeout_idle", "codec_type", "dns_lookup_family", "skip_xff_append", "log_stackdriver_level", "audit_key",
        "autocert_dir", "autocert_email", "autocert_ca", "autocert_use_staging", "autocert_must_staple",
        "authorize_log_fields", "access_log_format", "installation_id", "metrics_basic_auth",
        "programmatic_redirect_domain_whitelist", "authenticate_internal_service_url",
        "authorize_internal_service_url", "databroker_internal_service_url", "idp_refresh_directory_timeout",
        "circuit_breaker_thresholds", "default_upstream_timeout", "envoy_admin_address", "envoy_admin_access_log_path",
        "envoy_bind_config_freebind", "envoy_bind_config_source_address", "shared_key", "jwt_issuer_format",
        "jwt_groups_filter", "insecure_idp", "google_cloud_serverless_authentication_service_account",
    ]

    /// Adds notes about global options; values are never shown, as some are secrets.
    ///
    /// - Returns: Whether no option is left out that may deny requests of all routes.
    private func addNotes(of root: SourceNode, _ notes: inout ImportNotes) -> Bool {
        var isSound = true
        for (name, value) in root.entries where !PomeriumImport.carried.contains(name) {
            if let reason = PomeriumImport.lost[name] {
                notes.warning("'\(name)' is not carried over: \(reason)", at: value.owner)
            } else if PomeriumImport.needless.contains(name) || name.hasPrefix("tracing_") || name.hasPrefix("grpc_") {
                notes.note("'\(name)' is not needed", at: value.owner)
            } else {
                isSound = false
                notes.warning(
                    "\(Scalar.quoted(name)) may narrow access and cannot be carried over; all apps are denied to all users",
                    at: value.owner
                )
            }
        }
        return isSound
    }

    private func addListener(_ root: SourceNode, to gateway: inout YAMLMapping) {
        var text = root["address"]?.text ?? ":443"
        if text.hasPrefix(":") { text = "0.0.0.0\(text)" }
        guard let address = BindAddress(text) else { return }
        var listener = YAMLMapping()
        listener.add("address", ConfigText(address.description))
        if let certificate = root["certificate_file"]?.text.flatMap({ ConfigText($0) }),
            let key = root["certificate_key_file"]?.text.flatMap({ ConfigText($0) })
        {
            var files = YAMLMapping()
            files.add("certificate", certificate)
            files.add("private_key", key)
            listener.add("tls", .list([.mapping(files)]))
        } else if root["insecure_server"]?.flag != true {
            // Without its certificates a listener on this port would be plain HTTP.
            return
        }
        gateway.add("listeners", .list([.mapping(listener)]))
    }

    /// What the routes with `pass_identity_headers` send: the assertion, and the claims of `jwt_claims_headers`, by names of its own or as
    /// `X-Pomerium-Claim-…`.
    private func identityHeaders(
        _ root: SourceNode,
        _ claims: PomeriumClaims,
        _ notes: inout ImportNotes
    ) -> ImportedHeaders {
        var headers = ImportedHeaders(claims: claims.claims, user: claims.hasOwnSubject ? .user : .subject)
        _ = headers.add("X-Pomerium-Jwt-Assertion", .assertion)
        guard let node = root["jwt_claims_headers"] else { return headers }
        for (name, claim) in claims.headers {
            if case .left(let reason) = headers.add(name, claim: claim) {
                notes.warning("the header \(Scalar.quoted(name)) is not carried over: \(reason)", at: node.owner)
            } else if ["user", "sub"].contains(claim), claims.hasOwnSubject || name.lowercased() == "x-forwarded-user" {
                notes.warning(
                    "\(Scalar.quoted(name)) is the user key, 'provider:subject'; Pomerium sends the subject alone",
                    at: node.owner
                )
            }
        }
        let difference = "a claim that a user lacks has no header, with Pomerium an empty one"
        headers.warnOfForm(difference, at: node.owner, &notes)
        return headers
    }

    private static let types: [String: String] = [
        "google": "google", "github": "github", "gitlab": "gitlab", "azure": "microsoft", "okta": "okta",
        "auth0": "auth0", "apple": "apple",
    ]

    private func provider(_ root: SourceNode, _ notes: inout ImportNotes) -> ImportedProvider {
        let source = root["idp_provider"]?.text?.lowercased() ?? ""
        let type = PomeriumImport.types[source] ?? "oidc"
        if root["idp_provider"] == nil {
            notes.warning(
                "there is no 'idp_provider' (a hosted service signs users in); register a client at your provider and write it",
                at: root.place
            )
        } else {
            let callback = "<public_url>\(EndpointPrefix.standard.path("callback"))/\(type)"
            notes.note(
                "register the callback \(callback) at the provider beside the one of Pomerium",
                at: root["idp_provider"]?.owner
            )
        }
        var entry = YAMLMapping()
        entry.add("type", .word(type))
        self.addIssuer(root["idp_provider_url"], type: type, to: &entry, &notes)
        entry.add("client_id", root["idp_client_id"]?.text.flatMap { ConfigText($0) })
        let variable = "\(type.uppercased())_CLIENT_SECRET"
        if let file = root["idp_client_secret_file"]?.text.flatMap({ ConfigText(file: $0) }) {
            entry.add("client_secret", file)
        } else {
            entry.add("client_secret", ConfigText(environment: variable))
            let place = root["idp_client_secret"]?.owner ?? root.place
            notes.note(
                "the secret 'idp_client_secret' is not copied; put it into the environment variable \(variable)",
                at: place
            )
        }
        if ["oidc", "okta", "auth0"].contains(type), let scopes = root["idp_scopes"]?.texts {
            let words = scopes.flatMap { $0.split { $0 == " " || $0 == "," } }
            entry.add("scopes", .texts(words.compactMap { ConfigText(String($0)) }))
        }
        var parameters = YAMLMapping()
        for (name, value) in root["idp_request_params"]?.entries ?? []
        where ["prompt", "acr_values", "login_hint"].contains(name) {
            parameters.add(name, value.text.flatMap { ConfigText($0) })
        }
        entry.add("authorization_parameters", parameters)
        return ImportedProvider(name: type, settings: entry)
    }

    private func addIssuer(_ node: SourceNode?, type: String, to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        guard let node, let text = node.text, let url = WebURL(text) else {
            if ["oidc", "okta", "auth0"].contains(type) {
                notes.warning("the URL of the provider is not known; write it as 'issuer'", at: node?.owner)
            }
            return
        }
        switch type {
        case "microsoft":
            let tenant = url.path.split(separator: "/").first.flatMap { ConfigText(String($0)) }
            entry.add("tenant", tenant)
            notes.warning(
                "email addresses of Microsoft count only if they are verified; see 'trust_email' in docs/providers/microsoft.md",
                at: node.owner
            )
        case "github", "gitlab":
            if !["github.com", "gitlab.com"].contains(url.origin.host) {
                entry.add("base_url", ConfigText(url.origin.description))
            }
        case "google", "apple": break
        default:
            let issuer = text.hasSuffix("/") && url.path == "/" && type != "auth0" ? String(text.dropLast()) : text
            entry.add("issuer", ConfigText(issuer))
        }
    }
}
