// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

/// Points out apps that are one server, where the rules of one may not hold for what is asked by way of the other.
///
/// Servers are compared as they are written; the same one under another name is not found. Paths of one host that only some
/// servers tell apart are rejected, whatever the servers are.
struct SharedUpstreamCheck {
    private let apps: [AppSettings]
    private let marks: [String: YAMLMark]

    init(apps: [AppSettings], drafts: [Named<AppDraft>]) {
        self.apps = apps
        self.marks = Dictionary(drafts.map { ($0.name, $0.mark) }) { first, _ in first }
    }

    /// Warns of each app that opens a way around the rules of another.
    func check(_ reading: inout DecodingContext) {
        self.rejectSimilarPaths(&reading)
        for app in self.apps {
            guard let mark = self.marks[app.route.app] else { continue }
            self.warnOfSpellings(app, mark, &reading)
            self.warnOfStrippedPrefix(app, mark, &reading)
            self.warnOfOrigins(app, mark, &reading)
        }
    }

    /// Two paths that differ in letter case or escapes only, unless the servers of both are known to tell them apart.
    private func rejectSimilarPaths(_ reading: inout DecodingContext) {
        var taken: [String: AppSettings] = [:]
        for app in self.apps {
            let folded = PathNormalization.folded(Array(PathNormalization.decoded(app.route.path).utf8))
            let key = "\(app.route.origin.host) \(String(decoding: folded, as: UTF8.self))"
            guard let other = taken.updateValue(app, forKey: key), other.route.path != app.route.path else { continue }
            let isExact = [app, other].allSatisfy { $0.traffic.strictness.pathSpelling == .exact }
            guard !isExact, let mark = self.marks[app.route.app] else { continue }
            let paths = "'\(app.route.path)' and '\(other.route.path)' of '\(other.route.app)'"
            let help = "give one another path, or both 'path_spelling: exact' if their servers tell them apart"
            reading.error(
                "\(paths) differ in letter case or escapes only, and many servers read both as one; \(help)",
                at: mark
            )
        }
    }

    private func warnOfSpellings(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        guard app.traffic.strictness.pathSpelling == .exact,
            let other = self.sharing(app).first(where: { $0.route.origin.host == app.route.origin.host })
        else { return }
        let spelling = "another spelling of the path, such as '\(app.route.path.uppercased())'"
        let risk = "reaches the same server under the rules of '\(other.route.app)' only"
        let help = "keep it if that server tells letter case and escapes apart"
        reading.warning("with 'path_spelling: exact', \(spelling), \(risk); \(help)", at: mark)
    }

    /// An app without its prefix is the whole server, the parts of other apps included.
    private func warnOfStrippedPrefix(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        guard app.traffic.stripsPrefix, app.route.path != "/", let other = self.sharing(app).first else { return }
        let risk = "who may use '\(app.route.app)' reaches every path of that server, those of '\(other.route.app)' too"
        reading.warning("with 'strip_prefix' and the server of '\(other.route.app)', \(risk)", at: mark)
    }

    private func warnOfOrigins(_ app: AppSettings, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        let prefix = app.route.path.hasSuffix("/") ? app.route.path : "\(app.route.path)/"
        for entry in app.traffic.strictness.origins {
            guard let path = entry.path, path != app.route.path, !path.hasPrefix(prefix) else { continue }
            reading.warning("'\(path)' in 'origins' is outside of the app's path '\(app.route.path)'", at: mark)
        }
    }

    /// The other apps that have a server of an app.
    private func sharing(_ app: AppSettings) -> [AppSettings] {
        let targets = Set(app.upstream?.targets ?? [])
        return self.apps.filter { other in
            other.route.app != app.route.app && !targets.isDisjoint(with: other.upstream?.targets ?? [])
        }
    }
}
