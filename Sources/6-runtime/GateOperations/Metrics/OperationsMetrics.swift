// SPDX-License-Identifier: Apache-2.0

/// The metrics of this module: the log, the certificates of providers and pins, the certificates of listeners.
package enum OperationsMetrics {
    static let pendingLines = MetricSeries.gauge(
        "gatehouse_log_lines_pending",
        labels: ["stream"],
        unit: "lines",
        help: "Log lines that are not written yet, by stream of the log"
    )
    static let droppedLines = MetricSeries.counter(
        "gatehouse_log_lines_dropped_total",
        labels: ["stream", "reason"],
        unit: "lines",
        help:
            "Log lines that were not written, by stream: the queue was full (queue_full) or the write failed (write_failed)"
    )
    /// Lines that a ``LogLimiter`` left out.
    package static let suppressedLines = MetricSeries.counter(
        "gatehouse_log_lines_suppressed_total",
        labels: ["kind"],
        unit: "lines",
        help: "Log lines about rejected requests that the rate limit of the log left out, by kind of failure"
    ).only(when: "a line was left out")
    static let providerCertificateDaysLeft = MetricSeries.gauge(
        "gatehouse_provider_certificate_days_left",
        labels: ["provider", "host", "position"],
        unit: "days",
        help: "Days until a certificate in the chain of a provider's host expires; position 0 is the leaf"
    ).only(when: "a host of a provider was connected to")
    static let pinEnforced = MetricSeries.gauge(
        "gatehouse_pin_enforced",
        labels: ["provider", "host"],
        unit: "boolean",
        help: "1 while connections without a pinned key are rejected, 0 while they are only reported"
    ).only(when: "a host has pins")
    static let unusedPins = MetricSeries.gauge(
        "gatehouse_pin_backups_unused",
        labels: ["provider", "host"],
        unit: "pins",
        help: "Pins of a host that match no certificate of its chain: the backups that are left"
    ).only(when: "a host has pins")
    static let pinSetDaysLeft = MetricSeries.gauge(
        "gatehouse_pin_set_days_left",
        labels: ["provider", "host"],
        unit: "days",
        help: "Days until the pins of a host expire"
    ).only(when: "pins have an end")
    static let pinMatches = MetricSeries.counter(
        "gatehouse_pin_matches_total",
        labels: ["provider", "host", "pin", "position"],
        unit: "handshakes",
        help: "Handshakes in which a pin matched, by the pin and the position of the certificate"
    ).only(when: "a host has pins")
    static let pinMismatches = MetricSeries.counter(
        "gatehouse_pin_mismatches_total",
        labels: ["provider", "host", "mode"],
        unit: "handshakes",
        help: "Handshakes in which no pin matched, by the mode of the pins"
    ).only(when: "there was such a handshake")
    static let securityEvents = MetricSeries.counter(
        "gatehouse_security_events_total",
        labels: ["event", "severity"],
        unit: "events",
        help: "Security events about the certificates of providers"
    ).only(when: "there was such an event")
    static let listenerCertificateDaysLeft = MetricSeries.gauge(
        "gatehouse_listener_certificate_days_left",
        labels: ["listener", "certificate"],
        unit: "days",
        help: "Days until a certificate of a listener expires"
    ).only(when: "a listener has a certificate")
    static let providerCertificateTime = MetricSeries.gauge(
        "gatehouse_provider_certificate_remaining_seconds",
        labels: ["provider", "host", "position"],
        unit: "seconds",
        help: "Time until a certificate in the chain of a provider's host expires, negative afterwards"
    ).only(when: "a host of a provider was connected to")
    static let pinSetTime = MetricSeries.gauge(
        "gatehouse_pin_set_remaining_seconds",
        labels: ["provider", "host"],
        unit: "seconds",
        help: "Time until the pins of a host expire, negative afterwards"
    ).only(when: "pins have an end")
    static let listenerCertificateTime = MetricSeries.gauge(
        "gatehouse_listener_certificate_remaining_seconds",
        labels: ["listener", "certificate"],
        unit: "seconds",
        help: "Time until a certificate of a listener expires, negative afterwards"
    ).only(when: "a listener has a certificate")
    static let listenerCertificateFindings = MetricSeries.gauge(
        "gatehouse_listener_certificate_findings",
        labels: ["listener", "finding"],
        unit: "findings",
        help: "Findings on the certificates and revocation lists of a listener, by the name of the finding"
    ).only(when: "a listener has a certificate or a revocation list")
    static let revocationListTime = MetricSeries.gauge(
        "gatehouse_revocation_list_remaining_seconds",
        labels: ["listener", "issuer"],
        unit: "seconds",
        help: "Time until a revocation list of crl_files expires, negative afterwards"
    ).only(when: "a listener has a revocation list")

    /// How many log lines were not written since the start.
    package static var droppedLineCount: Int64 { PrometheusRegistry.shared.total(of: self.droppedLines) }

    /// All metrics of this module.
    package static let all = [
        pendingLines, droppedLines, suppressedLines, providerCertificateDaysLeft, pinEnforced, unusedPins,
        pinSetDaysLeft, pinMatches,
        pinMismatches,
        securityEvents, providerCertificateTime, pinSetTime, listenerCertificateTime, listenerCertificateDaysLeft,
        listenerCertificateFindings, revocationListTime,
    ]
}
