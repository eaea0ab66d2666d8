// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateHTTP
internal import GatePolicy
package import Logging
internal import Synchronization

/// Watches the listeners' own certificates and the revocation lists for those of clients: at the start, at each reload and once an hour.
///
/// The same finding is logged once a day at most. Metrics and `/status` show what holds now.
package final class CertificateWatch: Sendable {
    struct State {
        var listeners: [ListenerCertificates] = []
        var hosts: [String] = []
        var logged: [CertificateFinding: Instant] = [:]
    }

    private let logger: Logger
    private let clock: WallClock
    private let state = Mutex(State())
    private let gauges = GaugeGroup()

    /// A watch over no listener.
    package init(logger: Logger, clock: WallClock) {
        self.logger = logger
        self.clock = clock
    }

    /// Takes over the listeners and hosts of a configuration that is in force now, and looks at them.
    package func adopt(_ plans: [ListenerPlan], _ configuration: Configuration) {
        self.state.withLock { state in
            state.listeners = plans.map(ListenerCertificates.init)
            state.hosts = configuration.hosts
        }
        self.look()
    }

    /// Logs what was not logged within a day.
    package func look() {
        let now = self.clock.now
        let findings = self.state.withLock { state -> [CertificateFinding] in
            let all = state.findings(at: now)
            state.logged = state.logged.filter { all.contains($0.key) }
            let due = all.filter { finding in
                guard let last = state.logged[finding], now >= last else { return true }
                return now.since(last) >= SecurityEvent.expirySilence
            }
            for finding in due { state.logged[finding] = now }
            return due
        }
        for finding in findings { self.log(finding) }
    }

    private func log(_ finding: CertificateFinding) {
        self.logger.of(.security).log(
            level: finding.severity.logLevel,
            "listener certificate",
            metadata: [
                "event": "\(finding.name.code)", "severity": "\(finding.severity.rawValue)",
                "listener": "\(finding.listener)",
                "file": "\(PrintableText.escaped(finding.file ?? "all", limit: 500))",
                "detail": "\(PrintableText.escaped(finding.detail, limit: 500))",
            ]
        )
    }

    /// Records the gauges of all certificates.
    package func record() {
        let now = self.clock.now
        self.gauges.record(self.state.withLock { $0.samples(at: now) })
    }

    /// The listeners with what can expire, what there is to report of all, and the time.
    var report: (at: Instant, listeners: [ListenerCertificates], findings: [CertificateFinding]) {
        let now = self.clock.now
        return self.state.withLock { state in
            (now, state.listeners.filter { !$0.isEmpty }, state.findings(at: now))
        }
    }
}

extension CertificateWatch.State {
    fileprivate func findings(at now: Instant) -> [CertificateFinding] {
        self.listeners.flatMap { CertificateFinding.all(of: $0, serving: self.hosts, at: now) }
    }

    /// The time left for each certificate and the lists of each issuer, and the number of findings of each listener by name.
    fileprivate func samples(at now: Instant) -> [GaugeSample] {
        let findings = self.findings(at: now)
        return self.listeners.flatMap { listener -> [GaugeSample] in
            guard !listener.isEmpty else { return [] }
            let times = listener.certificates.flatMap { file, certificate in
                [
                    GaugeSample(
                        OperationsMetrics.listenerCertificateDaysLeft,
                        [listener.address, file],
                        certificate.notAfter.days(from: now)
                    ),
                    GaugeSample(
                        OperationsMetrics.listenerCertificateTime,
                        [listener.address, file],
                        certificate.notAfter.since(now).wholeSeconds
                    ),
                ]
            }
            let counts = CertificateFinding.Name.allCases.map { name in
                GaugeSample(
                    OperationsMetrics.listenerCertificateFindings,
                    [listener.address, name.code],
                    Int64(findings.count { $0.listener == listener.address && $0.name == name })
                )
            }
            let lists = listener.listEnds.map { issuer, end in
                GaugeSample(
                    OperationsMetrics.revocationListTime,
                    [listener.address, issuer],
                    end.since(now).wholeSeconds
                )
            }
            return times + counts + lists
        }
    }
}

extension ListenerCertificates {
    /// The certificates of a listener that is open or about to be.
    init(_ plan: ListenerPlan) {
        self.init(
            address: "\(plan.address)",
            certificates: plan.identities.map { ($0.file, $0.certificate) },
            revocationLists: plan.clientCertificates?.authority.lists ?? []
        )
    }
}

extension Configuration {
    /// The hosts that are served, the gateway's own first; wildcards as the file has them, which a certificate covers with the
    /// same wildcard.
    package var hosts: [String] {
        var known: Set<String> = []
        let hosts = self.apps.flatMap(\.route.origins.hosts).map(\.description)
        return ([self.gateway.publicURL.host] + hosts).filter { known.insert($0).inserted }
    }
}
