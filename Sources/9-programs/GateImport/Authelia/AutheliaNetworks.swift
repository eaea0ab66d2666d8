// SPDX-License-Identifier: Apache-2.0

/// The networks that Authelia's file names, for rules that refer to them.
///
/// https://www.authelia.com/configuration/definitions/network/, and `access_control.networks` of older versions.
struct AutheliaNetworks {
    private var networks: [String: [String]] = [:]

    init(_ root: SourceNode) {
        for (name, value) in root["definitions"]?["network"]?.entries ?? [] {
            self.networks[name] = value.texts
        }
        for entry in root["access_control"]?["networks"]?.oneOrMany ?? [] {
            guard let name = entry["name"]?.text else { continue }
            self.networks[name] = entry["networks"]?.texts
        }
    }

    /// The condition that a rule's `networks` impose; nil if one of them is not known, or has bits after its prefix.
    func condition(_ node: SourceNode) -> AccessCondition? {
        guard let texts = node.texts else { return nil }
        return AccessCondition(networks: texts.flatMap { self.networks[$0] ?? [$0] })
    }
}
