// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy
internal import GateProxy
internal import GateYAML

/// Finds apps with the same server, where requests to one app may bypass the rules of the other.
///
/// Servers are compared as they are written; the same one under another name is not found. Paths of one host that only some
/// servers distinguish are rejected, whatever the servers are.
struct SharedUpstreamCheck {
    private let apps: [AppSettings]
    private let marks: [String: YAMLMark]
    /// The first apps of each server; a check of all apps takes one pass.
    private let byServer: [Server: [Int]]

    /// A server, for all hosts or for one.
    private struct Server: Hashable {
        let target: UpstreamTarget
        let host: HostPattern?
    }

    /// How many apps of one server are compared with each other, which bounds the time.
    private static let maxApps = 64

    init(apps: [AppSettings], drafts: [Named<AppDraft>]) {
        self.apps = apps
        self.marks = Dictionary(drafts.map { ($0.name, $0.mark) }) { first, _ in first }
        var byServer: [Server: [Int]] = [:]
        for (index, app) in apps.enumerated() {
            let targets = Set(app.upstream?.targets ?? [])
            for target in targets {
                for host in [nil] + app.route.origins.hosts {
                    let server = Server(target: target, host: host)
                    let count = byServer[server, default: []].count
                    if count < SharedUpstreamCheck.maxApps { byServer[server, default: []].append(index) }
                }
            }
        }
        self.byServer = byServer
    }

    /// Warns of each app through which the rules of another can be bypassed.
    func check(_ reading: inout DecodingContext) {
        self.rejectSimilarPaths(&reading)
        for app in self.apps {
            guard let mark = self.marks[app.route.app] else { continue }
            self.warnOfSpellings(app, mark, &reading)
            self.warnOfReach(app, mark, &reading)
            self.warnOfOrigins(app, mark, &reading)
        }
    }

    /// Two paths that differ in letter case or escapes only, unless the servers of both are known to distinguish them.
    private func rejectSimilarPaths(_ reading: inout DecodingContext) {
        var taken: [String: AppSettings] = [:]
        for app in self.apps {
            let folded = PathNormalization.folded(Array(PathNormalization.decoded(app.route.path).utf8))
            let path = String(decoding: folded, as: UTF8.self)
            let others = app.route.origins.hosts.compactMap { taken.updateValue(app, forKey: "\($0) \(path)") }
            guard let other = others.first(where: { $0.route.path != app.route.path }) else { continue }
            let isExact = [app, other].allSatisfy { $0.traffic.strictness.pathSpelling == .exact }
            guard !isExact, let mark = self.marks[app.route.app] else { continue }
            let paths = "'\(app.route.path)' and '\(other.route.path)' of '\(other.route.app)'"
            let help = "give one another path, or both 'path_spelling: exact' if their servers distinguish them"
            reading.error(
                "\(paths) differ in letter case or escapes only, and many servers treat both as one; \(help)",
                at: mark
            )
        }
    }

    private func warnOfSpellings(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        guard app.traffic.strictness.pathSpelling == .exact,
            let other = self.firstSharing(app, on: app.route.origins.hosts)
        else { return }
        let spelling = "another spelling of the path, such as '\(app.route.path.uppercased())'"
        let risk = "reaches the same server under the rules of '\(other.route.app)' only"
        let help = "keep it if that server distinguishes letter case and escapes"
        reading.warning("with 'path_spelling: exact', \(spelling), \(risk); \(help)", at: mark)
    }

    /// Without its prefix an app is the whole server, the paths of other apps included; so it is with other rewrites.
    private func warnOfReach(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        guard app.pathMapping != nil else { return }
        let reach = app.reachedPaths
        let others = (app.upstream?.targets ?? []).flatMap { target in
            self.byServer[Server(target: target, host: nil)] ?? []
        }
        let found = others.sorted().lazy.map { self.apps[$0] }.first { other in
            other.route.app != app.route.app
                && other.reachedPaths.contains { one in reach.contains { Self.overlap($0, one) } }
        }
        guard let other = found else { return }
        let key = app.traffic.stripsPrefix ? "strip_prefix" : app.traffic.rewrites.isEmpty ? "upstream" : "rewrite"
        let isWhole = reach.contains("")
        let paths = isWhole ? "every path of that server, those" : "paths"
        let risk = "users of '\(app.route.app)' reach \(paths) of '\(other.route.app)'\(isWhole ? " too" : "")"
        reading.warning("with '\(key)' and the server of '\(other.route.app)', \(risk)", at: mark)
    }

    /// Whether a path is below another one, or the other way round, by whole segments.
    private static func overlap(_ one: String, _ other: String) -> Bool {
        "\(one)/".hasPrefix("\(other)/") || "\(other)/".hasPrefix("\(one)/")
    }

    private func warnOfOrigins(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        let prefix = app.route.path.hasSuffix("/") ? app.route.path : "\(app.route.path)/"
        for entry in app.traffic.strictness.origins {
            guard let path = entry.path, path != app.route.path, !path.hasPrefix(prefix) else { continue }
            reading.warning("'\(path)' in 'origins' is outside of the app's path '\(app.route.path)'", at: mark)
        }
    }

    /// The first other app of the file with a server of an app, on one of these hosts; nil in the list for any host.
    private func firstSharing(_ app: AppSettings, on hosts: [HostPattern?]) -> AppSettings? {
        let firsts = (app.upstream?.targets ?? []).flatMap { target in
            hosts.compactMap { host in
                self.byServer[Server(target: target, host: host)]?.first { self.apps[$0].route.app != app.route.app }
            }
        }
        return firsts.min().map { self.apps[$0] }
    }
}
