// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateMail
internal import GateOperations
internal import GateProxy
internal import GateSessions
internal import GateTracing
internal import Logging
internal import NIOCore

/// The log lines about the session store, upstreams, providers and event loops.
struct ServerLog: Sendable {
    let logger: Logger

    /// The session store reports something.
    func store(_ event: StoreEvent) {
        switch event {
        case .revocationPending(let pending, let isKept, let reason):
            let restart = isKept ? "it outlives a restart" : "a restart before it is written would undo it"
            self.logger.error(
                "sign-out not written yet",
                metadata: [
                    "code": "\(Failure.Reason.sessionRevocationPending.code)", "pending": "\(pending)",
                    "detail": "\(ServerLog.plain("the session has ended, and \(restart): \(reason)"))",
                ]
            )
        case .revocationsWritten:
            self.logger.notice("sign-outs written")
        }
    }

    /// The file of the session store is not what it was when it was opened, or its servers are not what they should be.
    func storeFailed(_ failure: StoreFileFailure) {
        let restart = "see docs/running.md before the next restart, which ends all sessions"
        let advice =
            switch failure {
            case .deleted: "there is no file at sessions.store any more; \(restart)"
            case .replaced:
                "another file is at sessions.store; this process still uses the one that it opened; \(restart)"
            case .truncated: "the file at sessions.store was cut short; \(restart)"
            case .damaged: "the file at sessions.store cannot be read in parts; \(restart)"
            case .readOnly: "the server at sessions.store is a replica, from which no session is read; name the master"
            case .evicting: "Redis ends sessions when its memory is full; set maxmemory-policy to noeviction"
            }
        self.logger.error(
            "session store \(failure.rawValue)",
            metadata: [
                "code": "\(Failure.Reason.sessionStoreFileFailure.code)", "fault": "\(failure.rawValue)",
                "detail": "\(advice)",
            ]
        )
    }

    /// The file of the session store is in order again.
    func storeRecovered() {
        self.logger.notice("session store is in order again")
    }

    /// Local accounts that an earlier gateway secret had sealed are sealed with the present one.
    func accountsSealed(count: Int) {
        self.logger.notice("accounts sealed with the present secret", metadata: ["entries": "\(count)"])
    }

    /// They are not; accounts are lost if the earlier secret is removed.
    func accountsNotSealed(_ failure: Failure) {
        self.logger.warning(
            "accounts not sealed with the present secret",
            metadata: [
                "code": "\(failure.code)",
                "detail": "\(ServerLog.plain(failure.detail)); keep the earlier secret until this has worked",
            ]
        )
    }

    /// Lines of some stream were not written; this one may be.
    func dropped(lines count: Int64) {
        self.logger.warning(
            "log lines are dropped",
            metadata: [
                "count": "\(count)",
                "detail":
                    "a destination of logs fails or is too slow; gatehouse_log_lines_dropped_total has stream and reason",
            ]
        )
    }

    /// The session store has stopped to respond, for the reason of a failure, or responds again.
    func storeResponds(_ failure: Failure?) {
        guard let failure else { return self.logger.notice("session store responds again") }
        self.logger.error(
            "session store does not respond",
            metadata: ["code": "\(failure.code)", "detail": "\(ServerLog.plain(failure.detail))"]
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
                metadata: ["target": "\(target)", "detail": "\(ServerLog.plain(why))"]
            )
        case .pinMismatch(let target, let isEnforced, let presented):
            let keys = presented?.publicKeys.map { "\($0)" }.joined(separator: " ") ?? "-"
            self.logger.of(.security).log(
                level: isEnforced ? .critical : .warning,
                "upstream pin mismatch",
                metadata: [
                    "code": "\(Failure.Reason.upstreamPinMismatch.code)", "target": "\(target)",
                    "refused": "\(isEnforced)",
                    "presented": "\(ServerLog.plain(keys))",
                ]
            )
        }
    }

    /// A provider's metadata or keys could not be had.
    func providerFailed(_ failure: Failure, provider: String) {
        self.logger.warning(
            "provider failed",
            metadata: [
                "provider": "\(provider)", "code": "\(failure.code)", "detail": "\(ServerLog.plain(failure.detail))",
            ]
        )
    }

    /// A client was not notified of a sign-out.
    func clientNotNotified(_ failure: Failure, client: String) {
        self.logger.warning(
            "client not notified of a sign-out",
            metadata: [
                "client": "\(client)", "code": "\(failure.code)", "detail": "\(ServerLog.plain(failure.detail))",
                "advice": "its own session of the user may go on; check 'backchannel_logout_uri'",
            ]
        )
    }

    /// What the mail server made of a message: of its recipient only the domain.
    func mailed(_ result: MailResult) {
        var metadata: Logger.Metadata = [
            "domain": "\(ServerLog.plain(result.domain))", "result": "\(result.reply.outcome.rawValue)",
            "tries": "\(result.tries)",
        ]
        guard result.reply.outcome != .sent else { return self.logger.info("mail sent", metadata: metadata) }
        metadata["code"] = "\(result.reply.code)"
        metadata["detail"] = "\(ServerLog.plain(result.reply.text))"
        guard result.isFinal else { return self.logger.notice("mail is retried", metadata: metadata) }
        metadata["advice"] = "check 'mail' with 'gatehouse check --online'; the user has to ask for another link"
        self.logger.warning("mail not sent", metadata: metadata)
    }

    /// Messages were not sent, since the gateway ends or its queue for another mail server is full.
    func mailsDropped(_ count: Int) {
        self.logger.warning(
            "mails dropped",
            metadata: ["count": "\(count)", "advice": "the users have to ask for other links"]
        )
    }

    /// An event loop did nothing of what was due for too long.
    func blocked(_ time: TimeAmount, loop: Int) {
        self.logger.warning(
            "event loop was blocked",
            metadata: ["loop": "\(loop)", "ms": "\(time.nanoseconds / 1_000_000)"]
        )
    }

    /// Tracing begins.
    func tracing(_ settings: TracingSettings) {
        self.logger.info("tracing", metadata: ["collector": "\(settings.endpoint)"])
        for warning in settings.warnings {
            self.logger.warning("tracing setting", metadata: ["detail": "\(ServerLog.plain(warning))"])
        }
    }

    /// Spans were dropped since the last such line.
    func spansDropped(_ count: Int, _ reason: String) {
        self.logger.warning(
            "trace spans dropped",
            metadata: ["count": "\(count)", "detail": "\(ServerLog.plain(reason))"]
        )
    }

    /// An operator or the schedule adds a key.
    func keyAdded(_ kind: String, by caller: String, usedFrom time: Instant) {
        self.logger.of(.audit).notice(
            "key added",
            metadata: ["kind": "\(kind)", "by": "\(caller)", "used_from": "\(time)"]
        )
    }

    /// Other keys are used from now on; `cause` is what made the gateway read them.
    func keysChanged(signing id: String, published: Int, by cause: String) {
        self.logger.of(.audit).notice(
            "keys changed",
            metadata: ["signing": "\(id)", "published": "\(published)", "by": "\(cause)"]
        )
    }

    /// The keys cannot be read again, so those in use stay in use.
    func keysFailed(_ failure: Failure) {
        self.logger.of(.audit).error(
            "keys not read, the old ones stay in use",
            metadata: ["code": "\(failure.code)", "detail": "\(ServerLog.plain(failure.detail))"]
        )
    }

    /// A configuration was put in force; `cause` is what made the gateway read it.
    func reloaded(_ configuration: Configuration, by cause: String) {
        self.logger.of(.audit).info(
            "configuration reloaded",
            metadata: ["apps": "\(configuration.apps.count)", "by": "\(cause)"]
        )
    }

    /// A file is written in place and lacks apps or rules, so it may be in the middle of a change.
    func reloadPostponed(until stillness: Duration) {
        self.logger.info(
            "reload waits for the files to keep still",
            metadata: ["seconds": "\(stillness.wholeSeconds)", "detail": "a file is written in place"]
        )
    }

    /// A configuration has errors.
    func reloadFailed(_ failure: Failure, by cause: String) {
        self.logger.of(.audit).error(
            "reload failed, the old configuration stays in force",
            metadata: ["detail": "\(failure.detail)", "by": "\(cause)"]
        )
    }

    /// A configuration without errors was not put in force, since it takes access from too many users.
    func reloadRefused(_ failure: Failure, by cause: String, content: String) {
        self.logger.of(.audit).error(
            "reload refused, the old configuration stays in force",
            metadata: [
                "code": "\(failure.code)", "detail": "\(PrintableText.escaped(failure.detail, limit: 2000))",
                "by": "\(cause)",
                "content": "\(content)",
            ]
        )
    }

    /// The socket of the operations API, which the configuration does not name, cannot be opened.
    func operationsSocketFailed(_ failure: Failure) {
        self.logger.warning(
            "operations API not available",
            metadata: [
                "code": "\(failure.code)",
                "detail": "\(ServerLog.plain("\(failure.detail); set gateway.operations_socket to a path, or to off"))",
            ]
        )
    }

    /// Printable text of a bounded length, so that no text can forge or flood a line.
    static func plain(_ text: String) -> String { PrintableText.escaped(text, limit: 500) }
}
