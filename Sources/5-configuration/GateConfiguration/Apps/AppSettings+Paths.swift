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
        guard let mapping = self.pathMapping else { return [self.plainPath] }
        return mapping.rules.map { $0.from.isEmpty ? $0.to + self.plainPath : $0.to }
    }

    /// The path that an app has to put before its own paths in links; nil if it sees the paths that clients send, or others than those
    /// without that path.
    package var forwardedPrefix: String? {
        let isWhole = self.upstream?.base.isEmpty ?? true
        return self.traffic.stripsPrefix && isWhole && !self.plainPath.isEmpty ? self.plainPath : nil
    }

    /// The app's path without a slash at its end.
    private var plainPath: String {
        self.route.path.hasSuffix("/") ? String(self.route.path.dropLast()) : self.route.path
    }
}
