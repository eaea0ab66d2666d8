// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The configuration of one provider.
package struct ProviderSettings: Sendable, Hashable {
    /// The name in the file: `[a-z0-9][a-z0-9_-]{0,62}`; part of the callback address and of every user key.
    package var id: String
    /// What kind of provider it is.
    package var type: ProviderType
    /// The text of the button; nil for the type's own wording.
    package var name: String?
    /// The path of the file with the mark on its button.
    package var icon: String?
    /// The domains of email addresses whose users the sign-in page sends here, in lower case.
    package var domains: [String] = []
    /// The id that the provider gave us.
    package var clientID: String
    /// The secret that the provider gave us; empty if a key or a file proves who we are, or for a public client.
    package var clientSecret: Secret
    /// How we prove who we are; nil for the type's own way.
    package var clientAuthentication: ProviderDefinition.ClientAuthentication?
    /// The PEM text of the private key that proves who we are.
    package var privateKey: Secret?
    /// The path of the file with the JWT that proves who we are.
    package var clientAssertionFile: String?
    /// The name of that key at the provider.
    package var keyID: String?
    /// The PEM text of that key's certificate.
    package var certificate: String?
    /// `apple` only: the team that the key belongs to.
    package var teamID: String?
    /// The issuer, exactly as the provider spells it, where it is not fixed.
    package var issuer: String?
    /// The address of an own server, a national cloud or a simulator.
    package var baseURL: WebURL?
    /// The address of the provider's API, if it differs from what the type derives.
    package var apiURL: WebURL?
    /// Where the browser is sent to sign in, if that differs from the provider's metadata.
    package var authorizationEndpoint: WebURL?
    /// Where codes are redeemed, if that differs from the provider's metadata.
    package var tokenEndpoint: WebURL?
    /// Where the metadata is, if that is not below the issuer.
    package var metadataURL: WebURL?
    /// Where the claims about a user are, if that differs from the provider's metadata.
    package var userinfoEndpoint: WebURL?
    /// Where the keys are, if that differs from the provider's metadata.
    package var keysURL: WebURL?
    /// `microsoft` only: a tenant id, a verified domain, `organizations`, `common` or `consumers`.
    package var tenant: String?
    /// `microsoft` only: the ids of the tenants that may sign in, in lower case; empty admits all that `tenant` names.
    package var tenants: [String] = []
    /// `microsoft` with one tenant only: whether its administrators' word is enough for an e-mail address.
    package var trustsEmail = false
    /// `google` only: the Workspace domains that may sign in, in lower case; empty admits every Google account.
    package var hostedDomains: [String] = []
    /// `slack` only: the ids of the workspaces that may sign in; empty admits all.
    package var workspaces: [String] = []
    /// `github` only: whether we are registered as a GitHub App; nil to detect it by the format of the client id.
    package var isGitHubApp: Bool?
    /// `github` only: whether addresses that GitHub made up do not count as e-mail addresses.
    package var rejectsNoreply = false
    /// The version of the API, for the types that have one in their addresses.
    package var apiVersion: String?
    /// What is looked up at the provider: names of ``ProviderType/lookups``.
    package var groups: [String] = []
    /// The scopes to ask for; nil for the type's own.
    package var scopes: [String]?
    /// How the provider sends the browser back; nil for the type's own way.
    package var responseMode: ProviderDefinition.ResponseMode?
    /// When a challenge is sent; nil for the type's own rule.
    package var pkce: ProviderDefinition.PKCERule?
    /// What holds for the nonce; nil for the type's own rule.
    package var nonce: ProviderDefinition.NonceRule?
    /// The algorithms that ID tokens may be signed with; nil for the type's own.
    package var signatureAlgorithms: [SignatureAlgorithm]?
    /// The audiences that an ID token may name beside us.
    package var trustedAudiences: [String] = []
    /// How long an ID token may live; nil for a day.
    package var idTokenLifetime: Duration?
    /// How long keys are used that could not be fetched again; nil for a day.
    package var keysMaxStale: Duration?
    /// How many connections to the provider there may be; nil for 16.
    package var maxConnections: Int?
    /// How far the provider's clock and ours may differ; nil for a minute.
    package var clockLeeway: Duration?
    /// Whether a callback must name its issuer; nil leaves it to the provider's metadata.
    package var requiresIssuer: Bool?
    /// Whether the authorization request is sent ahead, RFC 9126.
    package var pushesAuthorization = false
    /// Whether tokens are revoked when the user signs out; nil for the type's own rule.
    package var revokesTokens: Bool?
    /// What is added to the authorization request, over the type's own parameters.
    package var authorizationParameters: [Form.Field] = []
    /// A PEM file with the only certificates to trust for this provider; nil for the system's.
    package var caFile: String?
    /// The certificate of the gateway's own that is shown to its hosts, with its key; nil for none.
    package var shownCertificate: CertificateFiles?
    /// The keys or certificates that its hosts have to show; nil to trust whom the authorities vouch for.
    package var pins: PinPolicy?
    /// The HTTP proxy that its hosts are reached through, with a `CONNECT` tunnel; nil for none.
    package var proxy: WebURL?
    /// `local` only: what other types do not have.
    package var local = LocalAccountSettings()
    /// Overrides of the profile mapping: a field's name and its chain of sources, as written.
    package var profile: [String: [String]] = [:]
    /// The claims beyond the profile: a name and its chain of sources, as written.
    package var claims: [String: [String]] = [:]
    /// The fields that some app or client gets because it names them: userinfo is called for those that it alone has.
    package var usedFields: Set<ProfileField> = []

    /// Whether this is the public service and not an own server.
    func isAt(publicHost: String) -> Bool { self.baseURL.map { $0.origin.host == publicHost } ?? true }

    /// Settings with what every provider has.
    package init(id: String, type: ProviderType, clientID: String, clientSecret: Secret) {
        self.id = id
        self.type = type
        self.clientID = clientID
        self.clientSecret = clientSecret
    }
}

extension ProviderSettings {
    /// The settings that decide who may sign in and as which user: a change of one of them invalidates sessions.
    ///
    /// The URLs and the client authentication are not among them. A setting that is not set is an
    /// empty text, and new settings go to the end only if they are set, so that an upgrade ends no session.
    package var admissionTerms: [(name: String, value: String)] {
        var terms: [(name: String, value: String)] = [
            ("type", self.type.name), ("client_id", self.clientID), ("issuer", self.issuer ?? ""),
            ("base_url", self.baseURL.map { "\($0)" } ?? ""), ("api_url", self.apiURL.map { "\($0)" } ?? ""),
            ("token_endpoint", self.tokenEndpoint.map { "\($0)" } ?? ""), ("tenant", self.tenant ?? ""),
            ("tenants", ProviderSettings.joined(self.tenants)), ("trust_email", "\(self.trustsEmail)"),
            ("hosted_domains", ProviderSettings.joined(self.hostedDomains)),
            ("workspaces", ProviderSettings.joined(self.workspaces)), ("reject_noreply", "\(self.rejectsNoreply)"),
        ]
        if !self.trustedAudiences.isEmpty {
            terms.append(("trusted_audiences", ProviderSettings.joined(self.trustedAudiences)))
        }
        let fields = ["subject", "tenant", "email", "email_verified", "groups", "roles"]
        for field in fields {
            guard let sources = self.profile[field] else { continue }
            terms.append(("profile.\(field)", sources.map { "\($0.utf8.count):\($0)" }.joined()))
        }
        // Rules decide by claims, and a session that is older than one lacks it.
        for (name, sources) in self.claims.sorted(by: { $0.key < $1.key }) {
            terms.append(("claims.\(name)", sources.map { "\($0.utf8.count):\($0)" }.joined()))
        }
        return terms
    }

    /// A list whose order does not matter.
    private static func joined(_ list: [String]) -> String {
        Set(list).sorted().map { "\($0.utf8.count):\($0)" }.joined()
    }
}
