// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics
internal import Synchronization

/// The backend of swift-metrics: keeps all series and prints them in the Prometheus text format, version 0.0.4.
///
/// A name with the same labels is one series, so counters continue after a reload. The number of series is bounded; later
/// ones are not kept.
package final class PrometheusRegistry: MetricsFactory {
    /// The registry of the process; swift-metrics is bootstrapped with it on first use.
    package static let shared: PrometheusRegistry = {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    private static let maxSeries = 20_000
    private let series = Mutex<[SeriesKey: Series]>([:])

    private enum Series {
        case counter(CounterSeries)
        case gauge(GaugeSeries)
        case histogram(HistogramSeries)
    }

    /// Implements `MetricsFactory`.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let key = SeriesKey(label, dimensions)
        return self.series.withLock { series in
            if case .counter(let known) = series[key] { return known }
            let made = CounterSeries()
            if series.count < PrometheusRegistry.maxSeries { series[key] = .counter(made) }
            return made
        }
    }

    /// Implements `MetricsFactory`.
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let key = SeriesKey(label, dimensions)
        return self.series.withLock { series in
            if case .gauge(let known) = series[key] { return known }
            let made = GaugeSeries()
            if series.count < PrometheusRegistry.maxSeries { series[key] = .gauge(made) }
            return made
        }
    }

    /// Implements `MetricsFactory`.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let key = SeriesKey(label, dimensions)
        return self.series.withLock { series in
            if case .histogram(let known) = series[key] { return known }
            let made = HistogramSeries()
            if series.count < PrometheusRegistry.maxSeries { series[key] = .histogram(made) }
            return made
        }
    }

    /// Implements `MetricsFactory`; counters are never removed.
    package func destroyCounter(_ handler: any CounterHandler) {}
    /// Implements `MetricsFactory`; histograms are never removed.
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// Removes a gauge whose labels no longer exist.
    package func destroyRecorder(_ handler: any RecorderHandler) {
        self.series.withLock { series in
            let gone = series.first { _, kept in
                guard case .gauge(let gauge) = kept else { return false }
                return gauge === handler
            }
            if let gone { series[gone.key] = nil }
        }
    }

    /// All series as text, sorted by name and labels, with the help text of those that are described.
    package func text(describedBy metrics: [MetricSeries] = []) -> String {
        let help = Dictionary(metrics.map { ($0.name, $0.help) }) { first, _ in first }
        let all = self.series.withLock { $0 }.sorted { $0.key < $1.key }
        var text = ""
        var last = ""
        for (key, series) in all {
            if key.name != last, let help = help[key.name] { text += "# HELP \(key.name) \(help)\n" }
            if key.name != last { text += "# TYPE \(key.name) \(PrometheusRegistry.kind(of: series))\n" }
            last = key.name
            switch series {
            case .counter(let counter): text += "\(key.name)\(key.labels()) \(counter.value)\n"
            case .gauge(let gauge): text += "\(key.name)\(key.labels()) \(gauge.value)\n"
            case .histogram(let histogram): text += histogram.text(key)
            }
        }
        return text
    }

    private static func kind(of series: Series) -> String {
        switch series {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// Name and labels of a series.
struct SeriesKey: Hashable, Comparable {
    let name: String
    private let pairs: [String]

    init(_ name: String, _ dimensions: [(String, String)]) {
        self.name = name
        self.pairs = dimensions.map { "\($0.0)=\"\(SeriesKey.escape($0.1))\"" }
    }

    /// The labels in braces, with one more if given.
    func labels(and more: String? = nil) -> String {
        let all = self.pairs + (more.map { [$0] } ?? [])
        return all.isEmpty ? "" : "{\(all.joined(separator: ","))}"
    }

    static func < (left: SeriesKey, right: SeriesKey) -> Bool {
        (left.name, left.labels()) < (right.name, right.labels())
    }

    private static func escape(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

private final class CounterSeries: CounterHandler {
    private let count = Atomic<Int64>(0)
    var value: Int64 { self.count.load(ordering: .relaxed) }
    func increment(by amount: Int64) { self.count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { self.count.store(0, ordering: .relaxed) }
}

private final class GaugeSeries: RecorderHandler {
    private let bits = Atomic<UInt64>(0)
    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }
    func record(_ value: Int64) { self.record(Double(value)) }
    func record(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
}

/// A histogram with fixed bounds from half a millisecond to a minute.
private final class HistogramSeries: TimerHandler {
    private static let bounds: [Int64] = [
        500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000,
        500_000_000, 1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 60_000_000_000,
    ]

    /// A count that an array can hold.
    private final class Bucket: Sendable {
        let count = Atomic<Int64>(0)
    }

    private let buckets = (0...HistogramSeries.bounds.count).map { _ in Bucket() }
    private let sum = Atomic<Int64>(0)

    func recordNanoseconds(_ duration: Int64) {
        var index = 0
        while index < HistogramSeries.bounds.count, duration > HistogramSeries.bounds[index] {
            index += 1
        }
        self.buckets[index].count.wrappingAdd(1, ordering: .relaxed)
        self.sum.wrappingAdd(duration, ordering: .relaxed)
    }

    func text(_ key: SeriesKey) -> String {
        var text = ""
        var total: Int64 = 0
        for (index, bucket) in self.buckets.enumerated() {
            total += bucket.count.load(ordering: .relaxed)
            let isLast = index == HistogramSeries.bounds.count
            let bound = isLast ? "+Inf" : "\(Double(HistogramSeries.bounds[index]) / 1e9)"
            text += "\(key.name)_bucket\(key.labels(and: "le=\"\(bound)\"")) \(total)\n"
        }
        let seconds = Double(self.sum.load(ordering: .relaxed)) / 1e9
        return text + "\(key.name)_sum\(key.labels()) \(seconds)\n\(key.name)_count\(key.labels()) \(total)\n"
    }
}
