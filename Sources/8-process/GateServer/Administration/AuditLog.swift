// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateOperations
internal import Logging
internal import Metrics

/// The log lines about what operators do to sessions, and about clients that may not.
///
/// Each change has a line before it begins and another one with its result, joined by the `operation`: so nothing is changed
/// without a line, also if the store fails or the process ends in between.
struct AuditLog: Sendable {
    /// Why a client may not use the operations API.
    enum Rejection: String {
        /// It has not sent the token.
        case token
        /// It is another user of the machine.
        case user
    }

    /// A revocation that has begun.
    struct Revocation: Sendable {
        fileprivate let logger: Logger
        fileprivate let operation: String
        fileprivate let caller: OperationsCaller

        /// It is complete.
        func revoked(signIns: Int) {
            self.logger.notice("sessions revoked", metadata: self.metadata(signIns))
        }

        /// It ended early; a not-before time that was to be set may be in force.
        func failed(_ failure: Failure, signIns: Int) {
            var metadata = self.metadata(signIns)
            metadata["code"] = "\(failure.code)"
            metadata["detail"] = "\(ServerLog.plain(failure.detail)); repeat the command"
            self.logger.error("sessions not all revoked", metadata: metadata)
        }

        private func metadata(_ signIns: Int) -> Logger.Metadata {
            ["by": "\(self.caller)", "operation": "\(self.operation)", "sign_ins": "\(signIns)"]
        }
    }

    /// A change of a local account that has begun.
    struct AccountChange: Sendable {
        fileprivate let logger: Logger
        fileprivate let metadata: Logger.Metadata

        /// It is complete; the user key, as the gateway knows it now.
        func changed(_ user: String?) {
            var metadata = self.metadata
            if let user { metadata["account"] = "\(ServerLog.plain(user))" }
            self.logger.notice("account changed", metadata: metadata)
        }

        /// It was not carried out, or only in part.
        func failed(_ detail: String) {
            self.logger.error(
                "account not changed",
                metadata: self.metadata.merging(["detail": "\(ServerLog.plain(detail))"]) { $1 }
            )
        }
    }

    private let logger: Logger
    private let security: Logger
    /// Limits the lines that clients without permission can cause.
    private let limiter = LogLimiter { OperationsMetrics.suppressedLines.counter($0.kind).increment() }

    init(logger: Logger) {
        self.logger = logger.of(.audit)
        self.security = logger.of(.security)
    }

    /// An operator begins to revoke sessions; the filter may need several lines.
    func revoking(_ filter: SessionFilter, notBefore: Instant?, by caller: OperationsCaller) -> Revocation {
        let operation = RandomBytes.system.token(9)
        let lines = filter.lines
        for (index, line) in lines.enumerated() {
            var metadata: Logger.Metadata = ["by": "\(caller)", "operation": "\(operation)", "filter": "\(line)"]
            metadata["not_before"] = notBefore.map { "\($0)" }
            if lines.count > 1 { metadata["part"] = "\(index + 1)/\(lines.count)" }
            self.logger.notice("revoking sessions", metadata: metadata)
        }
        return Revocation(logger: self.logger, operation: operation, caller: caller)
    }

    /// An operator begins to change a local account.
    func changing(account: String, _ change: String, by caller: OperationsCaller) -> AccountChange {
        let metadata: Logger.Metadata = [
            "by": "\(caller)", "operation": "\(RandomBytes.system.token(9))", "change": "\(change)",
            "account": "\(ServerLog.plain(account))",
        ]
        self.logger.notice("changing account", metadata: metadata)
        return AccountChange(logger: self.logger, metadata: metadata)
    }

    /// An operator has confirmed a reload that was refused.
    func confirmed(reloadOf content: String, by caller: OperationsCaller) {
        self.logger.notice("reload confirmed", metadata: ["content": "\(content)", "by": "\(caller)"])
    }

    /// A client may not use the operations API.
    func rejected(_ rejection: Rejection, from client: String, _ detail: String) {
        ServerMetrics.operationsRejections.counter(rejection.rawValue).increment()
        let key = LogLimiter.Key(kind: "operations", isPage: false)
        guard let hidden = self.limiter.admit(key) else { return }
        var metadata: Logger.Metadata = [
            "from": "\(client)", "reason": "\(rejection.rawValue)", "detail": "\(detail)",
        ]
        if hidden > 0 { metadata["suppressed"] = "\(hidden)" }
        self.security.warning("operations request rejected", metadata: metadata)
    }
}
