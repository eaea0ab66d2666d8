// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import Metrics
internal import Synchronization

/// Watches the listeners' own certificates: at the start, at each reload and once an hour.
///
/// The same finding is logged once a day at most. Metrics and `/status` show what holds now.
final class CertificateWatch: Sendable {
    struct State {
        var listeners: [ListenerCertificates] = []
        var hosts: [String] = []
        var logged: [CertificateFinding: Instant] = [:]
        /// The gauges that were set last.
        var gauges: Set<GaugeSeriesName> = []
    }

    private let log: GatewayLog
    private let clock: WallClock
    private let state = Mutex(State())

    init(log: GatewayLog, clock: WallClock) {
        self.log = log
        self.clock = clock
    }

    /// Takes over the listeners and hosts of a configuration that is in force now, and looks at them.
    func adopt(_ plans: [ListenerPlan], _ configuration: Configuration) {
        self.state.withLock { state in
            state.listeners = plans.map(ListenerCertificates.init)
            state.hosts = configuration.hosts
        }
        self.look()
    }

    /// Logs what was not logged within a day.
    func look() {
        let now = self.clock.now
        let findings = self.state.withLock { state -> [CertificateFinding] in
            let all = state.findings(at: now)
            state.logged = state.logged.filter { all.contains($0.key) }
            let due = all.filter { finding in
                guard let last = state.logged[finding], now >= last else { return true }
                return now.since(last) >= Expiry.silence
            }
            for finding in due { state.logged[finding] = now }
            return due
        }
        for finding in findings { self.log.certificate(finding) }
    }

    /// Sets the gauges to what holds now; those of certificates that are gone are taken away.
    func record() {
        let now = self.clock.now
        let samples = self.state.withLock { $0.samples(at: now) }
        let old = self.state.withLock { state in
            defer { state.gauges = Set(samples.map(\.series)) }
            return state.gauges
        }
        for gone in old.subtracting(samples.map(\.series)) { gone.gauge.destroy() }
        for sample in samples { sample.series.gauge.record(sample.value) }
    }

    /// The certificates and what there is to report of them, as `/status` shows them.
    var json: JSON {
        let now = self.clock.now
        return self.state.withLock { state in
            let findings = state.findings(at: now)
            return .array(
                state.listeners.filter { !$0.certificates.isEmpty }.map { listener in
                    [
                        "listener": .string(listener.address),
                        "certificates": .array(
                            listener.certificates.map { file, certificate in
                                [
                                    "file": .string(file), "not_after": .int(certificate.notAfter.seconds),
                                    "days_left": .int(certificate.notAfter.days(from: now)),
                                ]
                            }
                        ),
                        "findings": .array(
                            findings.filter { $0.listener == listener.address }.map { finding in
                                [
                                    "event": .string(finding.name.code),
                                    "severity": .string(finding.severity.rawValue),
                                    "file": finding.file.map { .string($0) } ?? .null,
                                    "detail": .string(finding.detail),
                                ]
                            }
                        ),
                    ]
                }
            )
        }
    }
}

extension CertificateWatch.State {
    fileprivate func findings(at now: Instant) -> [CertificateFinding] {
        self.listeners.flatMap { CertificateFinding.all(of: $0, serving: self.hosts, at: now) }
    }

    /// Days left for each certificate, and how many findings each listener has of each name.
    fileprivate func samples(at now: Instant) -> [(series: GaugeSeriesName, value: Int64)] {
        let findings = self.findings(at: now)
        return self.listeners.flatMap { listener -> [(series: GaugeSeriesName, value: Int64)] in
            guard !listener.certificates.isEmpty else { return [] }
            let place = Label("listener", listener.address)
            let days = listener.certificates.map { file, certificate in
                let labels = [place, Label("certificate", file)]
                let series = GaugeSeriesName(name: "gatehouse_listener_certificate_days_left", labels: labels)
                return (series, certificate.notAfter.days(from: now))
            }
            let counts = CertificateFinding.Name.allCases.map { name in
                let labels = [place, Label("finding", name.code)]
                let series = GaugeSeriesName(name: "gatehouse_listener_certificate_findings", labels: labels)
                let count = findings.count { $0.listener == listener.address && $0.name == name }
                return (series, Int64(count))
            }
            return days + counts
        }
    }
}

extension ListenerCertificates {
    /// The certificates of a listener that is open or about to be.
    init(_ plan: ListenerPlan) {
        self.init(
            address: "\(BindAddress(host: plan.host, port: plan.port))",
            certificates: plan.identities.map { ($0.file, $0.certificate) }
        )
    }
}

extension Configuration {
    /// The hosts that are served, the gateway's own first.
    var hosts: [String] {
        var known: Set<String> = []
        return ([self.gateway.publicURL.host] + self.apps.map(\.route.origin.host)).filter { known.insert($0).inserted }
    }
}
