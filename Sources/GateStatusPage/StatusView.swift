// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The JSON of `/status` as the values of the template of ``StatusPage``.
struct StatusView {
    private let status: JSON
    private let now: Instant

    init(_ status: JSON, now: Instant) {
        self.status = status
        self.now = now
    }

    /// One cell of a table.
    private struct Cell {
        var text: String
        /// How good it is: `ok`, `warning`, `critical` or `unknown`; nil for a text that is not a state.
        var state: String?
        /// What is beside it, less important.
        var note = ""

        init(_ text: String?, _ state: String? = nil, note: String? = nil) {
            self.text = text ?? "–"
            self.state = state
            self.note = note ?? ""
        }
    }

    /// All values.
    var values: [String: Any] {
        let warnings = self.list("warnings").map(self.warning)
        return [
            "url": self.text(self.status["public_url"]) ?? "",
            "version": self.text(self.status["gateway_version"]) ?? "",
            "started": self.time(self.status["started_at"]) ?? "", "now": self.stamp(self.now),
            "operations": self.text(self.status["operations"]) ?? "",
            "warnings": warnings, "hasWarnings": !warnings.isEmpty,
            "plots": [self.signIns, self.rejections],
            "tables": [
                self.providers, self.apps, self.denials, self.load, self.certificates, self.pins, self.configuration,
            ],
        ]
    }

    private func warning(_ warning: JSON) -> [String: Any] {
        let severity = self.text(warning["severity"]) ?? ""
        let runBook = self.text(warning["run_book"])
        return [
            "severity": severity, "class": ["critical", "warning"].contains(severity) ? severity : "unknown",
            "text": self.text(warning["text"]) ?? "", "runBook": runBook ?? "", "hasRunBook": runBook != nil,
        ]
    }
}

// MARK: Plots

extension StatusView {
    private var signIns: [String: Any] {
        let good = self.minutes("sign_ins")
        let bad = self.minutes("failed_sign_ins")
        let summary = "\(good.reduce(0, +)) succeeded, \(bad.reduce(0, +)) failed"
        return self.plot("Sign-ins", summary, good: good, bad: bad)
    }

    private var rejections: [String: Any] {
        let all = self.minutes("rejections")
        return self.plot("Rejected requests", "\(all.reduce(0, +))", good: [], bad: all)
    }

    /// Sixty numbers, the oldest first.
    private func minutes(_ name: String) -> [Int64] {
        (self.status["history"]?[name]?.array ?? []).suffix(60).map { max(0, $0.integer ?? 0) }
    }

    /// Bars of a height in tenths of a unit, of which the plot has 98; the number of failures is below that of successes.
    private func plot(_ title: String, _ summary: String, good: [Int64], bad: [Int64]) -> [String: Any] {
        let count = max(good.count, bad.count)
        let pairs = (0..<count).map { (good: $0 < good.count ? good[$0] : 0, bad: $0 < bad.count ? bad[$0] : 0) }
        let peak = pairs.map { $0.good + $0.bad }.max() ?? 0
        func tenths(_ value: Int64) -> Int64 { peak == 0 ? 0 : Int64(saturating: Double(value) / Double(peak) * 980) }
        var bars: [[String: Any]] = []
        for (index, pair) in pairs.enumerated() {
            let x = 10 * (60 - count + index) + 1
            var top: Int64 = 990
            for (value, name) in [(pair.bad, "bad"), (pair.good, "good")] where value > 0 {
                let height = max(10, tenths(value))
                top = max(0, top - height)
                bars.append(["class": name, "x": "\(x)", "y": self.decimal(top), "height": self.decimal(height)])
            }
        }
        return [
            "title": title, "summary": summary, "bars": bars, "peak": "\(peak)", "hasLegend": !good.isEmpty,
        ]
    }

    private func decimal(_ tenths: Int64) -> String { "\(tenths / 10).\(tenths % 10)" }
}

// MARK: Tables

extension StatusView {
    private var providers: [String: Any] {
        let rows = self.list("provider_states").map { provider -> [Cell] in
            let failure = provider["last_failure"]
            let state: Cell =
                switch provider["state"]?.string {
                case "ok": Cell("responds", "ok")
                case "failing": Cell("fails", "critical")
                default: Cell("not called yet", "unknown")
                }
            let code = self.text(failure?["code"]).map { "\($0): \(self.text(failure?["detail"]) ?? "")" }
            let isOpen = provider["breaker_open"]?.bool == true
            let isStale = provider["keys_stale"]?.bool == true
            let keys = provider["keys_age_seconds"]?.integer.map { "\(self.span($0)) old" }
            return [
                Cell(self.text(provider["name"])), state, Cell(self.time(provider["last_success"])),
                Cell(self.time(failure?["at"]), note: code),
                Cell(isOpen ? "open: asked now and then" : "closed", isOpen ? "warning" : "ok"),
                Cell(isStale ? "outdated" : keys, isStale ? "warning" : nil, note: isStale ? keys : nil),
            ]
        }
        return self.table(
            "providers",
            "Providers",
            ["Provider", "State", "Last success", "Last failure", "Circuit breaker", "Keys"],
            rows
        )
    }

    private var apps: [String: Any] {
        var rows: [[Cell]] = []
        for app in self.list("app_states") {
            let name = Cell(self.text(app["name"]))
            let hosts = (app["hosts"]?.array ?? []).compactMap { self.text($0) }.joined(separator: ", ")
            let place = Cell("\(hosts)\(self.text(app["path"]) ?? "")")
            let targets = app["targets"]?.array ?? []
            let isClosed = app["maintenance"]?.bool == true
            if targets.isEmpty {
                rows.append([name, place, Cell("the gateway responds"), self.state(nil, isClosed), Cell(nil)])
            }
            for target in targets {
                let requests = target["requests"]?.integer.map { "\($0)" }
                rows.append([
                    name, place, Cell(self.text(target["target"])), self.state(target, isClosed), Cell(requests),
                ])
            }
        }
        return self.table(
            "apps",
            "Apps",
            ["App", "Host and path", "Target", "State", "Requests in progress"],
            rows,
            empty: "No app is configured."
        )
    }

    private func state(_ target: JSON?, _ isClosed: Bool) -> Cell {
        guard !isClosed else { return Cell("maintenance", "warning") }
        guard let target else { return Cell("ok", "ok") }
        guard target["healthy"]?.bool == true else { return Cell("gets no requests", "critical") }
        return target["checked"]?.bool == true ? Cell("healthy", "ok") : Cell("in use, not checked", "unknown")
    }

    private var denials: [String: Any] {
        let rows = self.list("denials").map { denial -> [Cell] in
            [
                Cell(
                    denial["at"]?.integer.map { self.stamp(Instant(seconds: $0)) },
                    note: denial["at"]?.integer.map { self.distance($0) }
                ),
                Cell(self.text(denial["app"])), Cell(self.text(denial["user"])),
                Cell(self.text(denial["code"])),
                Cell(self.text(denial["rule"])),
                Cell(self.text(denial["incident"])),
            ]
        }
        return self.table(
            "denials",
            "Latest denials",
            ["Time", "App", "User", "Code", "Rule", "Incident"],
            rows,
            empty: "No rule has denied a user since the start."
        )
    }

    private var load: [String: Any] {
        let overload = self.status["overload"]
        let level = self.text(overload?["stage"]) ?? ""
        let isAvailable = self.status["store_available"]?.bool == true
        let failure = self.text(self.status["store_fault"])
        let used = overload?["used_percent"]?.integer.map { "\($0) % of the scarcest resource" }
        let memory = overload?["memory"]?.integer.map { "\($0 / 1_048_576) MiB of memory" }
        let store = failure ?? (isAvailable ? "available" : "does not respond")
        let count = self.status["sessions"]?.integer.map { "\($0)" }
        return self.table(
            "load",
            "Sessions and load",
            ["What", "Now"],
            [
                [Cell("Sessions"), Cell(count ?? "not known")],
                [Cell("Session store"), Cell(store, isAvailable && failure == nil ? "ok" : "critical")],
                [Cell("Connections"), Cell(self.status["connections"]?.integer.map { "\($0)" })],
                [Cell("Requests in progress"), Cell(self.status["requests_in_flight"]?.integer.map { "\($0)" })],
                [
                    Cell("Overload level"),
                    Cell(
                        level,
                        level == "normal" ? "ok" : "critical",
                        note: [used, memory].compactMap(\.self).joined(separator: ", ")
                    ),
                ],
                [Cell("Sign-ins in progress"), Cell(overload?["sign_ins_in_flight"]?.integer.map { "\($0)" })],
            ]
        )
    }

    private var certificates: [String: Any] {
        let rows = self.list("listener_certificates").flatMap { listener in
            (listener["certificates"]?.array ?? []).map { certificate -> [Cell] in
                [
                    Cell(self.text(listener["listener"])), Cell(self.text(certificate["file"])),
                    self.days(certificate["days_left"]),
                    Cell(certificate["not_after"]?.integer.map { self.stamp(Instant(seconds: $0)) }),
                ]
            }
        }
        return self.table(
            "certificates",
            "Certificates of the listeners",
            ["Listener", "File", "Expires in", "On"],
            rows,
            empty: "No listener terminates TLS."
        )
    }

    private var pins: [String: Any] {
        let rows = self.list("provider_hosts").map { host -> [Cell] in
            let leaf = host["chain"]?.array?.first
            let count = host["pins"]?.integer.map { "\($0) pins, \(self.text(host["mode"]) ?? "")" }
            let isRejected = host["refused"]?.bool == true
            let isMatched = host["matched_at"]?.integer != nil
            return [
                Cell(self.text(host["provider"])), Cell(self.text(host["host"])), self.days(leaf?["days_left"]),
                isRejected
                    ? Cell("no pin matches", "critical", note: count)
                    : Cell(count ?? "no pins", count != nil && isMatched ? "ok" : nil),
                self.days(host["expires_days_left"], note: self.text(host["expires"])),
            ]
        }
        return self.table(
            "pins",
            "Certificates and pins of providers",
            ["Provider", "Host", "Certificate expires in", "Pins", "Pins expire in"],
            rows,
            empty: "No provider was called over TLS yet."
        )
    }

    private var configuration: [String: Any] {
        let reload = self.status["last_reload"]
        let isGood = reload?["ok"]?.bool != false
        let result =
            reload?["at"] == nil
            ? Cell("none since the start") : Cell(isGood ? "succeeded" : "failed", isGood ? "ok" : "critical")
        let detail = [self.time(reload?["at"]), self.text(reload?["detail"])].compactMap(\.self).joined(separator: ": ")
        var last = result
        last.note = detail
        return self.table(
            "configuration",
            "Configuration",
            ["What", "Value"],
            [
                [Cell("File"), Cell(self.text(self.status["configuration"]))],
                [Cell("In force since"), Cell(self.time(self.status["loaded_at"]))],
                [Cell("Last reload"), last],
                [Cell("Hash"), Cell(self.text(self.status["configuration_hash"]))],
                [Cell("Listeners"), Cell(self.list("listeners").compactMap { self.text($0) }.joined(separator: ", "))],
            ]
        )
    }

    /// A table; rows that need attention come first, the others keep their order.
    private func table(
        _ id: String,
        _ title: String,
        _ columns: [String],
        _ rows: [[Cell]],
        empty: String = "There is nothing here."
    ) -> [String: Any] {
        let urgent = rows.filter { $0.contains { $0.state == "critical" } }
        let others = rows.filter { !$0.contains { $0.state == "critical" } }
        let sorted = id == "configuration" || id == "load" ? rows : urgent + others
        let shown = sorted.prefix(StatusPage.maxRows).map { row -> [String: Any] in
            let cells = zip(columns, row).map { label, cell -> [String: Any] in
                [
                    "label": label, "text": cell.text, "isState": cell.state != nil, "class": cell.state ?? "",
                    "note": cell.note, "hasNote": !cell.note.isEmpty,
                ]
            }
            return ["cells": cells]
        }
        let more = rows.count - shown.count
        return [
            "id": id, "title": title, "columns": columns, "rows": shown, "hasRows": !shown.isEmpty, "empty": empty,
            "hasMore": more > 0, "more": "\(more)",
        ]
    }
}

// MARK: Values

extension StatusView {
    private func list(_ name: String) -> [JSON] { self.status[name]?.array ?? [] }

    /// A text on one line that shows in the order in which it is stored.
    private func text(_ value: JSON?) -> String? { value?.string.map { PrintableText.escaped($0, limit: 300) } }

    /// A time with how long ago it is, or how far away.
    private func time(_ value: JSON?) -> String? {
        value?.integer.map { "\(self.stamp(Instant(seconds: $0))) (\(self.distance($0)))" }
    }

    /// How long ago a time is, or how far away.
    private func distance(_ seconds: Int64) -> String {
        let distance = self.now.seconds - seconds
        return distance < 0 ? "in \(self.span(-distance))" : distance == 0 ? "just now" : "\(self.span(distance)) ago"
    }

    private func stamp(_ time: Instant) -> String {
        time.timestamp.replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    /// A duration in its largest unit.
    private func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    /// The days that are left of something that expires.
    private func days(_ value: JSON?, note: String? = nil) -> Cell {
        guard let days = value?.integer else { return Cell(note) }
        let state = days < 3 ? "critical" : days < 14 ? "warning" : "ok"
        return Cell("\(days) day\(days == 1 ? "" : "s")", state, note: note)
    }
}
