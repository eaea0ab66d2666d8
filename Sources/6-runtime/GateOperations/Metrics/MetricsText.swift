// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The formats in which metrics are printed, and the choice between them.
package enum MetricsFormat: Sendable {
    /// The Prometheus text format, version 0.0.4.
    case prometheus
    /// OpenMetrics 1.0, which has units, creation times and exemplars too.
    case openMetrics

    /// The format that a client prefers; OpenMetrics only if its `Accept` names it.
    package init(accept: String?) {
        var best: (quality: Double, format: MetricsFormat) = (0, .prometheus)
        for range in accept?.lowercased().split(separator: ",").prefix(16) ?? [] {
            let parts = range.split(separator: ";").map { $0.replacing(" ", with: "") }
            let quality = parts.lazy.filter { $0.hasPrefix("q=") }.compactMap { Double($0.dropFirst(2)) }.first ?? 1
            let format: MetricsFormat
            switch parts.first {
            case "application/openmetrics-text": format = .openMetrics
            case "text/plain", "text/*", "*/*": format = .prometheus
            default: continue
            }
            if quality > best.quality { best = (quality, format) }
        }
        self = best.format
    }

    package var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }
}

/// Prints all series of a registry.
///
/// The time depends on the number of series only: neither on connections nor on sessions.
package struct MetricsText {
    private let format: MetricsFormat
    private var bytes: [UInt8] = []

    /// All series of a registry, by name and labels, with the help texts of those that are described.
    package static func bytes(
        of registry: PrometheusRegistry,
        describedBy metrics: [MetricSeries] = [],
        as format: MetricsFormat = .prometheus
    ) -> [UInt8] {
        let described = Dictionary(metrics.map { ($0.name, $0) }) { first, _ in first }
        let families = registry.sorted
        var text = MetricsText(format: format)
        text.bytes.reserveCapacity(families.reduce(0) { $0 + $1.series.count } * 96)
        for family in families { text.add(family.series, name: family.name, described[family.name]) }
        if format == .openMetrics { text.add("# EOF\n") }
        return text.bytes
    }

    private init(format: MetricsFormat) {
        self.format = format
    }

    private mutating func add(_ text: String) { self.bytes.append(contentsOf: text.utf8) }

    private mutating func add(_ series: [any MetricValue], name: String, _ metric: MetricSeries?) {
        let kind = metric?.kind ?? series.first.map(MetricsText.kind) ?? .gauge
        // In OpenMetrics the name of a counter is that of its samples without the suffix.
        let isShort = self.format == .openMetrics && kind == .counter && name.hasSuffix("_total")
        let family = isShort ? String(name.dropLast("_total".count)) : name
        if let metric { self.add("# HELP \(family) \(self.escapedHelp(metric.help))\n") }
        self.add("# TYPE \(family) \(kind.rawValue)\n")
        if let unit = metric?.unit, self.format == .openMetrics, family.hasSuffix("_\(unit)") {
            self.add("# UNIT \(family) \(unit)\n")
        }
        for value in series {
            switch value {
            case let counter as CounterValue:
                self.add(name, "", value.key.labels, "\(counter.value)")
                self.addCreation(of: value, family)
            case let gauge as GaugeValue: self.add(name, "", value.key.labels, "\(gauge.value)")
            case let histogram as HistogramValue:
                self.add(histogram.snapshot, of: histogram.key)
                self.addCreation(of: value, family)
            default: break
            }
        }
    }

    private mutating func add(_ name: String, _ suffix: String, _ labels: String, _ value: String) {
        self.add(name)
        self.add(suffix)
        if !labels.isEmpty {
            self.add("{")
            self.add(labels)
            self.add("}")
        }
        self.add(" ")
        self.add(value)
        self.add("\n")
    }

    private mutating func add(_ histogram: HistogramSnapshot, of key: SeriesKey) {
        var total: Int64 = 0
        let labels = key.labels.isEmpty ? "" : key.labels + ","
        for index in 0..<DurationBuckets.count {
            total += histogram.counts[index]
            let exemplar = self.format == .openMetrics ? histogram.exemplars[index].map(MetricsText.exemplar) : nil
            self.add(
                key.name,
                "_bucket",
                "\(labels)le=\"\(DurationBuckets.labels[index])\"",
                "\(total)\(exemplar ?? "")"
            )
        }
        self.add(key.name, "_sum", key.labels, "\(Double(histogram.sum) / 1e9)")
        self.add(key.name, "_count", key.labels, "\(total)")
    }

    private mutating func addCreation(of value: any MetricValue, _ family: String) {
        guard self.format == .openMetrics else { return }
        self.add(family, "_created", value.key.labels, "\(value.created.seconds)")
    }

    private func escapedHelp(_ help: String) -> String {
        self.format == .openMetrics ? SeriesKey.escape(help) : help.replacing("\\", with: "\\\\")
    }

    /// The labels of an exemplar have at most 128 characters together, so an id that a proxy has made longer is cut.
    private static func exemplar(_ exemplar: Exemplar) -> String {
        let id = SeriesKey.escape(String(exemplar.request.unicodeScalars.prefix(exemplar.trace == nil ? 100 : 70)))
        let trace = exemplar.trace.map { ",trace_id=\"\($0)\"" } ?? ""
        return " # {request_id=\"\(id)\"\(trace)} \(Double(exemplar.nanoseconds) / 1e9)"
    }

    private static func kind(_ value: any MetricValue) -> MetricSeries.Kind {
        switch value {
        case is CounterValue: .counter
        case is HistogramValue: .histogram
        default: .gauge
        }
    }
}
