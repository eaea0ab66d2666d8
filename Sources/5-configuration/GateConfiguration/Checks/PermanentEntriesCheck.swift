// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

/// Checks that the store of the sessions can keep what users have beside their sessions.
struct PermanentEntriesCheck {
    let draft: FileDraft

    /// Reports `cookie:` as an error, since it keeps nothing, and `memory:` as a warning.
    func check(_ reading: inout DecodingContext) {
        for provider in self.draft.providers ?? [] where provider.value.type == .local {
            self.check("type local needs", "local accounts", provider.mark, &reading)
        }
        if let passkeys = self.draft.passkeys {
            self.check("'passkeys' need", "passkeys", passkeys.mark, &reading)
        }
        if let connected = self.draft.connectedAccounts {
            self.check("'connected_accounts' need", "connected accounts", connected.mark, &reading)
        }
    }

    private func check(_ need: String, _ entries: String, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        switch self.draft.sessions?.store {
        case .cookie?:
            let reason = "it keeps no \(entries)"
            reading.error(
                "\(need) another 'sessions.store' than 'cookie:': \(reason); use 'sqlite:' or 'redis:'",
                at: mark
            )
        case .memory?:
            reading.warning(
                "with 'sessions.store: memory:' the \(entries) end with the process; use 'sqlite:' or 'redis:'",
                at: mark
            )
        case .sqlite?, .redis?, nil: break
        }
    }
}
