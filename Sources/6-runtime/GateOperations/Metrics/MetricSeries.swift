// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import Metrics
internal import Synchronization

/// One metric: its name, type, labels, unit and help text.
///
/// Each module declares its metrics in one file, so that `gatehouse schema --metrics` can list all of them.
package struct MetricSeries: Sendable, Hashable {
    /// The Prometheus type of a metric.
    package enum Kind: String, Sendable {
        /// A number that only grows.
        case counter
        /// A number that goes up and down.
        case gauge
        /// A distribution in buckets.
        case histogram
    }

    /// The name, as Prometheus scrapes it.
    package let name: String
    /// The Prometheus type.
    package let kind: Kind
    /// The names of the labels, in the order in which values are given.
    package let labels: [String]
    /// What one of it is, such as `seconds`.
    package let unit: String
    /// What it counts or measures, in one line without a full stop.
    package let help: String
    /// When there is a value; empty if there always is.
    package private(set) var condition = ""

    private init(name: String, kind: Kind, labels: [String], unit: String, help: String) {
        self.name = name
        self.kind = kind
        self.labels = labels
        self.unit = unit
        self.help = help
    }

    package static func counter(
        _ name: String,
        labels: [String] = [],
        unit: String,
        help: String
    ) -> MetricSeries {
        MetricSeries(name: name, kind: .counter, labels: labels, unit: unit, help: help)
    }

    package static func gauge(_ name: String, labels: [String] = [], unit: String, help: String) -> MetricSeries {
        MetricSeries(name: name, kind: .gauge, labels: labels, unit: unit, help: help)
    }

    /// A histogram of durations.
    package static func histogram(_ name: String, labels: [String] = [], help: String) -> MetricSeries {
        MetricSeries(name: name, kind: .histogram, labels: labels, unit: "seconds", help: help)
    }

    /// The same with the condition under which there is a value, such as `an app has several targets`.
    package func only(when condition: String) -> MetricSeries {
        var series = self
        series.condition = condition
        return series
    }

    /// The counter for these label values; looking it up takes a lock, so a hot path keeps it.
    package func counter(_ values: String...) -> Counter {
        Counter(label: self.name, dimensions: self.dimensions(values))
    }

    /// The gauge for these label values; also that of a counter whose value is read elsewhere.
    package func gauge(_ values: String...) -> Gauge {
        Gauge(label: self.name, dimensions: self.dimensions(values))
    }

    /// The timer that fills a histogram for these label values.
    package func timer(_ values: String...) -> Metrics.Timer {
        Metrics.Timer(label: self.name, dimensions: self.dimensions(values))
    }

    /// The part of a counter that one event loop adds to; the loop keeps it.
    package func loopCounter(_ values: [String], loop: Int) -> LoopNumber {
        PrometheusRegistry.shared.loopCounter(self.name, self.dimensions(values), loop: loop)
    }

    /// The part of a histogram that one event loop fills; the loop keeps it.
    package func loopHistogram(_ values: [String], loop: Int) -> LoopHistogram {
        PrometheusRegistry.shared.loopHistogram(self.name, self.dimensions(values), loop: loop)
    }

    fileprivate func dimensions(_ values: [String]) -> [(String, String)] {
        precondition(values.count == self.labels.count, "\(self.name) has \(self.labels.count) labels")
        return Array(zip(self.labels, values))
    }
}

/// A value of a gauge whose labels come and go.
package struct GaugeSample: Sendable {
    fileprivate let key: GaugeKey
    fileprivate let value: Int64

    /// The value of the gauge with these label values.
    package init(_ series: MetricSeries, _ labels: [String], _ value: Int64) {
        self.key = GaugeKey(series: series, labels: labels)
        self.value = value
    }
}

private struct GaugeKey: Hashable {
    let series: MetricSeries
    let labels: [String]

    var gauge: Gauge { Gauge(label: self.series.name, dimensions: self.series.dimensions(self.labels)) }
}

/// Gauges whose labels come and go; those that are not recorded any more are removed from the registry.
package final class GaugeGroup: Sendable {
    private let recorded = Mutex<Set<GaugeKey>>([])

    package init() {}

    /// Records the samples and removes the gauges of the call before that are not among them.
    package func record(_ samples: [GaugeSample]) {
        let keys = Set(samples.map(\.key))
        let old = self.recorded.withLock { recorded in
            defer { recorded = keys }
            return recorded
        }
        for gone in old.subtracting(keys) { gone.gauge.destroy() }
        for sample in samples { sample.key.gauge.record(sample.value) }
    }
}

/// A number that only grows; shared by all threads.
package final class AtomicCounter: Sendable {
    private let number = Atomic<Int>(0)

    /// A counter at 0.
    package init() {}

    package var value: Int { self.number.load(ordering: .relaxed) }

    /// Adds one.
    package func add() { self.number.add(1, ordering: .relaxed) }
}
