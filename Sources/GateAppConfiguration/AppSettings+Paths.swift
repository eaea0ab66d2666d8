// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateProxy
package import GateWire

extension AppSettings {
    /// How the app gets the paths that clients send; nil for as they are.
    package var pathMapping: PathMapping? {
        let base = self.upstream?.base ?? ""
        var rules = self.traffic.rewrites.map { rewrite in
            PathMapping.Rule(from: rewrite.from, to: base + (rewrite.to == "/" ? "" : rewrite.to))
        }
        let rest = PathMapping.Rule(from: self.traffic.stripsPrefix ? self.route.path : "", to: base)
        if !rules.contains(where: { $0.from == rest.from }) { rules.append(rest) }
        return PathMapping(rules)
    }

    /// The paths of its server below which all are that its users reach; empty for the whole server.
    package var reachedPaths: [String] {
        let own = self.route.path == "/" ? "" : self.route.path
        guard let mapping = self.pathMapping else { return [own] }
        return mapping.rules.map { $0.from.isEmpty ? $0.to + own : $0.to }
    }

    /// The path that an app has to put before its own paths in links; nil if it sees the paths that clients send, or others than those
    /// without that path.
    package var forwardedPrefix: String? {
        guard self.traffic.stripsPrefix, self.upstream?.base.isEmpty ?? true, self.route.path != "/" else { return nil }
        return self.route.path
    }
}
