// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire
package import Logging

/// The log lines about requests and sign-ins.
///
/// No line holds a token, a cookie, a query or a name that a client chose freely.
package struct RequestLog: Sendable {
    private let logger: Logger
    /// Limits the lines that clients can cause.
    private let limiter = LogLimiter()

    /// A log with its own limits on lines about rejections.
    package init(logger: Logger) {
        self.logger = logger
    }

    /// A request was rejected with a page or with JSON that shows the incident.
    ///
    /// Each kind of failure has a limit of its own, and so have pages, so that a flood of one hides nothing else.
    /// A failed sign-in names its provider, as it is called in the file.
    func refused(_ failure: Failure, incident: String, isPage: Bool, provider: String? = nil) {
        // Maintenance is the operator's decision: no warning, and no use of the limit of real rejections.
        let isMaintenance = failure.reason == .routeMaintenance
        let kind = isMaintenance ? "maintenance" : failure.kind.rawValue
        let key = LogLimiter.Key(kind: kind, isPage: isPage)
        guard let hidden = self.limiter.admit(key) else { return }
        var metadata: Logger.Metadata = [
            "code": "\(failure.code)", "kind": "\(failure.kind.rawValue)", "incident": "\(incident)",
            "detail": "\(RequestLog.plain(failure.detail))",
        ]
        metadata["provider"] = provider.map { "\($0)" }
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.log(
            level: isMaintenance ? .info : RequestLog.level(of: failure.kind),
            "refused",
            metadata: metadata
        )
    }

    /// Bytes that are not a valid request were rejected.
    func refusedBytes(_ rejection: WireRejection, incident: String, isPage: Bool) {
        guard let hidden = self.limiter.admit(LogLimiter.Key(kind: "noRequest", isPage: isPage)) else {
            return
        }
        var metadata: Logger.Metadata = [
            "code": "\(rejection.reason.code)", "kind": "\(Failure.Kind.malformedRequest.rawValue)",
            "incident": "\(incident)", "status": "\(rejection.status)",
        ]
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.info("refused", metadata: metadata)
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

    /// An app did not send a valid response.
    func upstreamFailed(_ failure: Failure, app: String, requestID: String) {
        self.logger.warning(
            "upstream failed",
            metadata: [
                "code": "\(failure.code)", "app": "\(app)", "request": "\(requestID)",
                "detail": "\(RequestLog.plain(failure.detail))",
            ]
        )
    }

    /// A user signed in.
    func signedIn(_ profile: Profile, session: String) {
        self.logger.info(
            "signed in",
            metadata: ["user": "\(RequestLog.plain(profile.user))", "session": "\(session)"]
        )
    }

    /// A user is in more groups than a session keeps.
    func groupsDropped(_ profile: Profile, count: Int) {
        self.logger.warning(
            "groups cut",
            metadata: [
                "user": "\(RequestLog.plain(profile.user))", "cut": "\(count)", "kept": "\(profile.groups.count)",
                "advice": "set 'groups: named' for apps that need no other groups",
            ]
        )
    }

    /// A user signed out.
    func signedOut(_ user: String, session: String) {
        self.logger.info("signed out", metadata: ["user": "\(RequestLog.plain(user))", "session": "\(session)"])
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
