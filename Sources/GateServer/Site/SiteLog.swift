// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import GateProxy
internal import Logging
internal import NIOCore

/// What is worth a line in the log.
///
/// No line holds a token, a cookie, a query or a name that a visitor chose freely.
struct SiteLog: Sendable {
    let logger: Logger

    /// A visitor was shown an error page.
    ///
    /// A failed sign-in names its provider, as it is called in the file.
    func refused(_ failure: Failure, incident: String, provider: String? = nil) {
        var metadata: Logger.Metadata = [
            "code": "\(failure.code)", "kind": "\(failure.kind.rawValue)", "incident": "\(incident)",
            "detail": "\(SiteLog.plain(failure.detail))",
        ]
        metadata["provider"] = provider.map { "\($0)" }
        self.logger.log(
            level: failure.code == "route.maintenance" ? .debug : SiteLog.level(of: failure.kind),
            "refused",
            metadata: metadata
        )
    }

    /// Somebody sent what is no request; at debug, since anybody can send as much of it as they like.
    func refusedBytes(_ reason: String, incident: String) {
        self.logger.debug("no request", metadata: ["code": "\(reason)", "incident": "\(incident)"])
    }

    /// An app gave no proper answer.
    func upstreamFailed(_ failure: Failure, app: String, requestID: String) {
        self.logger.warning(
            "upstream failed",
            metadata: [
                "code": "\(failure.code)", "app": "\(app)", "request": "\(requestID)",
                "detail": "\(SiteLog.plain(failure.detail))",
            ]
        )
    }

    /// Something about a target of an app has changed.
    func upstream(_ event: UpstreamEvent) {
        switch event {
        case .ejected(let target, let failures, let span):
            self.logger.warning(
                "upstream left out",
                metadata: [
                    "target": "\(target)", "failures": "\(failures)", "seconds": "\(span.nanoseconds / 1_000_000_000)",
                ]
            )
        case .health(let target, let isUp, let why):
            self.logger.log(
                level: isUp ? .notice : .warning,
                isUp ? "upstream healthy" : "upstream unhealthy",
                metadata: ["target": "\(target)", "detail": "\(SiteLog.plain(why))"]
            )
        case .pinMismatch(let target, let isEnforced, let presented):
            let keys = presented?.publicKeys.map { "\($0)" }.joined(separator: " ") ?? "-"
            self.logger.log(
                level: isEnforced ? .critical : .warning,
                "upstream pin mismatch",
                metadata: [
                    "code": "upstream.pin_mismatch", "target": "\(target)", "refused": "\(isEnforced)",
                    "presented": "\(SiteLog.plain(keys))",
                ]
            )
        }
    }

    /// Somebody signed in.
    func signedIn(_ profile: Profile, session: String) {
        self.logger.info(
            "signed in",
            metadata: ["user": "\(SiteLog.plain(profile.user))", "session": "\(session)"]
        )
    }

    /// Somebody is in more groups than a session keeps.
    func groupsCut(_ profile: Profile, count: Int) {
        self.logger.warning(
            "groups cut",
            metadata: [
                "user": "\(SiteLog.plain(profile.user))", "cut": "\(count)", "kept": "\(profile.groups.count)",
                "advice": "set 'groups: named' for apps that need no other groups",
            ]
        )
    }

    /// Somebody signed out.
    func signedOut(_ user: String, session: String) {
        self.logger.info("signed out", metadata: ["user": "\(SiteLog.plain(user))", "session": "\(session)"])
    }

    /// A provider's metadata or keys could not be had.
    func providerFailed(_ failure: Failure, provider: String) {
        self.logger.warning(
            "provider failed",
            metadata: [
                "provider": "\(provider)", "code": "\(failure.code)", "detail": "\(SiteLog.plain(failure.detail))",
            ]
        )
    }

    /// Somebody has to know of something about a provider's certificates.
    func security(_ event: SecurityEvent) {
        let levels: [SecurityEvent.Severity: Logger.Level] = [
            .notice: .notice, .warning: .warning, .critical: .critical,
        ]
        self.logger.log(
            level: levels[event.severity] ?? .critical,
            "security event",
            metadata: [
                "event": "\(event.name.rawValue)", "severity": "\(event.severity.rawValue)",
                "provider": "\(event.provider)", "host": "\(event.host ?? "all")",
                "presented": "\(event.presented.map { "\($0)" }.joined(separator: " "))",
                "detail": "\(SiteLog.plain(event.detail))",
            ]
        )
    }

    /// The certificates of a provider's host.
    func providerChain(_ host: PinnedHost, _ key: PinnedHost.Key, now: Instant) {
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
                "chain": "\(SiteLog.plain(chain.joined(separator: "; "), limit: 2000))",
            ]
        )
    }

    /// Something about pins is doubtful.
    func pinAdvice(_ remark: String, _ key: PinnedHost.Key) {
        self.logger.warning(
            "pins",
            metadata: [
                "provider": "\(key.provider)", "host": "\(key.origin.authority)", "detail": "\(SiteLog.plain(remark))",
            ]
        )
    }

    /// Pins that protect nobody yet.
    func pinsOnlyReported(_ provider: String, host: String?, preset: String?) {
        self.logger.warning(
            "pins are in mode report",
            metadata: [
                "provider": "\(provider)", "host": "\(host ?? "all")", "preset": "\(preset ?? "none")",
                "detail": "a mismatch is noted and the connection used; mode: enforce refuses it",
            ]
        )
    }

    /// An event loop did nothing of what was due for too long.
    func blocked(_ time: TimeAmount, loop: Int) {
        self.logger.warning(
            "event loop was blocked",
            metadata: ["loop": "\(loop)", "ms": "\(time.nanoseconds / 1_000_000)"]
        )
    }

    /// Who has to act decides.
    private static func level(of kind: Failure.Kind) -> Logger.Level {
        switch kind {
        case .signInRequired, .noSuchRoute: .debug
        case .malformedRequest, .forbidden, .methodNotAllowed, .tooLarge, .tooMany: .info
        case .providerFailed, .upstreamFailed, .upstreamTimedOut, .overloaded: .warning
        case .internalFault: .error
        }
    }

    /// At most so many characters, control characters replaced, so that no text can forge or flood a line.
    private static func plain(_ text: String, limit: Int = 500) -> String {
        String(
            text.prefix(limit).map { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } ? $0 : "?" }
        )
    }
}
