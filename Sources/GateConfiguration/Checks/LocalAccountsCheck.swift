// SPDX-License-Identifier: Apache-2.0

internal import GateAppConfiguration
internal import GateCore
internal import GateProviderConfiguration
internal import GateProviders
internal import GateYAML

/// Checks that the store of the sessions can keep local accounts.
struct LocalAccountsCheck {
    let draft: FileDraft

    /// Reports `cookie:` as an error, since it keeps nothing, and `memory:` as a warning.
    func check(_ reading: inout DecodingContext) {
        for provider in self.draft.providers ?? [] where provider.value.type == .local {
            switch self.draft.sessions?.store {
            case .cookie?:
                let reason = "it keeps no accounts"
                reading.error(
                    "type local needs another 'sessions.store' than 'cookie:': \(reason); use 'sqlite:' or 'redis:'",
                    at: provider.mark
                )
            case .memory?:
                reading.warning(
                    "with 'sessions.store: memory:' the local accounts end with the process; use 'sqlite:' or 'redis:'",
                    at: provider.mark
                )
            case .sqlite?, .redis?, nil: continue
            }
        }
    }
}
