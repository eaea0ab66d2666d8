// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions
internal import GateYAML

/// Checks that nothing is configured that sessions in cookies cannot do.
struct CookieStoreCheck {
    let draft: FileDraft
    let publicHost: String

    /// Reports `max_per_user`, apps that get tokens of the provider, and apps on other hosts as errors: a sign-out could not
    /// delete the cookies that they have there.
    ///
    /// A secret of the state folder is a warning: a gateway without that folder opens none of the cookies. So is
    /// `recheck: never`, since only re-checks limit the use of a copied cookie.
    func check(_ reading: inout DecodingContext) {
        guard case .cookie? = self.draft.sessions?.store else { return }
        for app in self.draft.apps ?? [] {
            for host in app.value.hosts?.value ?? [] where !host.value.matches(self.publicHost) {
                let reason = "a sign-out cannot delete the cookies of several hosts"
                let help = "give the app a 'path' on '\(self.publicHost)', or use 'sqlite:' or 'redis:'"
                reading.error(
                    "'\(host.value)' needs another 'sessions.store' than 'cookie:': \(reason); \(help)",
                    at: host.mark
                )
            }
        }
        for app in self.draft.apps ?? [] {
            guard let token = app.value.providerToken else { continue }
            let reason = "such a session keeps no tokens, since it is in the browser"
            let help = "use 'sqlite:', 'redis:' or 'memory:', or 'authorization: assertion'"
            reading.error(
                "'authorization: \(token.value)' needs another 'sessions.store' than 'cookie:': \(reason); \(help)",
                at: token.mark
            )
        }
        guard let mark = self.draft.sessions?.storeMark else { return }
        if self.draft.sessions?.maxPerUser != nil {
            let reason = "no gateway can end a session that another browser has"
            reading.error("'max_per_user' needs another 'sessions.store' than 'cookie:': \(reason)", at: mark)
        }
        let recheck = self.draft.sessions?.recheck ?? SessionSettings.defaultRecheck.interval
        if recheck == nil {
            let reason = "a copied cookie works for 'lifetime', also after a sign-out"
            reading.warning("'cookie:' with 'recheck: never': \(reason); write a time such as 1h", at: mark)
        }
        guard self.draft.gateway?.secrets?.isEmpty ?? true else { return }
        let help = "set 'gateway.secret', the same for all gateways"
        reading.warning("'cookie:' with a secret that only this gateway has, in 'state'; \(help)", at: mark)
    }
}
