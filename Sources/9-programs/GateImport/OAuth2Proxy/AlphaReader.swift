// SPDX-License-Identifier: Apache-2.0

internal import GateYAML

/// A header that oauth2-proxy adds to requests or responses.
struct HeaderInjection: Sendable {
    /// The source of a value.
    enum Value: Sendable {
        /// A claim of the session.
        case claim(String)
        /// A claim with a prefix, or as the user of Basic authentication.
        case composed(String)
        /// A text that is the same for all users, and may be a secret.
        case fixed
        case variable(String)
        case file(String)
    }

    let name: String
    let values: [Value]
    let isRequest: Bool
    let place: ImportPlace
}

/// One upstream of oauth2-proxy.
struct UpstreamDraft: Sendable {
    var path: String
    var url: String
    var rewrite: String?
    var status: Int?
    var passesHost = true
    var webSockets = true
    var skipsVerification = false
    var timeout: String?
    /// Whether all its keys are known.
    var isUnderstood = true
    var place: ImportPlace
}

/// Reads the alpha configuration of oauth2-proxy: options under other names, upstreams and headers.
struct AlphaReader {
    private(set) var upstreams: [UpstreamDraft] = []
    private(set) var headers: [HeaderInjection] = []

    /// The claims of the provider that a session has beside those that every session has.
    private(set) var additionalClaims: Set<String> = []
    /// Whether a key was found under which upstreams are listed.
    private(set) var hasUpstreams = false

    /// The keys of a provider, by path, and the options that they are.
    private static let providerKeys: [String: String] = [
        "clientID": "client_id", "clientSecret": "client_secret", "clientSecretFile": "client_secret_file",
        "provider": "provider", "name": "provider_display_name", "caFiles": "provider_ca_file",
        "useSystemTrustStore": "use_system_trust_store", "loginURL": "login_url", "redeemURL": "redeem_url",
        "profileURL": "profile_url", "skipClaimsFromProfileURL": "skip_claims_from_profile_url",
        "resource": "resource", "validateURL": "validate_url", "scope": "scope", "allowedGroups": "allowed_group",
        "code_challenge_method": "code_challenge_method", "codeChallengeMethod": "code_challenge_method",
        "backendLogoutURL": "backend_logout_url",
        "keycloakConfig.groups": "keycloak_group", "keycloakConfig.roles": "allowed_role",
        "azureConfig.tenant": "azure_tenant", "azureConfig.graphGroupField": "azure_graph_group_field",
        "microsoftEntraIDConfig.allowedTenants": "entra_id_allowed_tenant",
        "microsoftEntraIDConfig.federatedTokenAuth": "entra_id_federated_token_auth",
        "ADFSConfig.skipScope": "adfs_skip_scope", "bitbucketConfig.team": "bitbucket_team",
        "bitbucketConfig.repository": "bitbucket_repository", "githubConfig.org": "github_org",
        "githubConfig.team": "github_team", "githubConfig.repo": "github_repo", "githubConfig.token": "github_token",
        "githubConfig.users": "github_user", "gitlabConfig.group": "gitlab_group",
        "gitlabConfig.projects": "gitlab_project", "googleConfig.group": "google_group",
        "googleConfig.groups": "google_group", "googleConfig.adminEmail": "google_admin_email",
        "googleConfig.serviceAccountJson": "google_service_account_json",
        "googleConfig.useApplicationDefaultCredentials": "google_use_application_default_credentials",
        "googleConfig.targetPrincipal": "google_target_principal",
        "googleConfig.useOrganizationID": "google_use_organization_id", "oidcConfig.issuerURL": "oidc_issuer_url",
        "oidcConfig.insecureAllowUnverifiedEmail": "insecure_oidc_allow_unverified_email",
        "oidcConfig.insecureSkipIssuerVerification": "insecure_oidc_skip_issuer_verification",
        "oidcConfig.insecureSkipNonce": "insecure_oidc_skip_nonce", "oidcConfig.skipDiscovery": "skip_oidc_discovery",
        "oidcConfig.jwksURL": "oidc_jwks_url", "oidcConfig.emailClaim": "oidc_email_claim",
        "oidcConfig.groupsClaim": "oidc_groups_claim", "oidcConfig.userIDClaim": "user_id_claim",
        "oidcConfig.audienceClaims": "oidc_audience_claim", "oidcConfig.extraAudiences": "oidc_extra_audience",
        "loginGovConfig.jwtKey": "jwt_key", "loginGovConfig.jwtKeyFile": "jwt_key_file",
        "loginGovConfig.pubjwkURL": "pubjwk_url",
    ]

    /// Reads a file; options go to `reader`.
    mutating func read(
        _ file: ImportFile,
        into reader: inout OptionReader,
        _ notes: inout ImportNotes
    ) throws(ImportFailure) {
        let root = try SourceNode(file: file)
        guard root.isMapping else { throw ImportFailure("the alpha configuration is a mapping", at: root.place) }
        for (name, value) in root.entries {
            switch name {
            case "providers": self.read(providers: value, into: &reader, &notes)
            case "upstreamConfig": self.read(upstreams: value["upstreams"], &notes)
            // Versions before 7.4 have the list itself here.
            case "upstreams": self.read(upstreams: value, &notes)
            case "injectRequestHeaders": self.read(headers: value, isRequest: true, &notes)
            case "injectResponseHeaders": self.read(headers: value, isRequest: false, &notes)
            case "server": self.read(server: value, prefix: "", into: &reader, &notes)
            case "metricsServer": self.read(server: value, prefix: "metrics_", into: &reader, &notes)
            default: reader.addUnknown(name, at: value.owner, &notes)
            }
        }
    }

    private mutating func read(providers: SourceNode, into reader: inout OptionReader, _ notes: inout ImportNotes) {
        let list = providers.oneOrMany
        for other in list.dropFirst() {
            notes.warning("oauth2-proxy uses the first provider only; this one is not carried over", at: other.place)
        }
        guard let first = list.first else { return }
        for (name, value) in first.entries {
            switch name {
            case "id": continue
            case "additionalClaims": self.additionalClaims = Set(value.texts ?? [])
            case "loginURLParameters": self.read(parameters: value, into: &reader, &notes)
            case _ where name.hasSuffix("Config") && value.isMapping:
                for (inner, content) in value.entries {
                    self.add("\(name).\(inner)", content, into: &reader, &notes)
                }
            default: self.add(name, value, into: &reader, &notes)
            }
        }
    }

    private func add(_ key: String, _ value: SourceNode, into reader: inout OptionReader, _ notes: inout ImportNotes) {
        guard !value.isNull else { return }
        guard let option = AlphaReader.providerKeys[key] else { return reader.addUnknown(key, at: value.owner, &notes) }
        guard let texts = value.texts else {
            notes.warning(
                "the value of '\(key)' is not a text or a list of texts; it is not carried over",
                at: value.owner
            )
            reader.hideRestriction()
            return
        }
        reader.add(option, texts.map(AlphaReader.value), splits: false, .alpha, at: value.owner, &notes)
    }

    /// oauth2-proxy replaces `${NAME}` in this file by environment variables.
    private static func value(_ text: String) -> SourceValue {
        guard text.contains("${") else { return .literal(text) }
        let name = text.dropFirst(2).dropLast()
        let isWhole = text.hasPrefix("${") && text.hasSuffix("}") && ConfigText(environment: String(name)) != nil
        return isWhole ? .variable(String(name)) : .mixed
    }

    private func read(parameters: SourceNode, into reader: inout OptionReader, _ notes: inout ImportNotes) {
        let known = ["prompt": "prompt", "acr_values": "acr_values", "approval_prompt": "approval_prompt"]
        for parameter in parameters.elements ?? [] {
            guard let name = parameter["name"]?.text else { continue }
            let fixed = parameter["default"]?.texts ?? []
            guard let option = known[name], fixed.count == 1 else {
                let help = "parameters that are fixed can be written in 'authorization_parameters'"
                notes.warning(
                    "the login parameter \(Scalar.quoted(name)) is not carried over; \(help)",
                    at: parameter.place
                )
                continue
            }
            reader.add(option, [AlphaReader.value(fixed[0])], splits: false, .alpha, at: parameter.place, &notes)
        }
    }

    private func read(server: SourceNode, prefix: String, into reader: inout OptionReader, _ notes: inout ImportNotes) {
        let names =
            prefix.isEmpty
            ? ["bindaddress": "http_address", "securebindaddress": "https_address"]
            : ["bindaddress": "metrics_address", "securebindaddress": "metrics_secure_address"]
        for (key, value) in server.entries where !value.isNull {
            let folded = key.lowercased()
            if let option = names[folded], let text = value.text {
                guard text != "-" else { continue }
                reader.add(option, [.literal(text)], splits: false, .alpha, at: value.owner, &notes)
            } else if folded == "tls" {
                for (inner, source) in value.entries {
                    let option = "\(prefix)tls_\(inner.lowercased())_file"
                    guard let path = source["fromFile"]?.text, OAuth2ProxyOption.named(option) != nil else {
                        notes.warning(
                            "'TLS.\(Scalar.quoted(inner).dropFirst().dropLast())' is not carried over; write 'tls' of the listener",
                            at: source.owner
                        )
                        continue
                    }
                    reader.add(option, [.literal(path)], splits: false, .alpha, at: source.owner, &notes)
                }
            } else {
                reader.addUnknown(key, at: value.owner, &notes)
            }
        }
    }
}

extension AlphaReader {
    private mutating func read(upstreams: SourceNode?, _ notes: inout ImportNotes) {
        self.hasUpstreams = true
        for upstream in upstreams?.elements ?? [] {
            let path = upstream["path"]?.text ?? "/"
            var draft = UpstreamDraft(path: path, url: upstream["uri"]?.text ?? "", place: upstream.place)
            for (name, value) in upstream.entries where !value.isNull {
                switch name {
                case "id", "path", "uri", "flushInterval": break
                case "rewriteTarget": draft.rewrite = value.text
                case "static": if value.flag == true { draft.status = draft.status ?? 200 }
                case "staticCode": draft.status = value.text.flatMap { Int($0) } ?? 200
                case "passHostHeader": draft.passesHost = value.flag ?? true
                case "proxyWebSockets": draft.webSockets = value.flag ?? true
                case "insecureSkipTLSVerify": draft.skipsVerification = value.flag ?? false
                case "timeout": draft.timeout = value.text
                case "disableKeepAlives":
                    notes.note(
                        "'disableKeepAlives' is not carried over; 'reuse: never' in 'upstream' does that",
                        at: value.owner
                    )
                default:
                    notes.warning(
                        "\(Scalar.quoted(name)) of an upstream is unknown; the app is denied to all users",
                        at: value.owner
                    )
                    draft.isUnderstood = false
                }
            }
            self.upstreams.append(draft)
        }
    }

    private mutating func read(headers: SourceNode, isRequest: Bool, _ notes: inout ImportNotes) {
        for header in headers.elements ?? [] {
            guard let name = header["name"]?.text else { continue }
            if header["preserveRequestValue"]?.flag == true {
                let effect = "values of clients are always removed"
                notes.warning("'preserveRequestValue' is not carried over; \(effect)", at: header.place)
            }
            let values = (header["values"]?.elements ?? []).map(AlphaReader.headerValue)
            self.headers.append(HeaderInjection(name: name, values: values, isRequest: isRequest, place: header.place))
        }
    }

    private static func headerValue(_ node: SourceNode) -> HeaderInjection.Value {
        // Some versions nest the sources.
        let source = node["claimSource"] ?? node["secretSource"] ?? node
        if let claim = source["claim"]?.text {
            let isPlain = source["prefix"] == nil && source["basicAuthPassword"] == nil
            return isPlain ? .claim(claim) : .composed(claim)
        }
        if let name = source["fromEnv"]?.text { return .variable(name) }
        if let path = source["fromFile"]?.text { return .file(path) }
        return .fixed
    }
}
