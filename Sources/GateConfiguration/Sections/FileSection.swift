// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GateProviderConfiguration
internal import GateYAML

/// The whole file as it is written.
struct FileDraft: Sendable {
    var gateway: GatewayDraft?
    var sessions: SessionDraft?
    var assertion: AssertionDraft?
    var logs: LogSettings?
    var providers: [Named<ProviderDraft>]?
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
                "apps",
                \.apps,
                .entries(of: Mapping<AppDraft>.app.shape, named: "a mapping of names to apps", rule: .appName),
                .init(isRequired: true),
                "The apps, by names of your choice."
            ),
        ]
    )
}
