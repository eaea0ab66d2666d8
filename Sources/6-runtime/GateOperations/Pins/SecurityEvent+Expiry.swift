// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP

extension SecurityEvent.Severity {
    /// The days before expiry from which it is reported, and how urgent it is then.
    private static let thresholds: [(days: Int64, severity: SecurityEvent.Severity)] = [
        (3, .critical), (14, .warning), (30, .notice),
    ]

    /// How urgent it is that something ends; nil while it is not.
    ///
    /// Of what has a `life`, less than a third has to be left, since some authorities sign for less than 14 days.
    init?(of end: Instant, life: Duration? = nil, at now: Instant) {
        let left = end.since(now)
        if let life, left > .zero, left * 3 >= life { return nil }
        guard let reached = Self.thresholds.first(where: { left <= .seconds($0.days * 86_400) }) else { return nil }
        self = reached.severity
    }
}

// What of a host ends soon: a certificate of its chain, its pin set.
extension SecurityEvent {
    /// The same expiry is reported at most once a day.
    static let expirySilence = Duration.seconds(86_000)

    /// The events of a chain that was looked at.
    static func events(of chain: [ProviderCertificate], _ key: PinnedHost.Key, at now: Instant) -> [SecurityEvent] {
        chain.compactMap { certificate in
            let life = certificate.notAfter.since(certificate.notBefore)
            guard let severity = Severity(of: certificate.notAfter, life: life, at: now) else { return nil }
            // The days left would make each day, and each moment between two, another event.
            let end = certificate.notAfter.date
            return SecurityEvent(
                name: .expiring,
                severity: severity,
                provider: key.provider,
                host: key.origin.authority,
                presented: chain.compactMap(\.publicKeyPin),
                detail: "the certificate of \(certificate.name) ends on \(end); it has to be renewed there",
                at: now
            )
        }
    }

    /// The events of a pin set: that it expires, and that it has expired and no longer protects sign-ins.
    static func events(of set: PinSet, _ provider: String, host: String?, at now: Instant) -> [SecurityEvent] {
        // Of a set that reports before and after nothing ends.
        guard set.mode == .enforce || set.expired == .reject, let expires = set.expires,
            let severity = Severity(of: expires, at: now)
        else { return [] }
        func event(_ name: Name, _ severity: Severity, _ detail: String) -> SecurityEvent {
            SecurityEvent(name: name, severity: severity, provider: provider, host: host, detail: detail, at: now)
        }
        let then =
            set.expired == .reject
            ? "all connections are refused from then on" : "mismatches are only noted from then on"
        let end = "the pins expire on \(expires.date); \(then)"
        guard set.mode == .enforce, set.demand(at: now) == .report else { return [event(.expiring, severity, end)] }
        let past = "the pins have expired on \(expires.date), and mismatches are only noted since"
        return [
            event(.expiring, severity, end),
            event(.bypassed, .warning, "\(past); write other pins or a later date"),
        ]
    }
}
