// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders
package import GateYAML

/// One provider as the file has it.
package struct ProviderDraft: Sendable {
    /// Its kind.
    package var type: ProviderType?
    var name: String?
    var icon: String?
    var domains: [String]?
    var clientID: String?
    var clientSecret: Secret?
    var clientAuthentication: Located<ProviderDefinition.ClientAuthentication>?
    var clientAssertionFile: Located<String>?
    var privateKey: Secret?
    var keyID: String?
    var certificate: String?
    var teamID: String?
    var issuer: String?
    /// The URL of a self-hosted server.
    package var baseURL: WebURL?
    var apiURL: WebURL?
    var authorizationEndpoint: WebURL?
    var metadataURL: WebURL?
    var tokenEndpoint: WebURL?
    var userinfoEndpoint: WebURL?
    var keysURL: WebURL?
    var tenant: String?
    var tenants: Located<[String]>?
    var trustsEmail: Located<Bool>?
    var hostedDomains: Located<[String]>?
    var workspaces: Located<[String]>?
    var app: GitHubRegistration?
    var rejectsNoreply: Bool?
    var apiVersion: String?
    var groups: Located<[Located<String>]>?
    var scopes: Located<[String]>?
    /// How the provider returns the authorization response.
    package var responseMode: Located<ProviderDefinition.ResponseMode>?
    var pkce: Located<ProviderDefinition.PKCERule>?
    var nonce: Located<ProviderDefinition.NonceRule>?
    var signatureAlgorithms: Located<[SignatureAlgorithm]>?
    var clockLeeway: Duration?
    var trustedAudiences: Located<[String]>?
    var idTokenLifetime: Duration?
    var keysMaxStale: Duration?
    var maxConnections: Int?
    var requiresIssuer: Bool?
    var pushesAuthorization: Bool?
    var revokesTokens: Bool?
    var authorizationParameters: [Named<String>]?
    var tls: ProviderTLSDraft?
    var proxy: WebURL?
    var profile: [Named<[Located<String>]>]?
    var claims: [Named<[Located<String>]>]?
    var linkLifetime: Duration?
    var breachedPasswords: String?
    /// Who may register for a local account.
    package var registration: Located<RegistrationSettings>?

    /// Whether its users are local accounts.
    package var isLocal: Bool { self.type == .local }
}

extension ProviderDraft {
    /// Other names of the types, and products that the type `oidc` is for.
    static let otherNamesOfTypes: [String: String] = {
        let names = [
            "microsoft": [
                "azure", "azuread", "azure-ad", "azure_ad", "aad", "entra", "entraid", "entra-id", "entra_id", "msft",
                "ms",
                "office365", "outlook", "live",
            ],
            "google": ["gsuite", "workspace", "google-workspace", "google_workspace", "gmail", "gcp"],
            "github": ["ghe", "github-enterprise", "github_enterprise"],
            "facebook": ["meta", "instagram"],
            "oidc": [
                "openid", "openidconnect", "openid-connect", "openid_connect", "adfs", "authelia", "authentik",
                "canaille",
                "cognito", "dex", "fusionauth", "hydra", "ibm", "jumpcloud", "kanidm", "lemonldap", "onelogin", "ory",
                "pingfederate", "pingidentity", "salesforce", "zitadel",
            ],
            "oauth2": ["oauth", "oauth-2", "custom", "generic"],
            "local": ["accounts", "basic", "htpasswd", "password", "passwords"],
        ]
        let pairs = names.flatMap { type, others in others.map { ($0, type) } }
        return Dictionary(pairs) { first, _ in first }
    }()
}

/// How the gateway is registered at GitHub.
enum GitHubRegistration: String, Sendable, CaseIterable {
    case oauthApp = "oauth_app"
    case gitHubApp = "github_app"
}

/// A provider's `tls` as the file has it.
struct ProviderTLSDraft: Sendable {
    var caFile: String?
    var certificate: String?
    var privateKey: String?
    var pins: PinSetDraft?

    /// The certificate of the gateway's own with its key; nil unless both are there.
    var shown: CertificateFiles? {
        guard let certificate, let privateKey else { return nil }
        return CertificateFiles(certificate: certificate, privateKey: privateKey)
    }
}

extension Mapping<ProviderDraft> {
    /// An entry of `providers`.
    package static let provider = Mapping(
        "a provider",
        path: "providers.<name>",
        summary:
            "An identity provider. The name is part of every user key and of the callback, "
            + "`/oauth2/callback/<name>`.",
        make: { ProviderDraft() },
        keys: keys,
        check: { provider, written, reading in provider.check(written, keys, &reading) }
    )

    private static let keys =
        registrationKeys + addressKeys + restrictionKeys + protocolKeys + identityKeys + localKeys
}

extension Mapping<ProviderTLSDraft> {
    /// `providers.<name>.tls`.
    static let providerTLS = Mapping(
        "a provider's tls",
        path: "providers.<name>.tls",
        summary: "How the provider's server is verified. Verification is never off.",
        make: { ProviderTLSDraft() },
        keys: [
            Key(
                "ca_file",
                \.caFile,
                .certificatesFile,
                .init(default: .words("the system's certificates"), example: "tls/private-ca.pem"),
                "A PEM file with the only certificates to trust for this provider; relative to the folder of this file."
            ),
            Key(
                "certificate",
                \.certificate,
                .certificatesFile,
                .init(default: .words("none"), example: "tls/client.pem"),
                "The PEM file of the certificate chain, leaf first, that the gateway shows to the provider's hosts (mutual TLS, RFC "
                    + "8705); with `private_key`. Without a `client_secret` it is what authenticates the gateway."
            ),
            Key(
                "private_key",
                \.privateKey,
                .existingKeyFile,
                .init(default: .words("none"), example: "tls/client.key"),
                "The PEM file of the private key of `certificate`, without a pass phrase."
            ),
            Key(
                "pins",
                \.pins,
                .pins,
                .init(default: .words("none"), example: "google-roots"),
                "The keys or certificates that the provider's hosts have to present, in addition to a valid chain: "
                    + "`google-roots`, `github-roots`, `microsoft-roots`, or a mapping. All URLs must be https."
            ),
        ],
        check: { _, written, reading in reading.requireBothTLSFiles(written.keys) }
    )
}

extension ProviderDraft {
    /// The settings of a complete provider, or nil if a required part is missing.
    package func settings(id: String) -> ProviderSettings? {
        if self.type == .local { return self.settings(id: id, type: .local, clientID: "") }
        guard let type = self.type, let clientID = self.clientID,
            self.clientSecret != nil || self.privateKey != nil || self.clientAssertionFile != nil
                || self.tls?.shown != nil
        else { return nil }
        return self.settings(id: id, type: type, clientID: clientID)
    }

    /// The settings, as far as they are written.
    func settings(id: String, type: ProviderType, clientID: String) -> ProviderSettings {
        let secret = self.clientSecret ?? Secret([])
        var settings = ProviderSettings(id: id, type: type, clientID: clientID, clientSecret: secret)
        settings.name = self.name
        settings.icon = self.icon
        settings.domains = (self.domains ?? []).map { $0.lowercased() }
        settings.clientAuthentication = self.clientAuthentication?.value
        settings.privateKey = self.privateKey
        settings.clientAssertionFile = self.clientAssertionFile?.value
        settings.keyID = self.keyID
        settings.certificate = self.certificate
        settings.teamID = self.teamID
        settings.issuer = self.issuer
        settings.baseURL = self.baseURL
        settings.apiURL = self.apiURL
        settings.authorizationEndpoint = self.authorizationEndpoint
        settings.metadataURL = self.metadataURL
        settings.tokenEndpoint = self.tokenEndpoint
        settings.userinfoEndpoint = self.userinfoEndpoint
        settings.keysURL = self.keysURL
        settings.tenant = self.tenant
        settings.tenants = self.tenants?.value ?? []
        settings.trustsEmail = self.trustsEmail?.value ?? false
        settings.hostedDomains = self.hostedDomains?.value ?? []
        settings.workspaces = self.workspaces?.value ?? []
        settings.isGitHubApp = self.app.map { $0 == .gitHubApp }
        settings.rejectsNoreply = self.rejectsNoreply ?? false
        settings.apiVersion = self.apiVersion
        settings.groups = (self.groups?.value ?? []).map(\.value)
        settings.scopes = self.scopes?.value
        settings.responseMode = self.responseMode?.value
        settings.pkce = self.pkce?.value
        settings.nonce = self.nonce?.value
        settings.signatureAlgorithms = self.signatureAlgorithms?.value
        settings.clockLeeway = self.clockLeeway
        settings.trustedAudiences = self.trustedAudiences?.value ?? []
        settings.idTokenLifetime = self.idTokenLifetime
        settings.keysMaxStale = self.keysMaxStale
        settings.maxConnections = self.maxConnections
        settings.requiresIssuer = self.requiresIssuer
        settings.pushesAuthorization = self.pushesAuthorization ?? false
        settings.revokesTokens = self.revokesTokens
        settings.authorizationParameters = (self.authorizationParameters ?? []).map { Form.Field($0.name, $0.value) }
        settings.caFile = self.tls?.caFile
        settings.shownCertificate = self.tls?.shown
        settings.pins = self.tls?.pins?.policy
        settings.proxy = self.proxy
        settings.local.linkLifetime = self.linkLifetime ?? settings.local.linkLifetime
        settings.local.breachedPasswords = self.breachedPasswords
        settings.local.registration = self.registration?.value
        settings.profile = Dictionary((self.profile ?? []).map { ($0.name, $0.value.map(\.value)) }) { first, _ in first
        }
        settings.claims = Dictionary((self.claims ?? []).map { ($0.name, $0.value.map(\.value)) }) { first, _ in first }
        return settings
    }
}

extension Key.Traits {
    /// The traits of a key that only some types of provider have or need, as the catalogue defines.
    static func of(_ setting: ProviderSetting, `default`: KeyDefault? = nil, example: JSON? = nil) -> Self {
        let everyone: Set<ProviderSetting> = [
            .authorizationEndpoint, .clientSecret, .clientAssertionFile, .privateKey, .keyID, .certificate,
        ]
        let types = everyone.contains(setting) ? nil : setting.types.map(\.name)
        return Key.Traits(
            default: `default`,
            example: example,
            types: types,
            requiredBy: setting.requiredBy.map(\.name)
        )
    }
}

extension DecodingContext {
    /// A certificate that is shown goes with its key.
    package mutating func requireBothTLSFiles(_ keys: [String: YAMLMark]) {
        for (one, other) in [("certificate", "private_key"), ("private_key", "certificate")] {
            guard let mark = keys[one], keys[other] == nil else { continue }
            let example = "'\(other): tls/client.\(other == "certificate" ? "pem" : "key")'"
            self.error("'\(one)' needs '\(other)', such as \(example)", at: mark)
        }
    }
}
