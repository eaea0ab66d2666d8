// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Which user key apps get for a user with several connected accounts.
package enum ConnectedKey: String, Sendable, CaseIterable {
    /// That of the first account, to which the others were added.
    case first
    /// That of the account of the sign-in.
    case used
}

/// `connected_accounts` as the file has it.
struct ConnectedAccountsDraft: Sendable {
    var key: ConnectedKey?
    fileprivate(set) var mark = YAMLMark.start
}

extension Mapping<ConnectedAccountsDraft> {
    static let connectedAccounts = Mapping(
        "the connected accounts",
        path: "connected_accounts",
        summary: "Users connect accounts at several providers, by signing in with each. See "
            + "[connected-accounts.md](connected-accounts.md).",
        make: { ConnectedAccountsDraft() },
        keys: [
            Key(
                "user_key",
                \.key,
                .oneOf("a choice of the user key"),
                .init(isRequired: true, example: "first"),
                "The user key that apps and clients get, whichever of the accounts the user signs in with: `first` for that of the first "
                    + "account, `used` for that of the account of the sign-in."
            )
        ],
        check: { draft, written, _ in draft.mark = written.mark }
    )
}
