// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders
internal import GateYAML

/// Checks the names of issuers and service tokens, which are parts of user keys like those of providers.
struct MachineCheck {
    let draft: FileDraft

    func check(_ reading: inout DecodingContext) {
        let providers = Dictionary((self.draft.providers ?? []).map { ($0.name, $0.mark) }) { first, _ in first }
        let reserved = Profile.serviceTokenProvider
        for issuer in self.draft.issuers ?? [] {
            if let mark = providers[issuer.name] {
                let line = reading.line(mark, from: issuer.mark)
                let message = "'\(issuer.name)' is a provider in \(line); users of both would have the same keys"
                reading.error(message, at: issuer.mark)
            } else if issuer.name == reserved {
                reading.error(
                    "'\(reserved)' is the name of service tokens in user keys; choose another",
                    at: issuer.mark
                )
            }
        }
        self.checkIssuers(&reading)
        guard let tokens = self.draft.serviceTokens, !tokens.isEmpty else { return }
        if let mark = providers[reserved] {
            let help = "rename it, or remove 'service_tokens'"
            reading.error("'\(reserved)' is the name of service tokens in user keys; \(help)", at: mark)
        }
        self.checkTokens(tokens, &reading)
    }

    private func checkTokens(_ tokens: [Named<ServiceTokenDraft>], _ reading: inout DecodingContext) {
        var hashes: [[UInt8]: Named<ServiceTokenDraft>] = [:]
        let now = WallClock.system.now
        for token in tokens {
            guard let settings = token.value.settings(name: token.name) else { continue }
            if let other = hashes.updateValue(token, forKey: settings.hash) {
                reading.error(
                    "'\(token.name)' has the hash of '\(other.name)'; each needs its own token",
                    at: token.mark
                )
            }
            guard let mark = token.value.expires?.mark, settings.isExpired(at: now) else { continue }
            let help = "remove it, or make another with 'gatehouse tokens create'"
            reading.warning("'\(token.name)' has expired and is not accepted; \(help)", at: mark)
        }
    }

    /// The issuer of a token is found by its `iss`, so that must not be the same for two issuers of an app or a client.
    private func checkIssuers(_ reading: inout DecodingContext) {
        let issuers = Dictionary((self.draft.issuers ?? []).map { ($0.name, $0.value.issuer ?? "") }) { first, _ in
            first
        }
        let own = self.draft.gateway?.publicURL.map { "\($0.value)" }
        for issuer in self.draft.issuers ?? [] {
            guard let own, let url = issuer.value.issuer, [own, "\(own)/"].contains(url) else { continue }
            let help = "an app accepts access tokens of the gateway by 'accept: [session, token]'"
            reading.error(
                "'\(issuer.name)' is this gateway itself, whose tokens end with the sign-in; \(help)",
                at: issuer.mark
            )
        }
        let lists =
            (self.draft.apps ?? []).map { ("an app", $0.value.machines?.value.allIssuers ?? []) }
            + (self.draft.clients ?? []).map { ("a client", $0.value.exchangeIssuers ?? []) }
        for (owner, list) in lists {
            var names: [String: String] = [:]
            for issuer in list {
                guard !names.values.contains(issuer.value) else {
                    reading.error("\(Scalar.quoted(issuer.value)) is in the list already", at: issuer.mark)
                    continue
                }
                guard let url = issuers[issuer.value], !url.isEmpty,
                    let other = names.updateValue(issuer.value, forKey: url)
                else { continue }
                let help = "\(owner) takes one of them; put both audiences into its 'audience'"
                reading.error("'\(issuer.value)' and '\(other)' have the same issuer; \(help)", at: issuer.mark)
            }
        }
    }
}
