// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateProviderHTTP
internal import Logging

/// The log lines about the certificates of providers.
struct SecurityLog: Sendable {
    private let logger: Logger

    /// A log with this logger's lines in the stream `security`.
    init(logger: Logger) {
        self.logger = logger.of(.security)
    }

    func event(_ event: SecurityEvent) {
        self.logger.log(
            level: event.severity.logLevel,
            "security event",
            metadata: [
                "event": "\(event.name.rawValue)", "severity": "\(event.severity.rawValue)",
                "provider": "\(event.provider)", "host": "\(event.host ?? "all")",
                "presented": "\(event.presented.map { "\($0)" }.joined(separator: " "))",
                "detail": "\(PrintableText.escaped(event.detail, limit: 500))",
            ]
        )
    }

    /// The certificates of a provider's host.
    func chain(of host: PinnedHost, _ key: PinnedHost.Key, now: Instant) {
        let chain = host.chain.enumerated().map { position, certificate in
            let pin = certificate.publicKeyPin.map { "\($0)" } ?? "-"
            let match = host.pin(at: position).map { " is pin \($0 + 1)" } ?? ""
            let days = certificate.notAfter.days(from: now)
            return "\(position) \(certificate.name) sha256 \(pin)\(match), \(days) days left"
        }
        self.logger.info(
            "provider chain",
            metadata: [
                "provider": "\(key.provider)", "host": "\(key.origin.authority)",
                "pins": "\(host.set.map { "\($0.match.rawValue) \($0.mode.rawValue)" } ?? "none")",
                "chain": "\(PrintableText.escaped(chain.joined(separator: "; "), limit: 2000))",
            ]
        )
    }

    /// Advice about pins that may lock users out.
    func advice(_ remark: String, _ key: PinnedHost.Key) {
        self.logger.warning(
            "pins",
            metadata: [
                "provider": "\(key.provider)", "host": "\(key.origin.authority)",
                "detail": "\(PrintableText.escaped(remark, limit: 500))",
            ]
        )
    }

    /// Pins that are not enforced.
    func onlyReported(_ provider: String, host: String?, preset: String?) {
        self.logger.warning(
            "pins are in mode report",
            metadata: [
                "provider": "\(provider)", "host": "\(host ?? "all")", "preset": "\(preset ?? "none")",
                "detail": "a mismatch is noted and the connection used; mode: enforce refuses it",
            ]
        )
    }
}

extension SecurityEvent.Severity {
    /// The level at which events of this severity are logged.
    var logLevel: Logger.Level {
        switch self {
        case .notice: .notice
        case .warning: .warning
        case .critical: .critical
        }
    }
}
