// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePolicy

/// The difference of two configurations for a terminal.
struct PolicyDifferenceReport {
    private let difference: JSON

    /// - Parameter difference: As `PolicyDifference.json` has it, from this process or from a gateway.
    init(_ difference: JSON) {
        self.difference = difference
    }

    /// A table for each app with changes, then the totals.
    var lines: [String] {
        let apps = self.difference["apps"]?.array ?? []
        var lines = apps.flatMap { self.lines(of: $0) + [""] }
        let omitted = self.count(self.difference, "omitted_apps")
        if omitted > 0 { lines += ["and \(omitted) more apps", ""] }
        let (users, changed) = (self.count(self.difference, "users"), self.count(self.difference, "changed_users"))
        lines.append(
            "\(users) user\(users == 1 ? "" : "s") compared, \(changed) gain or lose access; "
                + "apps: \(Int64(apps.count) + omitted) differ, \(self.count(self.difference, "same_apps")) do not"
        )
        return lines
    }

    private func lines(of app: JSON) -> [String] {
        var lines = ["\(self.text(app["app"])): \(self.headline(of: app))"]
        if let providers = app["providers"] {
            lines.append("  providers were \(self.list(providers["old"])), are \(self.list(providers["new"]))")
        }
        if app["moved"]?.bool ?? false { lines.append("  hosts or path have changed") }
        if app["partial"]?.bool ?? false {
            lines.append("  not all combinations of paths, methods, networks and times were compared")
        }
        let changes = app["changes"]?.array ?? []
        guard !changes.isEmpty else { return lines }
        var table = TextTable(["CHANGE", "USERS", "REQUEST", "WAS", "IS"])
        for change in changes {
            let verdicts = [change["old"]?["text"]?.string, change["new"]?["text"]?.string]
            table.add(
                [change["change"]?.string, self.users(of: change), self.request(of: change)] + verdicts,
                limit: 400
            )
        }
        lines += table.lines.map { "  \($0)" }
        let omitted = self.count(app, "omitted_changes")
        if omitted > 0 { lines.append("  and \(omitted) more changes") }
        for change in changes where !(change["examples"]?.array ?? []).isEmpty {
            let examples = change["examples"]?.array ?? []
            let more = self.count(change, "users") - Int64(examples.count)
            let names = examples.map { self.text($0) }.joined(separator: ", ")
            lines.append("  \(self.text(change["change"])): \(names)\(more > 0 ? " and \(more) more" : "")")
        }
        return lines
    }

    private func headline(of app: JSON) -> String {
        let counts =
            "\(self.count(app, "losers")) of \(self.count(app, "holders")) users lose access, "
            + "\(self.count(app, "gainers")) gain it"
        let again = self.count(app, "authenticate")
        let less = self.count(app, "authenticate_less")
        let rest =
            (again > 0 ? ", \(again) must authenticate again" : "")
            + (less > 0 ? ", \(less) need not authenticate again any more" : "")
        switch app["kind"]?.string {
        case "added": return "new; \(counts)\(rest)"
        case "removed": return "gone; \(counts)\(rest)"
        default: return "\(counts)\(rest)"
        }
    }

    private func users(of change: JSON) -> String {
        change["anonymous"]?.bool ?? false ? "no session" : "\(self.count(change, "users"))"
    }

    private func request(of change: JSON) -> String {
        let request = change["request"] ?? .null
        let client = request["client"].map { " from \(self.text($0))" } ?? ""
        let time = request["time"].map { " at \(self.text($0))" } ?? ""
        let token = request["scopes"]?.array.map { RequestSample.text(ofToken: $0.map { self.text($0) }) } ?? ""
        let certificate = request["certificate"].map { text in
            RequestSample.text(ofCertificate: text.string?.isEmpty ?? true ? "" : self.text(text))
        }
        let more = self.count(change, "requests") - 1
        let rest = more > 0 ? " and \(more) more" : ""
        return
            "\(self.text(request["method"])) \(self.text(request["path"]))\(token)\(certificate ?? "")\(client)\(time)\(rest)"
    }

    private func list(_ names: JSON?) -> String {
        (names?.array ?? []).map { self.text($0) }.joined(separator: ", ")
    }

    private func text(_ value: JSON?) -> String { PrintableText.escaped(value?.string ?? "-", limit: 120) }

    private func count(_ value: JSON, _ member: String) -> Int64 { value[member]?.integer ?? 0 }
}
