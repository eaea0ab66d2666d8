// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
package import GateWire
package import Logging
internal import Metrics

/// The log lines about requests and sign-ins.
///
/// No line holds a token, a cookie, a query or a name that a client chose freely.
package struct RequestLog: Sendable {
    /// The latest failures, which lines over the limit are a part of.
    package let incidents: IncidentHistory
    private let logger: Logger
    /// For what users and providers do to sessions, and for denials.
    private let audit: Logger
    /// Limits the lines that clients can cause.
    private let limiter = LogLimiter(suppress: { OperationsMetrics.suppressedLines.counter($0.kind).increment() })

    /// The peers of ``forwardingIgnored(from:)``.
    private let untrusted = FirstOccurrences(limit: 16)

    /// A log with its own limits on lines about rejections.
    package init(logger: Logger, incidents: IncidentHistory = IncidentHistory()) {
        self.incidents = incidents
        self.logger = logger
        self.audit = logger.of(.audit)
    }

    /// A request was rejected with a page or with JSON that shows the incident.
    ///
    /// Each kind of failure has a limit of its own, and so have pages, so that a flood of one hides nothing else.
    /// A failed sign-in names its provider, as it is called in the file.
    package func refused(
        _ failure: Failure,
        incident: String,
        isPage: Bool,
        of request: IncidentRequest = IncidentRequest()
    ) {
        self.incidents.add(failure.reason, detail: failure.detail, id: incident, of: request)
        // Maintenance is the operator's decision: no warning, and no use of the limit of real rejections.
        let isMaintenance = failure.reason == .routeMaintenance
        let key = LogLimiter.Key(kind: isMaintenance ? "maintenance" : failure.kind.rawValue, isPage: isPage)
        // A denial and a failed sign-in are about a user.
        let isAudited = failure.kind == .forbidden || request.provider != nil
        self.refused(key, isMaintenance ? .info : RequestLog.level(of: failure.kind), isAudited: isAudited) {
            var metadata = RequestLog.metadata(failure)
            metadata["kind"] = "\(failure.kind.rawValue)"
            metadata["incident"] = "\(incident)"
            metadata["app"] = request.app.map { "\($0)" }
            metadata["provider"] = request.provider.map { "\($0)" }
            metadata["user"] = request.user.map { "\(RequestLog.plain($0))" }
            metadata["request"] = request.id.map { "\($0)" }
            return metadata
        }
    }

    /// A request of an app with `forward_auth: shadow` may pass only because of that, or may pass although the proxy in front
    /// rejected it.
    ///
    /// - Parameters:
    ///   - failure: Why.
    ///   - decision: What the gateway decided.
    ///   - incident: By which `gatehouse explain` finds the request.
    ///   - request: The request, as far as it is known.
    ///   - other: The status with which the proxy decided itself; nil if that is not known.
    package func shadowed(
        _ failure: Failure,
        _ decision: AccessDecision,
        incident: String,
        of request: IncidentRequest,
        other: Int? = nil
    ) {
        self.incidents.add(failure.reason, detail: failure.detail, id: incident, of: request)
        let isAdmission = [.allowed, .open].contains(decision)
        let key = LogLimiter.Key(kind: isAdmission ? "shadow admission" : "shadow", isPage: false)
        guard let hidden = self.limiter.admit(key) else { return }
        var metadata = RequestLog.metadata(failure)
        metadata["decision"] = "\(decision.rawValue)"
        metadata["other"] = other.map { "\($0)" }
        metadata["incident"] = "\(incident)"
        metadata["app"] = request.app.map { "\($0)" }
        metadata["user"] = request.user.map { "\(RequestLog.plain($0))" }
        metadata["rule"] = request.rule.map { "\($0)" }
        metadata["request"] = request.id.map { "\($0)" }
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.audit.info(isAdmission ? "forward-auth would admit" : "forward-auth would reject", metadata: metadata)
    }

    /// Bytes that are not a valid request were rejected.
    package func refusedBytes(_ rejection: WireRejection, incident: String, isPage: Bool) {
        let detail = "the bytes are not a valid HTTP request, or are ambiguous"
        self.incidents.add(rejection.reason, detail: detail, id: incident, of: IncidentRequest())
        self.refused(LogLimiter.Key(kind: "noRequest", isPage: isPage), .info) {
            [
                "code": "\(rejection.reason.code)", "kind": "\(Failure.Kind.malformedRequest.rawValue)",
                "incident": "\(incident)", "status": "\(rejection.status)",
            ]
        }
    }

    /// Writes a line about a rejection unless its kind is over its limit; the next one has how many were suppressed.
    private func refused(
        _ key: LogLimiter.Key,
        _ level: Logger.Level,
        isAudited: Bool = false,
        metadata: () -> Logger.Metadata
    ) {
        guard let hidden = self.limiter.admit(key) else { return }
        var metadata = metadata()
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        (isAudited ? self.audit : self.logger).log(level: level, "refused", metadata: metadata)
    }

    /// A handshake for a WebSocket was forwarded as a plain request.
    package func webSocketIsOff(app: String, requestID: String) {
        self.logger.info(
            "WebSocket not offered",
            metadata: [
                "app": "\(app)", "request": "\(requestID)",
                "detail": "the app has 'websocket: false', so the handshake was forwarded as a plain GET",
            ]
        )
    }

    /// An app did not send a valid response.
    package func upstreamFailed(_ failure: Failure, app: String, requestID: String) {
        var request = IncidentRequest()
        (request.id, request.app) = (requestID, app)
        self.incidents.add(failure.reason, detail: failure.detail, id: nil, of: request)
        self.logger.warning(
            "upstream failed",
            metadata: RequestLog.metadata(failure, ["app": "\(app)", "request": "\(requestID)"])
        )
    }

    /// A user signed in; with a passkey, or with what the provider asks for.
    package func signedIn(_ profile: Profile, session: String, byPasskey: Bool = false) {
        var metadata: Logger.Metadata = ["user": "\(RequestLog.plain(profile.user))", "session": "\(session)"]
        if byPasskey { metadata["method"] = "passkey" }
        self.audit.info("signed in", metadata: metadata)
    }

    /// The user of a local account has changed how they sign in.
    package func credentialsChanged(_ user: String, _ change: String) {
        self.audit.info(
            "credentials changed",
            metadata: ["user": "\(RequestLog.plain(user))", "change": "\(RequestLog.plain(change))"]
        )
    }

    /// A user has registered for a local account.
    package func registered(_ user: String) {
        self.audit.info("registered", metadata: ["user": "\(RequestLog.plain(user))"])
    }

    /// A link that a user asked for was not queued to be sent.
    package func mailNotQueued(_ failure: Failure, provider: String) {
        self.logger.warning(
            "link not sent",
            metadata: RequestLog.metadata(failure, ["provider": "\(provider)"])
        )
    }

    /// A signed-in user has used a passkey, as a rule asked for.
    package func passkeyUsed(_ user: String, passkey: String, session: String) {
        self.audit.info(
            "passkey used",
            metadata: [
                "user": "\(RequestLog.plain(user))", "passkey": "\(RequestLog.plain(passkey))", "session": "\(session)",
            ]
        )
    }

    /// A client got its first tokens for a user.
    package func grantBegan(_ client: String, of profile: Profile, session: String) {
        self.audit.info(
            "client signed in",
            metadata: [
                "client": "\(RequestLog.plain(client))", "user": "\(RequestLog.plain(profile.user))",
                "session": "\(session)",
            ]
        )
    }

    /// A client brought a refresh token that it, or a thief, had used before.
    package func refreshTokenReused(_ client: String, of profile: Profile, session: String) {
        self.audit.warning(
            "refresh token reused",
            metadata: [
                "client": "\(RequestLog.plain(client))", "user": "\(RequestLog.plain(profile.user))",
                "session": "\(session)",
                "advice":
                    "the sign-in of the client has ended; if the client did not repeat an old request, its token was stolen",
            ]
        )
    }

    /// A user is in more groups than a session keeps.
    package func groupsDropped(_ profile: Profile, count: Int) {
        self.logger.warning(
            "groups cut",
            metadata: [
                "user": "\(RequestLog.plain(profile.user))", "cut": "\(count)", "kept": "\(profile.groups.count)",
                "advice": "set 'groups: named' for apps that need no other groups",
            ]
        )
    }

    /// A peer that is not trusted names a client, as a proxy does that is missing in `trusted_proxies`; logged once.
    package func forwardingIgnored(from peer: String) {
        guard self.untrusted.add(peer) else { return }
        self.logger.warning(
            "forwarded client ignored",
            metadata: [
                "peer": "\(RequestLog.plain(peer))",
                "advice":
                    "if this is your proxy, list it in 'gateway.trusted_proxies'; until then all its clients have its IP, and share limits",
            ]
        )
    }

    /// A user signed out.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - session: The session of the browser.
    ///   - cause: What ended it; nil for the user.
    ///   - others: The number of other sign-ins that ended with it; nil if only this one was to end.
    package func signedOut(_ user: String, session: String, by cause: String? = nil, others: Int? = nil) {
        var metadata: Logger.Metadata = ["user": "\(RequestLog.plain(user))", "session": "\(session)"]
        metadata["by"] = cause.map { "\($0)" }
        metadata["others"] = others.map { "\($0)" }
        self.audit.info("signed out", metadata: metadata)
    }

    /// A sign-in ended older ones of the user, because there are more than `sessions.max_per_user`.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - ended: The session of each sign-in that has ended; nil where it is not known.
    ///   - failure: Why there are still more than that; nil if there are not.
    package func tooManySignIns(of user: String, ended: [String?], failure: Failure?) {
        for session in ended { self.signedOut(user, session: session ?? "unknown", by: "max_per_user") }
        guard let failure else { return }
        self.logger.warning(
            "too many sign-ins of a user",
            metadata: [
                "user": "\(RequestLog.plain(user))", "code": "\(failure.code)",
                "detail": "\(RequestLog.plain(failure.detail)); the next sign-in of the user ends the oldest",
            ]
        )
    }

    /// A provider's logout token ended the sessions of some sign-ins; without any it is logged as well.
    package func signedOut(by provider: String, subject: String?, session: String?, count: Int) {
        var metadata: Logger.Metadata = [
            "by": "back-channel logout", "provider": "\(provider)", "sign_ins": "\(count)",
        ]
        metadata["subject"] = subject.map { "\(RequestLog.plain($0))" }
        metadata["provider_session"] = session.map { "\(RequestLog.plain($0))" }
        self.audit.info("signed out", metadata: metadata)
    }

    /// A logout token was accepted, but a replay of it would be accepted as well.
    package func logoutNotRemembered(_ failure: Failure, provider: String) {
        self.logger.warning(
            "logout token not remembered",
            metadata: RequestLog.metadata(failure, ["provider": "\(provider)"])
        )
    }

    /// The provider does not confirm a user any more, so the session has ended.
    package func sessionEnded(_ user: String, session: String, by failure: Failure) {
        self.audit.info(
            "session ended by provider",
            metadata: [
                "user": "\(RequestLog.plain(user))", "session": "\(session)",
                "detail": "\(RequestLog.plain(failure.detail))",
            ]
        )
    }

    /// A provider does not respond to re-checks; sessions continue until `max_stale`.
    package func recheckFailed(_ failure: Failure, provider: String, failures: Int) {
        self.logger.warning(
            "re-checks fail",
            metadata: RequestLog.metadata(failure, ["provider": "\(provider)", "failures": "\(failures)"])
        )
    }

    /// The user has signed out, but the provider has not revoked the tokens of the session.
    package func tokensNotRevoked(_ failure: Failure, provider: String, session: String) {
        self.logger.warning(
            "tokens not revoked",
            metadata: [
                "code": "\(failure.code)", "provider": "\(provider)", "session": "\(session)",
                "detail": "\(RequestLog.plain(failure.detail))",
            ]
        )
    }

    /// The result of a re-check could not be stored, so the next one finds an outdated refresh token.
    package func grantLost(_ failure: Failure, user: String, session: String) {
        self.logger.error(
            "refresh token lost",
            metadata: [
                "code": "\(failure.code)", "user": "\(RequestLog.plain(user))", "session": "\(session)",
                "detail": "\(RequestLog.plain(failure.detail)); the user may have to sign in again",
            ]
        )
    }

    /// A user goes to the front page, because what others have written as `rd` is not taken.
    ///
    /// - Parameters:
    ///   - reason: Why, without a word of it.
    ///   - endpoint: The endpoint.
    package func returnPathRefused(_ reason: String, at endpoint: String) {
        guard let hidden = self.limiter.admit(LogLimiter.Key(kind: "return path", isPage: false)) else { return }
        var metadata: Logger.Metadata = ["endpoint": "\(endpoint)", "detail": "'rd' \(reason)"]
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.info("return path refused", metadata: metadata)
    }

    /// An app does not get the provider's token of a session.
    ///
    /// - Parameters:
    ///   - token: Which one, by its name in the file.
    ///   - reason: `absent` or `expired`.
    ///   - app: The app.
    ///   - user: The user.
    ///   - session: The session.
    package func tokenOmitted(_ token: String, _ reason: String, app: String, user: String, session: String) {
        guard let hidden = self.limiter.admit(LogLimiter.Key(kind: "token", isPage: false)) else { return }
        let advice =
            reason == "expired"
            ? "it is refreshed at re-checks, if the provider issued a refresh token: look at 'scopes' and 'recheck'"
            : "a new sign-in helps if the app gets tokens since a short time; those over a size limit are not kept"
        var metadata: Logger.Metadata = [
            "app": "\(app)", "token": "\(token)", "reason": "\(reason)", "user": "\(RequestLog.plain(user))",
            "session": "\(session)", "advice": "\(advice)",
        ]
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.logger.warning("token of the provider not sent", metadata: metadata)
    }

    /// The code and the detail of a failure, beside what else its line has.
    private static func metadata(_ failure: Failure, _ others: Logger.Metadata = [:]) -> Logger.Metadata {
        var metadata = others
        metadata["code"] = "\(failure.code)"
        metadata["detail"] = "\(self.plain(failure.detail))"
        return metadata
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
