// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import Metrics
internal import Synchronization

extension PinWatch {
    /// The hosts of all providers, as `/status` shows them.
    var hostsJSON: JSON {
        let now = self.clock.now
        let hosts = self.state.withLock(\.hosts).sorted { $0.key < $1.key }
        return .array(hosts.map { $0.value.json($0.key, now: now) })
    }

    /// The last security events, the newest first.
    var eventsJSON: JSON { .array(self.state.withLock(\.events).newest.map(\.json)) }

    /// Sets the gauges to what is known now; those of hosts that are gone are taken away.
    func record() {
        let now = self.clock.now
        let samples = self.state.withLock(\.hosts).flatMap { key, host in PinWatch.samples(of: host, key, now: now) }
        let old = self.state.withLock { state in
            let old = state.gauges
            state.gauges = Set(samples.map(\.series))
            return old
        }
        for gone in old.subtracting(samples.map(\.series)) { gone.gauge.destroy() }
        for sample in samples { sample.series.gauge.record(sample.value) }
    }

    private static func samples(of host: PinnedHost, _ key: PinnedHost.Key, now: Instant) -> [PinSample] {
        let place = [Label("provider", key.provider), Label("host", key.origin.authority)]
        var samples = host.chain.enumerated().map { position, certificate in
            PinSample(
                "gatehouse_provider_certificate_days_left",
                place + [Label("position", "\(position)")],
                certificate.notAfter.days(from: now)
            )
        }
        guard let set = host.set else { return samples }
        samples.append(PinSample("gatehouse_pin_enforced", place, set.demand(at: now) == .report ? 0 : 1))
        samples.append(PinSample("gatehouse_pin_backups_unused", place, Int64(host.unusedPins)))
        if let expires = set.expires {
            samples.append(PinSample("gatehouse_pin_set_days_left", place, expires.days(from: now)))
        }
        return samples
    }
}

/// A label of a series.
struct Label: Sendable, Hashable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A gauge by its name and labels.
struct GaugeSeriesName: Sendable, Hashable {
    let name: String
    let labels: [Label]

    /// The gauge; the same one for the same name and labels.
    var gauge: Gauge { Gauge(label: self.name, dimensions: self.labels.map { ($0.name, $0.value) }) }
}

/// A gauge and its value.
private struct PinSample {
    let series: GaugeSeriesName
    let value: Int64

    init(_ name: String, _ labels: [Label], _ value: Int64) {
        self.series = GaugeSeriesName(name: name, labels: labels)
        self.value = value
    }
}
