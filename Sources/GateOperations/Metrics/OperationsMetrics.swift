// SPDX-License-Identifier: Apache-2.0

/// The metrics of this module: the log, the certificates of providers and pins, the certificates of listeners.
package enum OperationsMetrics {
    static let pendingLines = MetricSeries.gauge(
        "gatehouse_log_lines_pending",
        unit: "lines",
        help: "Log lines that are not written yet"
    )
    static let droppedLines = MetricSeries.counter(
        "gatehouse_log_lines_dropped_total",
        labels: ["reason"],
        unit: "lines",
        help: "Log lines that were not written: the queue was full (queue_full) or the write failed (write_failed)"
    )
    /// Lines that a ``LogLimiter`` left out.
    package static let suppressedLines = MetricSeries.counter(
        "gatehouse_log_lines_suppressed_total",
        labels: ["kind"],
        unit: "lines",
        help: "Log lines about rejected requests that the rate limit of the log left out, by kind of failure"
    )
    static let providerCertificateDaysLeft = MetricSeries.gauge(
        "gatehouse_provider_certificate_days_left",
        labels: ["provider", "host", "position"],
        unit: "days",
        help: "Days until a certificate in the chain of a provider's host expires; position 0 is the leaf"
    )
    static let pinEnforced = MetricSeries.gauge(
        "gatehouse_pin_enforced",
        labels: ["provider", "host"],
        unit: "boolean",
        help: "1 while connections without a pinned key are rejected, 0 while they are only reported"
    )
    static let unusedPins = MetricSeries.gauge(
        "gatehouse_pin_backups_unused",
        labels: ["provider", "host"],
        unit: "pins",
        help: "Pins of a host that match no certificate of its chain: the backups that are left"
    )
    static let pinSetDaysLeft = MetricSeries.gauge(
        "gatehouse_pin_set_days_left",
        labels: ["provider", "host"],
        unit: "days",
        help: "Days until the pins of a host expire"
    )
    static let pinMatches = MetricSeries.counter(
        "gatehouse_pin_matches_total",
        labels: ["provider", "host", "pin", "position"],
        unit: "handshakes",
        help: "Handshakes in which a pin matched, by the pin and the position of the certificate"
    )
    static let pinMismatches = MetricSeries.counter(
        "gatehouse_pin_mismatches_total",
        labels: ["provider", "host", "mode"],
        unit: "handshakes",
        help: "Handshakes in which no pin matched, by the mode of the pins"
    )
    static let securityEvents = MetricSeries.counter(
        "gatehouse_security_events_total",
        labels: ["event", "severity"],
        unit: "events",
        help: "Security events about the certificates of providers"
    )
    static let listenerCertificateDaysLeft = MetricSeries.gauge(
        "gatehouse_listener_certificate_days_left",
        labels: ["listener", "certificate"],
        unit: "days",
        help: "Days until a certificate of a listener expires"
    )
    static let listenerCertificateFindings = MetricSeries.gauge(
        "gatehouse_listener_certificate_findings",
        labels: ["listener", "finding"],
        unit: "findings",
        help: "Findings on the certificates of a listener, by the name of the finding"
    )

    /// All metrics of this module.
    package static let all = [
        pendingLines, droppedLines, suppressedLines, providerCertificateDaysLeft, pinEnforced, unusedPins,
        pinSetDaysLeft, pinMatches,
        pinMismatches,
        securityEvents, listenerCertificateDaysLeft, listenerCertificateFindings,
    ]
}
