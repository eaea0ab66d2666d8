// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateYAML

/// `apps.<name>.machines` as the file has it.
package struct MachinesDraft: Sendable {
    /// The names of issuers.
    package var issuers: [Located<String>]?
    /// The names of issuers whose tokens have to be exchanged before.
    package var exchanged: [Located<String>]?
    /// The names of service tokens.
    package var serviceTokens: [Located<String>]?
    var basic: Bool?

    /// Whether no token at all is accepted.
    var isEmpty: Bool { self.allIssuers.isEmpty && (self.serviceTokens ?? []).isEmpty }

    /// All issuers whose users are accepted.
    package var allIssuers: [Located<String>] { (self.issuers ?? []) + (self.exchanged ?? []) }
}

extension Mapping<MachinesDraft> {
    /// `apps.<name>.machines`.
    static let machines = Mapping(
        "'machines'",
        path: "apps.<name>.machines",
        summary:
            "The tokens that an app accepts instead of a session, in `Authorization`. `allow` and `deny` hold for their "
            + "users as for all others. See [machines.md](machines.md).",
        make: { MachinesDraft() },
        keys: [
            Key(
                "issuers",
                \.issuers,
                .list(of: Shape<String>.text.located, named: "a list of issuers"),
                .init(default: .value([]), example: ["ci"]),
                "The issuers whose tokens are accepted as `Bearer` (RFC 6750)."
            ),
            Key(
                "exchanged",
                \.exchanged,
                .list(of: Shape<String>.text.located, named: "a list of issuers"),
                .init(default: .value([]), example: ["ci"]),
                "The issuers whose users are accepted with an access token of the gateway only, for which a client with `exchange_issuers` has "
                    + "exchanged the token of the issuer; so what the client demands holds for them. See [clients.md](clients.md#tokens-of-issuers)."
            ),
            Key(
                "service_tokens",
                \.serviceTokens,
                .list(of: Shape<String>.text.located, named: "a list of service tokens"),
                .init(default: .value([]), example: ["deploy-bot"]),
                "The service tokens that are accepted as `Bearer`."
            ),
            Key(
                "basic",
                \.basic,
                .flag,
                .init(default: .value(false)),
                "Whether they are accepted as the password of `Basic` too, with any user name, for clients that know nothing "
                    + "else: git, docker, Prometheus."
            ),
        ],
        check: { draft, written, reading in
            if draft.basic ?? false, (draft.serviceTokens ?? []).isEmpty, let mark = written.keys["basic"] {
                reading.error("'basic' is for 'service_tokens', and the app has not listed any", at: mark)
            }
        }
    )
}
