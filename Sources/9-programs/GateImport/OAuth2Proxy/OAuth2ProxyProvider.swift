// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts the provider of oauth2-proxy.
struct OAuth2ProxyProvider {
    let settings: OptionSettings

    /// The types of oauth2-proxy and ours; all others are OpenID Connect providers, if they have an issuer.
    private static let types: [String: String] = [
        "google": "google", "github": "github", "gitlab": "gitlab", "azure": "microsoft", "entra-id": "microsoft",
        "keycloak-oidc": "keycloak", "keycloak": "keycloak", "facebook": "facebook", "linkedin": "linkedin",
    ]

    /// The name that oauth2-proxy gives the type.
    private var source: String { self.settings.text("provider")?.lowercased() ?? "google" }

    /// Our type.
    var type: String { OAuth2ProxyProvider.types[self.source] ?? "oidc" }

    /// The name of the provider in the result.
    var name: String { self.type }

    /// Whether the provider's tokens can be of one known tenant of Microsoft only.
    var singleTenant: String? {
        let tenants = self.tenants
        return tenants.count == 1 ? tenants[0] : nil
    }

    func converted(_ notes: inout ImportNotes) -> ImportedProvider {
        var entry = YAMLMapping()
        entry.add("type", .word(self.type))
        entry.add("name", self.settings.scalar("provider_display_name", &notes))
        self.addRegistration(to: &entry, &notes)
        switch self.type {
        case "microsoft": self.addTenants(to: &entry, &notes)
        case "github", "gitlab", "google", "facebook", "linkedin": self.addBase(to: &entry, &notes)
        default: self.addIssuer(to: &entry, &notes)
        }
        self.addLookups(to: &entry)
        self.addProtocol(to: &entry, &notes)
        self.addProfile(to: &entry, &notes)
        return ImportedProvider(name: self.name, settings: entry)
    }

    private func addRegistration(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        if self.settings["client_id"] == nil {
            notes.warning("there is no 'client_id'; name the file that has it too, or write it by hand", at: nil)
        }
        entry.add("client_id", self.settings.scalar("client_id", &notes))
        let variable = "\(self.name.uppercased())_CLIENT_SECRET"
        if let secret = self.settings.reference("client_secret", variable: variable, &notes) {
            entry.add("client_secret", secret)
        } else if let path = self.settings.text("client_secret_file"), let file = ConfigText(file: path) {
            entry.add("client_secret", file)
        } else {
            entry.add("client_secret", ConfigText(environment: variable))
            notes.warning("there is no 'client_secret'; put it into the environment variable \(variable)", at: nil)
        }
    }

    private func addIssuer(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        if let issuer = self.settings.scalar("oidc_issuer_url", &notes) {
            entry.add("issuer", issuer)
            if let url = self.settings.text("oidc_issuer_url").flatMap({ WebURL($0) }), !url.origin.isSecure,
                !url.origin.isLoopback
            {
                let place = self.settings["oidc_issuer_url"]?.place
                notes.warning("plain http to a provider is accepted on loopback only; use its https URL", at: place)
            }
            if let login = self.settings.scalar("login_url", &notes) { entry.add("authorization_endpoint", login) }
        } else if self.type == "keycloak", let login = self.settings.text("login_url"),
            let end = login.firstRange(of: "/protocol/openid-connect/"), WebURL(login) != nil
        {
            entry.add("issuer", ConfigText(String(login[..<end.lowerBound])))
        } else {
            let place = self.settings["provider"]?.place
            notes.warning(
                "the provider \(Scalar.quoted(self.source)) has no type of its own here and no 'oidc_issuer_url'; write 'issuer', or "
                    + "'type: oauth2' with its endpoints",
                at: place
            )
        }
        guard !["oidc", "keycloak", "keycloak-oidc"].contains(self.source) else { return }
        let text =
            "the provider \(Scalar.quoted(self.source)) is carried over as type \(self.type); compare the profile with `gatehouse try`"
        notes.warning(text, at: self.settings["provider"]?.place)
    }

    /// The server of a provider that can be self-hosted.
    private func addBase(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        let issuer = self.type == "gitlab" ? "oidc_issuer_url" : "login_url"
        let publicHosts: Set = [
            "github.com", "gitlab.com", "accounts.google.com", "www.facebook.com", "www.linkedin.com",
        ]
        guard let setting = self.settings[issuer], let text = setting.texts.last else { return }
        guard let url = WebURL(text) else {
            return notes.warning("'\(issuer)' is not a URL; write 'base_url' by hand", at: setting.place)
        }
        guard !publicHosts.contains(url.origin.host) else { return }
        guard self.type == "github" || self.type == "gitlab" else {
            return notes.warning(
                "'\(issuer)' is not carried over: it is not the URL of \(self.type)",
                at: setting.place
            )
        }
        entry.add("base_url", ConfigText(url.origin.description))
    }

    private var tenants: [String] {
        let allowed = self.settings.list("entra_id_allowed_tenant")
        if !allowed.isEmpty { return allowed }
        if let tenant = self.settings.text("azure_tenant") { return [tenant] }
        guard let issuer = self.settings.text("oidc_issuer_url").flatMap({ WebURL($0) }) else { return [] }
        return issuer.path.split(separator: "/").first.map { [String($0)] } ?? []
    }

    private func addTenants(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        let tenants = self.tenants
        let open: Set = ["common", "organizations", "consumers"]
        if tenants.count == 1, let tenant = ConfigText(tenants[0]) {
            entry.add("tenant", tenant)
        } else if tenants.count > 1 {
            entry.add("tenant", .word("organizations"))
            entry.add("tenants", .texts(tenants.compactMap { ConfigText($0) }))
        }
        guard let tenant = self.singleTenant, !open.contains(tenant.lowercased()) else {
            let place = self.settings["azure_tenant"]?.place ?? self.settings["provider"]?.place
            notes.warning(
                "email addresses of several tenants count only with the claim 'xms_edov'; see docs/providers/microsoft.md",
                at: place
            )
            return
        }
        entry.add("trust_email", .flag(true))
        notes.note(
            "'trust_email: true' trusts the administrators of the tenant with email addresses, as oauth2-proxy does",
            at: self.settings["provider"]?.place
        )
    }

    private func addLookups(to entry: inout YAMLMapping) {
        let groups = OAuth2ProxyAccess.groupOptions.contains { !self.settings.list($0).isEmpty }
        guard groups || self.settings["github_org"] != nil || self.settings["github_team"] != nil else { return }
        entry.add("groups", ImportedProvider.lookups(ofType: self.type))
    }

    private func addProtocol(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        self.addScopes(to: &entry, &notes)
        var parameters = YAMLMapping()
        parameters.add("prompt", self.settings.scalar("prompt", &notes))
        parameters.add("acr_values", self.settings.scalar("acr_values", &notes))
        entry.add("authorization_parameters", parameters)
        if ["oidc", "keycloak", "gitlab"].contains(self.type) {
            entry.add(
                "trusted_audiences",
                .texts(self.settings.list("oidc_extra_audience").compactMap { ConfigText($0) })
            )
        }
        let files = self.settings.list("provider_ca_file")
        guard let setting = self.settings["provider_ca_file"], let file = files.first, let path = ConfigText(file)
        else { return }
        if files.count > 1 || self.settings.flag("use_system_trust_store", else: false) {
            notes.warning(
                "'ca_file' is the only file that is trusted; put all certificates of authorities into it",
                at: setting.place
            )
        }
        var tls = YAMLMapping()
        tls.add("ca_file", path)
        entry.add("tls", tls)
    }

    private func addScopes(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        let isShaped = ["oidc", "keycloak"].contains(self.type)
        if let setting = self.settings["scope"], let text = setting.texts.last {
            guard isShaped else {
                return notes.note(
                    "'scope' is not needed: type \(self.type) asks for what it uses; 'scopes' changes that",
                    at: setting.place
                )
            }
            let scopes = text.split { $0 == " " || $0 == "+" }.compactMap { ConfigText(String($0)) }
            return entry.add("scopes", .texts(scopes))
        }
        // oauth2-proxy adds this scope to those of a generic provider when groups are restricted.
        guard self.source == "oidc", !self.settings.list("allowed_group").isEmpty else { return }
        entry.add("scopes", .list(["openid", "email", "profile", "groups"].map { .word($0) }))
    }

    private func addProfile(to entry: inout YAMLMapping, _ notes: inout ImportNotes) {
        var profile = YAMLMapping()
        for name in ["oidc_email_claim", "user_id_claim"] {
            guard let setting = self.settings[name], let claim = setting.texts.last, claim != "email" else { continue }
            guard !profile.has("email"), let sources = ClaimPath(claim)?.sources() else { continue }
            profile.add("email", sources)
            let help =
                "add 'email_verified' to 'profile' if the provider can be trusted for it; until then no rule on email addresses matches"
            notes.warning(
                "an email address from \(Scalar.quoted(claim)) counts as not verified; \(help)",
                at: setting.place
            )
        }
        if let setting = self.settings["oidc_groups_claim"], let claim = setting.texts.last, claim != "groups" {
            profile.add("groups", ClaimPath(claim)?.sources())
            if ClaimPath(claim) == nil {
                notes.warning(
                    "the claim \(Scalar.quoted(claim)) cannot be written in 'profile'; write it by hand",
                    at: setting.place
                )
            }
        }
        if self.type == "keycloak", !self.settings.list("allowed_role").isEmpty {
            let help = "add a mapper that puts realm roles into the ID token; see docs/providers/keycloak.md"
            notes.warning(
                "oauth2-proxy reads roles from the access token, the gateway does not; \(help)",
                at: self.settings["allowed_role"]?.place
            )
        }
        entry.add("profile", profile)
    }
}
