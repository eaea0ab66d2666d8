// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import GateProxy
internal import GateSessions
internal import GateWire
internal import Logging
internal import NIOCore

/// What is worth a line in the log.
///
/// No line holds a token, a cookie, a query or a name that a visitor chose freely.
struct GatewayLog: Sendable {
    let logger: Logger
    /// Bounds the lines that clients can cause as many of as they like.
    private let limiter = LogLimiter()

    init(logger: Logger) {
        self.logger = logger
    }

    /// A request was rejected with a page or with JSON that shows the incident.
    ///
    /// Each kind of failure has a limit of its own, and so have pages, so that a flood of one hides nothing else.
    /// A failed sign-in names its provider, as it is called in the file.
    func refused(_ failure: Failure, incident: String, for visitor: ClientKind, provider: String? = nil) {
        // What the operator switched on is no reason to worry, and must not hide what is.
        let isMaintenance = failure.reason == .routeMaintenance
        let kind = isMaintenance ? "maintenance" : failure.kind.rawValue
        let key = LogLimiter.Key(kind: kind, isPage: visitor.wantsPage)
        guard let hidden = self.limiter.admit(key) else { return }
        var metadata: Logger.Metadata = [
            "code": "\(failure.code)", "kind": "\(failure.kind.rawValue)", "incident": "\(incident)",
            "detail": "\(GatewayLog.plain(failure.detail))",
        ]
        metadata["provider"] = provider.map { "\($0)" }
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.log(
            level: isMaintenance ? .info : GatewayLog.level(of: failure.kind),
            "refused",
            metadata: metadata
        )
    }

    /// Bytes that are no request were rejected.
    func refusedBytes(_ refusal: WireRejection, incident: String, for visitor: ClientKind) {
        guard let hidden = self.limiter.admit(LogLimiter.Key(kind: "noRequest", isPage: visitor.wantsPage)) else {
            return
        }
        var metadata: Logger.Metadata = [
            "code": "\(refusal.reason.code)", "kind": "\(Failure.Kind.malformedRequest.rawValue)",
            "incident": "\(incident)", "status": "\(refusal.status)",
        ]
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.info("refused", metadata: metadata)
    }

    /// The session store reports something.
    func store(_ event: StoreEvent) {
        switch event {
        case .revocationPending(let pending, let isKept, let reason):
            let restart = isKept ? "it outlives a restart" : "a restart before it is written would undo it"
            self.logger.error(
                "sign-out not written yet",
                metadata: [
                    "code": "\(Failure.Reason.sessionRevocationPending.code)", "pending": "\(pending)",
                    "detail": "\(GatewayLog.plain("the session has ended, and \(restart): \(reason)"))",
                ]
            )
        case .revocationsWritten:
            self.logger.notice("sign-outs written")
        }
    }

    /// The file of the session store is not what it was when it was opened.
    func storeFault(_ fault: StoreFileFailure) {
        let advice =
            switch fault {
            case .deleted: "there is no file at sessions.store any more"
            case .replaced: "another file is at sessions.store; this process still uses the one that it opened"
            case .truncated: "the file at sessions.store was cut short"
            case .damaged: "the file at sessions.store cannot be read in parts"
            }
        self.logger.error(
            "session store \(fault.rawValue)",
            metadata: [
                "code": "\(Failure.Reason.sessionStoreFileFailure.code)", "fault": "\(fault.rawValue)",
                "detail": "\(advice); see docs/running.md before the next restart, which ends all sessions",
            ]
        )
    }

    /// The file of the session store is in order again.
    func storeSound() {
        self.logger.notice("session store is in order again")
    }

    /// A handshake for a WebSocket was forwarded as a plain request.
    func webSocketIsOff(app: String, requestID: String) {
        self.logger.info(
            "WebSocket not offered",
            metadata: [
                "app": "\(app)", "request": "\(requestID)",
                "detail": "the app has 'websocket: false', so the handshake was forwarded as a plain GET",
            ]
        )
    }

    /// An app gave no proper answer.
    func upstreamFailed(_ failure: Failure, app: String, requestID: String) {
        self.logger.warning(
            "upstream failed",
            metadata: [
                "code": "\(failure.code)", "app": "\(app)", "request": "\(requestID)",
                "detail": "\(GatewayLog.plain(failure.detail))",
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
                metadata: ["target": "\(target)", "detail": "\(GatewayLog.plain(why))"]
            )
        case .pinMismatch(let target, let isEnforced, let presented):
            let keys = presented?.publicKeys.map { "\($0)" }.joined(separator: " ") ?? "-"
            self.logger.log(
                level: isEnforced ? .critical : .warning,
                "upstream pin mismatch",
                metadata: [
                    "code": "\(Failure.Reason.upstreamPinMismatch.code)", "target": "\(target)",
                    "refused": "\(isEnforced)",
                    "presented": "\(GatewayLog.plain(keys))",
                ]
            )
        }
    }

    /// Somebody signed in.
    func signedIn(_ profile: Profile, session: String) {
        self.logger.info(
            "signed in",
            metadata: ["user": "\(GatewayLog.plain(profile.user))", "session": "\(session)"]
        )
    }

    /// Somebody is in more groups than a session keeps.
    func groupsCut(_ profile: Profile, count: Int) {
        self.logger.warning(
            "groups cut",
            metadata: [
                "user": "\(GatewayLog.plain(profile.user))", "cut": "\(count)", "kept": "\(profile.groups.count)",
                "advice": "set 'groups: named' for apps that need no other groups",
            ]
        )
    }

    /// Somebody signed out.
    func signedOut(_ user: String, session: String) {
        self.logger.info("signed out", metadata: ["user": "\(GatewayLog.plain(user))", "session": "\(session)"])
    }

    /// A provider's metadata or keys could not be had.
    func providerFailed(_ failure: Failure, provider: String) {
        self.logger.warning(
            "provider failed",
            metadata: [
                "provider": "\(provider)", "code": "\(failure.code)", "detail": "\(GatewayLog.plain(failure.detail))",
            ]
        )
    }

    /// Somebody has to know of something about a provider's certificates.
    func security(_ event: SecurityEvent) {
        self.logger.log(
            level: GatewayLog.level(of: event.severity),
            "security event",
            metadata: [
                "event": "\(event.name.rawValue)", "severity": "\(event.severity.rawValue)",
                "provider": "\(event.provider)", "host": "\(event.host ?? "all")",
                "presented": "\(event.presented.map { "\($0)" }.joined(separator: " "))",
                "detail": "\(GatewayLog.plain(event.detail))",
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
                "chain": "\(GatewayLog.plain(chain.joined(separator: "; "), limit: 2000))",
            ]
        )
    }

    /// Something about a listener's own certificate has to be known.
    func certificate(_ finding: CertificateFinding) {
        self.logger.log(
            level: GatewayLog.level(of: finding.severity),
            "listener certificate",
            metadata: [
                "event": "\(finding.name.code)", "severity": "\(finding.severity.rawValue)",
                "listener": "\(finding.listener)", "file": "\(GatewayLog.plain(finding.file ?? "all"))",
                "detail": "\(GatewayLog.plain(finding.detail))",
            ]
        )
    }

    /// Something about pins is doubtful.
    func pinAdvice(_ remark: String, _ key: PinnedHost.Key) {
        self.logger.warning(
            "pins",
            metadata: [
                "provider": "\(key.provider)", "host": "\(key.origin.authority)",
                "detail": "\(GatewayLog.plain(remark))",
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

    private static func level(of severity: SecurityEvent.Severity) -> Logger.Level {
        switch severity {
        case .notice: .notice
        case .warning: .warning
        case .critical: .critical
        }
    }

    /// Who has to act decides.
    private static func level(of kind: Failure.Kind) -> Logger.Level {
        switch kind {
        case .signInRequired, .noSuchRoute, .malformedRequest, .forbidden, .methodNotAllowed, .tooLarge, .tooMany: .info
        case .providerFailed, .upstreamFailed, .upstreamTimedOut, .overloaded: .warning
        case .internalError: .error
        }
    }

    /// Printable text of a bounded length, so that no text can forge or flood a line.
    private static func plain(_ text: String, limit: Int = 500) -> String {
        PrintableText.escaped(text, limit: limit)
    }
}
