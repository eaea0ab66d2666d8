// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions

/// The state of a gateway as the values of the template of ``StatusPage``.
struct StatusView {
    private let status: GatewayStatus

    init(_ status: GatewayStatus) {
        self.status = status
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
        let warnings = self.status.warnings.map(self.warning)
        return [
            "url": self.text(self.status.publicURL), "version": self.text(self.status.gatewayVersion),
            "started": self.time(self.status.startedAt), "now": self.stamp(self.status.at),
            "operations": self.text(self.status.operations),
            "warnings": warnings, "hasWarnings": !warnings.isEmpty,
            "plots": [self.signIns, self.rejections],
            "tables": [
                self.providers, self.apps, self.denials, self.load, self.certificates, self.pins, self.configuration,
            ],
        ]
    }

    private func warning(_ warning: GatewayStatus.Warning) -> [String: Any] {
        let shown =
            switch warning.severity {
            case .critical, .warning: warning.severity.rawValue
            case .notice: "unknown"
            }
        return [
            "severity": warning.severity.rawValue, "class": shown, "text": self.text(warning.text),
            "runBook": warning.runBook?.rawValue ?? "", "hasRunBook": warning.runBook != nil,
        ]
    }
}

// MARK: Plots

extension StatusView {
    private var signIns: [String: Any] {
        let (good, bad) = (self.status.history.signIns.counts, self.status.history.failedSignIns.counts)
        let summary = "\(good.reduce(0, +)) succeeded, \(bad.reduce(0, +)) failed"
        return self.plot("Sign-ins", summary, good: good, bad: bad)
    }

    private var rejections: [String: Any] {
        let all = self.status.history.rejections.counts
        return self.plot("Rejected requests", "\(all.reduce(0, +))", good: [], bad: all)
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
        let rows = self.status.providerStates.map { provider -> [Cell] in
            let failure = provider.lastFailure
            let state: Cell =
                switch provider.state {
                case .ok: Cell("responds", "ok")
                case .failing: Cell("fails", "critical")
                case .unknown: Cell("not called yet", "unknown")
                }
            let keys = provider.keyAge.map { "\(self.span(Int64($0))) old" }
            return [
                Cell(self.text(provider.name)), state, Cell(provider.lastSuccess.map(self.time)),
                Cell((failure?.at).map(self.time), note: failure.map { "\($0.reason.code): \(self.text($0.detail))" }),
                provider.isBreakerOpen ? Cell("open: asked now and then", "warning") : Cell("closed", "ok"),
                provider.areKeysStale ? Cell("outdated", "warning", note: keys) : Cell(keys),
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
        for app in self.status.appStates {
            let name = Cell(self.text(app.name))
            let place = Cell("\(app.hosts.map(self.text).joined(separator: ", "))\(self.text(app.path))")
            if app.targets.isEmpty {
                rows.append([name, place, Cell("the gateway responds"), self.state(of: nil, in: app), Cell(nil)])
            }
            for target in app.targets {
                let state = self.state(of: target, in: app)
                rows.append([name, place, Cell(self.text(target.target)), state, Cell("\(target.requests)")])
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

    private func state(of target: GatewayStatus.App.Target?, in app: GatewayStatus.App) -> Cell {
        guard !app.isInMaintenance else { return Cell("maintenance", "warning") }
        guard let target else { return Cell("ok", "ok") }
        guard target.isHealthy else { return Cell("gets no requests", "critical") }
        return target.isChecked ? Cell("healthy", "ok") : Cell("in use, not checked", "unknown")
    }

    private var denials: [String: Any] {
        let rows = self.status.denials.map { denial -> [Cell] in
            [
                Cell(self.stamp(denial.at), note: self.distance(denial.at)),
                Cell(denial.app.map(self.text)), Cell(denial.user.map(self.text)), Cell(denial.reason.code),
                Cell(denial.rule.map(self.text)), Cell(denial.incident.map(self.text)),
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
        let overload = self.status.overload
        let failure = self.status.storeFailure?.rawValue
        let isAvailable = self.status.isStoreAvailable
        let store = failure ?? (isAvailable ? "available" : "does not respond")
        let used = "\(overload.usedPercent) % of the scarcest resource, \(overload.memory / 1_048_576) MiB of memory"
        return self.table(
            "load",
            "Sessions and load",
            ["What", "Now"],
            [
                [Cell("Sessions"), Cell(self.status.sessions.map { "\($0)" } ?? "not known")],
                [Cell("Session store"), Cell(store, isAvailable && failure == nil ? "ok" : "critical")],
                [Cell("Connections"), Cell("\(self.status.connections)")],
                [Cell("Requests in progress"), Cell("\(self.status.requestsInFlight)")],
                [
                    Cell("Overload level"),
                    Cell(self.text(overload.level), overload.level == "normal" ? "ok" : "critical", note: used),
                ],
                [Cell("Sign-ins in progress"), Cell("\(overload.signInsInFlight)")],
            ]
        )
    }

    private var certificates: [String: Any] {
        let rows = self.status.listenerCertificates.flatMap { listener in
            listener.certificates.map { certificate -> [Cell] in
                [
                    Cell(self.text(listener.address)), Cell(self.text(certificate.file)),
                    self.days(certificate.daysLeft), Cell(self.stamp(certificate.notAfter)),
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
        let rows = self.status.providerHosts.map { host -> [Cell] in
            let count = host.pins.map { "\($0.count) pins, \(self.text($0.mode))" }
            let isMatched = host.pins?.matchedAt != nil
            return [
                Cell(self.text(host.provider)), Cell(self.text(host.host)), self.days(host.chain.first?.daysLeft),
                host.pins?.isRejected == true
                    ? Cell("no pin matches", "critical", note: count)
                    : Cell(count ?? "no pins", isMatched ? "ok" : nil),
                self.days(host.pins?.daysLeft, note: (host.pins?.expires).map(self.text)),
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
        var last = Cell("none since the start")
        if let reload = self.status.lastReload {
            let detail = reload.detail.isEmpty ? "" : ": \(self.text(reload.detail))"
            let note = "\(self.time(reload.at))\(detail)"
            last = reload.isGood ? Cell("succeeded", "ok", note: note) : Cell("failed", "critical", note: note)
        }
        return self.table(
            "configuration",
            "Configuration",
            ["What", "Value"],
            [
                [Cell("File"), Cell(self.text(self.status.configuration))],
                [Cell("In force since"), Cell(self.time(self.status.loadedAt))],
                [Cell("Last reload"), last],
                [Cell("Hash"), Cell(self.text(self.status.configurationHash))],
                [Cell("Listeners"), Cell(self.status.listeners.map(self.text).joined(separator: ", "))],
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
    /// A text on one line that shows in the order in which it is stored.
    private func text(_ text: String) -> String { PrintableText.escaped(text, limit: 300) }

    /// A time with how long ago it is, or how far away.
    private func time(_ time: Instant) -> String { "\(self.stamp(time)) (\(self.distance(time)))" }

    /// How long ago a time is, or how far away.
    private func distance(_ time: Instant) -> String {
        let distance = self.status.at.seconds - time.seconds
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
    private func days(_ days: Int64?, note: String? = nil) -> Cell {
        guard let days else { return Cell(note) }
        let state = days < 3 ? "critical" : days < 14 ? "warning" : "ok"
        return Cell("\(days) day\(days == 1 ? "" : "s")", state, note: note)
    }
}
