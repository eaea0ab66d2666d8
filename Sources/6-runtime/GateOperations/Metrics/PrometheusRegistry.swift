// SPDX-License-Identifier: Apache-2.0

package import CoreMetrics
internal import GateCore
internal import GateNet
internal import Synchronization

/// The backend of swift-metrics: keeps all series, for ``MetricsText`` to print.
///
/// A name with the same labels is one series, so counters continue after a reload. The number of series of a name is
/// bounded; further counters and histograms are counted together under the label value `_other`.
package final class PrometheusRegistry: MetricsFactory {
    /// The registry of the process; swift-metrics is bootstrapped with it on first use.
    package static let shared: PrometheusRegistry = {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    /// The maximum number of series of one name: two dozen bytes of memory each, and one line in a scrape.
    static let maxSeries = 60_000
    /// The same for histograms, which have 18 lines each.
    static let maxHistograms = 1000
    /// The value of each label of what is over the limit.
    static let overflow = "_other"

    private struct Family {
        var series: [[String]: any MetricValue] = [:]
        /// In the order of their labels; nil after a change.
        var sorted: [any MetricValue]?
    }

    private let families = Mutex<[String: Family]>([:])

    /// Implements `MetricsFactory`.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.counter(label, dimensions)
    }

    /// Implements `MetricsFactory`.
    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        self.value(label, dimensions, limit: PrometheusRegistry.maxSeries, hasOverflow: false) { GaugeValue($0) }
    }

    /// Implements `MetricsFactory`.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.histogram(label, dimensions)
    }

    /// Implements `MetricsFactory`; counters are never removed.
    package func destroyCounter(_ handler: any CounterHandler) {}
    /// Implements `MetricsFactory`; histograms are never removed.
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// Removes a gauge whose labels no longer exist.
    package func destroyRecorder(_ handler: any RecorderHandler) {
        guard let gauge = handler as? GaugeValue else { return }
        self.families.withLock { families in
            guard families[gauge.key.name]?.series[gauge.key.values] === gauge else { return }
            families[gauge.key.name]?.series[gauge.key.values] = nil
            families[gauge.key.name]?.sorted = nil
        }
    }

    /// The part of a counter that one event loop adds to; the same for the same loop.
    func loopCounter(_ name: String, _ dimensions: [(String, String)], loop: Int) -> LoopNumber {
        self.counter(name, dimensions).part(of: loop)
    }

    /// The part of a histogram that one event loop fills; the same for the same loop.
    func loopHistogram(_ name: String, _ dimensions: [(String, String)], loop: Int) -> LoopHistogram {
        self.histogram(name, dimensions).part(of: loop)
    }

    /// The series of each name, both in order.
    var sorted: [(name: String, series: [any MetricValue])] {
        self.families.withLock { families in
            families.keys.sorted().compactMap { name in
                let known = families[name]?.sorted
                let series =
                    known
                    ?? families[name]?.series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value) ?? []
                families[name]?.sorted = series
                return series.isEmpty ? nil : (name, series)
            }
        }
    }

    /// The sum of the counters of a metric whose label values are selected; 0 without any.
    package func total(of metric: MetricSeries, where isSelected: ([String]) -> Bool = { _ in true }) -> Int64 {
        let series = self.families.withLock { $0[metric.name]?.series ?? [:] }
        return series.reduce(0) { sum, one in
            guard isSelected(one.key), let counter = one.value as? CounterValue else { return sum }
            return sum + counter.value
        }
    }

    private func counter(_ name: String, _ dimensions: [(String, String)]) -> CounterValue {
        self.value(name, dimensions, limit: PrometheusRegistry.maxSeries) { CounterValue($0) }
    }

    private func histogram(_ name: String, _ dimensions: [(String, String)]) -> HistogramValue {
        self.value(name, dimensions, limit: PrometheusRegistry.maxHistograms) { HistogramValue($0) }
    }

    private func value<Value: MetricValue>(
        _ name: String,
        _ dimensions: [(String, String)],
        limit: Int,
        hasOverflow: Bool = true,
        make: (SeriesKey) -> Value
    ) -> Value {
        let values = dimensions.map(\.1)
        return self.families.withLock { families in
            // Most are known, and asked for with each event: the text of the labels is made for new ones only.
            if let known = families[name]?.series[values] as? Value { return known }
            var key = SeriesKey(name, dimensions)
            if families[name, default: Family()].series.count >= limit {
                guard hasOverflow else { return make(key) }
                key = SeriesKey(name, dimensions.map { ($0.0, PrometheusRegistry.overflow) })
                if let known = families[name]?.series[key.values] as? Value { return known }
            }
            let made = make(key)
            families[name, default: Family()].series[key.values] = made
            families[name]?.sorted = nil
            return made
        }
    }
}

/// Name and labels of a series.
struct SeriesKey: Sendable {
    let name: String
    /// The values of the labels.
    let values: [String]
    /// The labels as they are printed, without braces.
    let labels: String

    init(_ name: String, _ dimensions: [(String, String)]) {
        self.name = name
        self.values = dimensions.map(\.1)
        self.labels = dimensions.map { "\($0.0)=\"\(SeriesKey.escape($0.1))\"" }.joined(separator: ",")
    }

    /// A text between quotation marks in a scrape.
    static func escape(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x5C || $0 == 0x22 || $0 == 0x0A }) else { return value }
        return value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

/// A series with its value.
protocol MetricValue: AnyObject, Sendable {
    var key: SeriesKey { get }
    /// When it was made, by the wall clock.
    var created: Instant { get }
}

/// A counter: what was added by any thread, and the parts of the event loops.
final class CounterValue: CounterHandler, MetricValue {
    let key: SeriesKey
    let created = WallClock.system.now
    private let count = Atomic<Int64>(0)
    private let parts = Mutex<[Int: LoopNumber]>([:])

    init(_ key: SeriesKey) {
        self.key = key
    }

    var value: Int64 {
        self.parts.withLock { $0.values.reduce(self.count.load(ordering: .relaxed)) { $0 &+ $1.value } }
    }

    func increment(by amount: Int64) { self.count.wrappingAdd(amount, ordering: .relaxed) }
    func reset() { self.count.store(0, ordering: .relaxed) }

    func part(of loop: Int) -> LoopNumber {
        self.parts.withLock { parts in
            if let known = parts[loop] { return known }
            let made = LoopNumber()
            parts[loop] = made
            return made
        }
    }
}

/// A gauge, or a counter that is read elsewhere.
final class GaugeValue: RecorderHandler, MetricValue {
    let key: SeriesKey
    let created = WallClock.system.now
    private let bits = Atomic<UInt64>(0)

    init(_ key: SeriesKey) {
        self.key = key
    }

    var value: Double { Double(bitPattern: self.bits.load(ordering: .relaxed)) }
    func record(_ value: Int64) { self.record(Double(value)) }
    func record(_ value: Double) { self.bits.store(value.bitPattern, ordering: .relaxed) }
}

/// A histogram: what was recorded by any thread, and the parts of the event loops.
final class HistogramValue: TimerHandler, MetricValue {
    let key: SeriesKey
    let created = WallClock.system.now
    private let buckets = InlineArray<16, Atomic<Int64>> { _ in Atomic(0) }
    private let sum = Atomic<Int64>(0)
    private let parts = Mutex<[Int: LoopHistogram]>([:])

    init(_ key: SeriesKey) {
        self.key = key
    }

    var snapshot: HistogramSnapshot {
        var snapshot = HistogramSnapshot()
        for index in 0..<DurationBuckets.count {
            snapshot.counts[index] = self.buckets[index].load(ordering: .relaxed)
        }
        snapshot.sum = self.sum.load(ordering: .relaxed)
        for part in self.parts.withLock({ Array($0.values) }) { part.add(to: &snapshot) }
        return snapshot
    }

    func recordNanoseconds(_ duration: Int64) {
        self.buckets[DurationBuckets.index(of: duration)].wrappingAdd(1, ordering: .relaxed)
        self.sum.wrappingAdd(duration, ordering: .relaxed)
    }

    func part(of loop: Int) -> LoopHistogram {
        self.parts.withLock { parts in
            if let known = parts[loop] { return known }
            let made = LoopHistogram()
            parts[loop] = made
            return made
        }
    }
}
