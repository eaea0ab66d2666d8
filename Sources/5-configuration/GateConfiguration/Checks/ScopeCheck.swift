// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Checks that each scope belongs to one app: a token is for several apps, and a user who has granted a scope in one of them has not granted
/// it in another.
struct ScopeCheck {
    let draft: FileDraft

    func check(_ reading: inout DecodingContext) {
        var owners: [String: (app: String, mark: YAMLMark)] = [:]
        for app in self.draft.apps ?? [] {
            for scope in app.value.scopes?.value ?? [] {
                guard let owner = owners[scope.name] else {
                    owners[scope.name] = (app.name, scope.mark)
                    continue
                }
                let line = reading.line(owner.mark, from: scope.mark)
                let reason =
                    "is a scope of app '\(owner.app)' in \(line) too, and a token for both apps would have it for both"
                reading.error("'\(scope.name)' \(reason); write '\(app.name).\(scope.name)'", at: scope.mark)
            }
        }
    }
}
