// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Checks that no app has the path of the session API on the gateway's own host.
struct SessionAPICheck {
    let draft: FileDraft
    let publicHost: String

    /// An app at a shorter path, such as `/`, keeps what the session API does not take.
    func check(_ reading: inout DecodingContext) {
        guard let api = self.draft.gateway?.sessionAPI else { return }
        guard api.value != "/" else {
            return reading.error("'session_api' cannot be '/', which has all apps; write such as '/auth'", at: api.mark)
        }
        for app in self.draft.apps ?? [] where app.value.isPlaced {
            let hosts = app.value.hosts?.value ?? []
            guard hosts.isEmpty || hosts.contains(where: { $0.value.matches(self.publicHost) }) else { continue }
            guard let path = app.value.path, path.value == api.value || path.value.hasPrefix("\(api.value)/") else {
                continue
            }
            let line = reading.line(path.mark, from: api.mark)
            let help = "choose another path for one of them"
            reading.error("'\(api.value)' has the app '\(app.name)' in \(line) already; \(help)", at: api.mark)
        }
    }
}
