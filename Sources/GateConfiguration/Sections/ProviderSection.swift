// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// What is written of one provider.
struct ProviderDraft: Sendable {
    var type: ProviderType?
    var name: String?
    var clientID: String?
    var clientSecret: Secret?
    var issuer: String?
    var baseURL: WebAddress?
    var authorizationEndpoint: WebAddress?
    var tenant: String?
    var hostedDomains: [String]?
    var scopes: Located<[String]>?
    var tls: ProviderTLSDraft?
    var profile: [Named<[String]>]?
}

/// What is written of a provider's `tls`.
struct ProviderTLSDraft: Sendable {
    var caFile: String?
}

extension Mapping<ProviderDraft> {
    /// An entry of `providers`.
    static let provider = Mapping(
        "a provider",
        path: "providers.<name>",
        summary:
            "Somebody who says who people are. The name is part of every user key and of the callback, "
            + "`/oauth2/callback/<name>`.",
        make: { ProviderDraft() },
        keys: keys,
        check: { provider, written, reading in provider.check(written, keys, &reading) }
    )

    private static let keys: [Key<ProviderDraft>] = [
        Key(
            "type",
            \.type,
            .oneOf("a type of provider"),
            .init(isRequired: true, example: "google"),
            "What kind of provider it is: `google`, `github`, `microsoft`, or `oidc` for any OpenID Connect provider."
        ),
        Key(
            "name",
            \.name,
            .text,
            .init(standard: .words("the type's own"), example: "Staff directory"),
            "What the button says."
        ),
        Key(
            "client_id",
            \.clientID,
            .text,
            .init(isRequired: true, example: "1234.apps.googleusercontent.com"),
            "The id that the provider gave you."
        ),
        Key(
            "client_secret",
            \.clientSecret,
            .secret(atLeast: 1),
            .init(isRequired: true, example: "${env:GOOGLE_CLIENT_SECRET}"),
            "The secret that the provider gave you."
        ),
        Key(
            "issuer",
            \.issuer,
            .issuer,
            .init(example: "https://id.example.com", types: ["oidc"], isRequiredByTypes: true),
            "The issuer exactly as the provider spells it. Plain http is accepted on loopback only."
        ),
        Key(
            "base_url",
            \.baseURL,
            .baseURL,
            .init(
                standard: .words("the public service"),
                example: "https://github.example.com",
                types: ["google", "github", "microsoft"]
            ),
            "The address of an own server, a national cloud or a simulator."
        ),
        Key(
            "authorization_endpoint",
            \.authorizationEndpoint,
            .endpoint,
            .init(
                standard: .words("what the provider's metadata say"),
                example: "https://id.example.com/realms/staff/protocol/openid-connect/auth"
            ),
            "Where the browser is sent to sign in, if that differs from what the provider's metadata say: for a "
                + "provider that the gateway reaches by another name than browsers do. Plain http is accepted on "
                + "loopback only."
        ),
        Key(
            "tenant",
            \.tenant,
            .tenant,
            .init(standard: "common", example: "8eae0000-2b34-4da1-9baa-8bc8c9d6a490", types: ["microsoft"]),
            "A tenant id, a verified domain, `organizations`, `common` or `consumers`."
        ),
        Key(
            "hosted_domains",
            \.hostedDomains,
            .list(of: .domain, named: "a list of domains"),
            .init(standard: .words("every Google account"), example: ["example.com"], types: ["google"]),
            "The Workspace domains that may sign in."
        ),
        Key(
            "scopes",
            located: \.scopes,
            .list(of: .scope, named: "a list of scopes").whole,
            .init(standard: .words("the type's own"), example: ["openid", "email", "profile"]),
            "The scopes to ask for."
        ),
        Key(
            "tls",
            \.tls,
            Mapping<ProviderTLSDraft>.providerTLS.shape,
            .init(),
            "How the provider's server is verified."
        ),
        Key(
            "profile",
            \.profile,
            .profile,
            .init(standard: .words("the type's own")),
            "Where the fields of the profile come from, by field: a source or a list of sources, of which the first "
                + "that answers wins. A source is `id_token:/pointer`, `userinfo:/pointer`, `api:/path#/pointer` or "
                + "`const:text`. The fields are "
                + "\(ProfileField.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", "))."
        ),
        Key(unsupported: "groups", "Group look-ups at the provider, such as organizations and teams."),
    ]
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
                .existingFile,
                .init(standard: .words("the system's certificates"), example: "tls/private-ca.pem"),
                "A PEM file with the only certificates to trust for this provider; relative to the folder of this file."
            ),
            Key(unsupported: "pins", "Pinned keys or certificates."),
        ]
    )
}

extension ProviderDraft {
    /// Checks what depends on the type.
    fileprivate func check(
        _ written: Mapping<ProviderDraft>.Written,
        _ keys: [Key<ProviderDraft>],
        _ reading: inout Reading
    ) {
        guard let type = self.type else { return }
        for key in keys {
            guard let types = key.traits.types, !types.contains(type.rawValue), let mark = written.keys[key.name] else {
                continue
            }
            let help = type == .oidc ? "an oidc provider is found by its 'issuer'" : "remove it"
            reading.error("'\(key.name)' is for type \(types.joined(separator: ", ")) only; \(help)", at: mark)
        }
        for key in keys where key.traits.isRequiredByTypes && written.keys[key.name] == nil {
            guard key.traits.types?.contains(type.rawValue) == true else { continue }
            let example = key.example.map { ", such as '\(key.name): \($0)'" } ?? ""
            reading.error("a provider of type \(type.rawValue) needs '\(key.name)'\(example)", at: written.mark)
        }
        if type != .github, let scopes = self.scopes, !scopes.value.contains("openid") {
            reading.error("'scopes' needs 'openid', or the provider sends no identity", at: scopes.mark)
        }
    }

    /// The settings of a whole provider, or nil if a required part is missing.
    func settings(id: String) -> ProviderSettings? {
        guard let type = self.type, let clientID = self.clientID, let clientSecret = self.clientSecret else {
            return nil
        }
        var settings = ProviderSettings(id: id, type: type, clientID: clientID, clientSecret: clientSecret)
        settings.name = self.name
        settings.issuer = self.issuer
        settings.baseURL = self.baseURL
        settings.authorizationEndpoint = self.authorizationEndpoint
        settings.tenant = self.tenant
        settings.hostedDomains = self.hostedDomains ?? []
        settings.scopes = self.scopes?.value
        settings.caFile = self.tls?.caFile
        settings.profile = Dictionary((self.profile ?? []).map { ($0.name, $0.value) }) { first, _ in first }
        return settings
    }
}
