// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Checks that nothing else of the file has a path of the gateway's endpoints.
struct EndpointPrefixCheck {
    let draft: FileDraft

    /// An app at a shorter path, such as `/`, keeps what the endpoints do not take.
    func check(_ reading: inout DecodingContext) {
        let endpoints = self.draft.gateway?.endpoints?.value ?? .standard
        let gateway = [self.draft.gateway?.sessionAPI, self.draft.gateway?.healthPath]
        for path in gateway + (self.draft.apps ?? []).map(\.value.path) {
            guard let path, endpoints.includes(path.value) else { continue }
            let help = "choose a path outside of \(endpoints)"
            reading.error("'\(path.value)' is reserved for the gateway; \(help)", at: path.mark)
        }
        guard let api = self.draft.gateway?.sessionAPI, let prefix = self.draft.gateway?.endpoints else { return }
        guard "\(endpoints)".hasPrefix("\(api.value)/") else { return }
        reading.error(
            "'\(endpoints)' is below 'session_api', which has all paths there; choose another",
            at: prefix.mark
        )
    }
}
