// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// The whole file as it is written.
struct FileDraft: Sendable {
    var gateway: GatewayDraft?
    var sessions: SessionDraft?
    var assertion: AssertionDraft?
    var logs: LogSettings?
    var pages: PagesDraft?
    var passkeys: PasskeysDraft?
    var connectedAccounts: ConnectedAccountsDraft?
    var mail: MailDraft?
    var include: [String]?
    var providers: [Named<ProviderDraft>]?
    var issuers: [Named<IssuerDraft>]?
    var serviceTokens: [Named<ServiceTokenDraft>]?
    var rules: [Named<[EntryDraft]>]?
    var defaults: AppDraft?
    var clients: [Named<ClientDraft>]?
    var apps: [Named<AppDraft>]?
}

extension Mapping<FileDraft> {
    /// The whole file.
    static let file = Mapping(
        "the file",
        path: "providers.yaml",
        summary: "The parts of the file.",
        make: { FileDraft() },
        keys: [
            Key(
                "gateway",
                \.gateway,
                Mapping<GatewayDraft>.gateway.shape,
                .init(isRequired: true),
                "The gateway itself."
            ),
            Key(
                "sessions",
                \.sessions,
                Mapping<SessionDraft>.sessions.shape,
                .init(),
                "Where sessions are stored and how long they last."
            ),
            Key(
                "assertion",
                \.assertion,
                Mapping<AssertionDraft>.assertion.shape,
                .init(),
                "The signed identity that apps receive."
            ),
            Key(
                "logs",
                \.logs,
                Mapping<LogSettings>.logs.shape,
                .init(),
                "Where log lines go, and what they hold."
            ),
            Key(
                "pages",
                \.pages,
                Mapping<PagesDraft>.pages.shape,
                .init(),
                "How the gateway's own pages look and speak."
            ),
            Key(
                "passkeys",
                \.passkeys,
                Mapping<PasskeysDraft>.passkeys.shape,
                .init(default: .words("off")),
                "Passkeys of users, to sign in with local accounts and for `authenticated: passkey`."
            ),
            Key(
                "connected_accounts",
                \.connectedAccounts,
                Mapping<ConnectedAccountsDraft>.connectedAccounts.shape,
                .init(default: .words("off")),
                "Accounts at several providers that a user connects."
            ),
            Key(
                "mail",
                \.mail,
                Mapping<MailDraft>.mail.shape,
                .init(default: .words("none")),
                "The server through which links for local accounts are sent."
            ),
            Key(
                "include",
                \.include,
                .includedFiles,
                .init(default: .value([]), example: ["rules/staff.yaml", "apps/wiki.yaml"]),
                "Further files with `providers`, `issuers`, `service_tokens`, `clients`, `rules` and `apps`, which are added to those of this file; at most 64, and "
                    + "16 MiB together. Their paths are relative to this file; they cannot include others."
            ),
            Key(
                "providers",
                \.providers,
                .entries(
                    of: Mapping<ProviderDraft>.provider.shape,
                    named: "a mapping of names to providers",
                    rule: .providerName
                ),
                .init(isRequired: true),
                "The providers, by names of your choice; the sign-in page keeps their order."
            ),
            Key(
                "issuers",
                \.issuers,
                .entries(
                    of: Mapping<IssuerDraft>.issuer.shape,
                    named: "a mapping of names to issuers",
                    rule: .providerName
                ),
                .init(default: .words("none")),
                "The issuers whose tokens machines bring instead of a session, by names of your choice that no provider has. "
                    + "See [machines.md](machines.md)."
            ),
            Key(
                "service_tokens",
                \.serviceTokens,
                .entries(
                    of: Mapping<ServiceTokenDraft>.serviceToken.shape,
                    named: "a mapping of names to service tokens",
                    rule: .ruleSetName
                ),
                .init(default: .words("none")),
                "Tokens for clients without a browser, by names of your choice."
            ),
            Key(
                "clients",
                \.clients,
                .entries(
                    of: Mapping<ClientDraft>.client.shape,
                    named: "a mapping of names to clients",
                    rule: .clientName
                ),
                .init(default: .words("none")),
                "The applications that sign their users in at the gateway with OAuth 2.0 or OpenID Connect, by their client ids. "
                    + "See [clients.md](clients.md)."
            ),
            Key(
                "rules",
                \.rules,
                .ruleSets,
                .init(default: .words("none")),
                "Lists of entries by names of your choice, which `use` adds to `allow` and `deny` of apps and clients. See "
                    + "[policy.md](policy.md)."
            ),
            Key(
                "defaults",
                \.defaults,
                Mapping<AppDraft>.defaults.shape,
                .init(default: .words("none")),
                "What holds for each app that does not have the key itself."
            ),
            Key(
                "apps",
                \.apps,
                .entries(of: Mapping<AppDraft>.app.shape, named: "a mapping of names to apps", rule: .appName),
                .init(isRequired: true),
                "The apps, by names of your choice."
            ),
        ]
    )
}

extension Mapping<FileDraft> {
    static var defaultNames: [String] { Mapping<AppDraft>.defaults.keys.map(\.name) }
}

extension Shape<[String]> {
    /// The files that the configuration file includes.
    static let includedFiles = Shape.set(of: .includedFile, named: "a list of files", limit: 64)
}

extension Shape<String> {
    private static let includedFile = single("a file") { text throws(InvalidValue) in
        guard !text.isEmpty, text.utf8.count <= 4096, !text.utf8.contains(0) else {
            throw InvalidValue("is not a path")
        }
        return text
    }
}
