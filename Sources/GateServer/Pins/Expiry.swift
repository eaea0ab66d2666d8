// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP

/// What of a host ends soon: a certificate of its chain, its pin set.
enum Expiry {
    /// A stage is told once a day at most.
    static let silence = Duration.seconds(86_000)
    /// The days before an end at which it is told, and how urgent it is then.
    private static let stages: [(days: Int64, severity: SecurityEvent.Severity)] = [
        (3, .critical), (14, .warning), (30, .notice),
    ]

    /// How urgent it is that something ends; nil while it is not.
    ///
    /// Of what has a `life`, less than a third has to be left, since some authorities sign for less than 14 days.
    static func severity(of end: Instant, life: Duration? = nil, at now: Instant) -> SecurityEvent.Severity? {
        let left = end.since(now)
        if let life, left > .zero, left * 3 >= life { return nil }
        return self.stages.first { left <= .seconds($0.days * 86_400) }?.severity
    }

    /// The events of a host whose chain was looked at.
    static func events(of host: PinnedHost, _ key: PinnedHost.Key, at now: Instant) -> [SecurityEvent] {
        var events: [SecurityEvent] = []
        func add(_ name: SecurityEvent.Name, _ severity: SecurityEvent.Severity, _ detail: String) {
            events.append(
                SecurityEvent(
                    name: name,
                    severity: severity,
                    provider: key.provider,
                    host: key.origin.authority,
                    presented: host.chain.compactMap(\.publicKeyPin),
                    detail: detail,
                    at: now
                )
            )
        }
        for certificate in host.chain {
            let life = certificate.notAfter.since(certificate.notBefore)
            guard let severity = self.severity(of: certificate.notAfter, life: life, at: now) else { continue }
            let end = "\(self.left(certificate.notAfter, now)) on \(certificate.notAfter.date)"
            add(.expiring, severity, "the certificate of \(certificate.name) ends \(end); it has to be renewed there")
        }
        if let set = host.set, set.mode == .enforce, set.demand(at: now) == .report {
            let since = set.expires.map { " on \($0.date)" } ?? ""
            let help = "mismatches are only noted since; write other pins or a later date"
            add(.bypassed, .warning, "the pins have expired\(since), and \(help)")
        }
        if let set = host.set, let expires = set.expires, let severity = self.severity(of: expires, at: now) {
            let then =
                set.expired == .refuse
                ? "all connections are refused from then on" : "mismatches are only noted from then on"
            add(.expiring, severity, "the pins expire \(self.left(expires, now)) on \(expires.date); \(then)")
        }
        return events
    }

    private static func left(_ end: Instant, _ now: Instant) -> String {
        let days = end.days(from: now)
        return days < 0 ? "since \(-days) days," : "in \(days) days,"
    }
}

extension ProviderCertificate {
    /// The subject, or words for none.
    var name: String { self.subject.isEmpty ? "a certificate without subject" : self.subject }
}
