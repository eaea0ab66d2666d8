// SPDX-License-Identifier: Apache-2.0

/// How a transfer to the mail server ended.
package enum MailOutcome: String, Sendable, CaseIterable {
    /// The server accepted the message, or the login of a check.
    case sent
    /// The server rejected the message, its sender or its recipient: 5xx.
    case rejected
    /// The same for now: 4xx.
    case rejectedForNow = "rejected_for_now"
    /// The server rejected the login, or requires one.
    case loginRejected = "login_rejected"
    /// The server's certificate is not trusted or for another host, or the server does not offer TLS.
    case tlsFailed = "tls_failed"
    /// The host was not found, or the connection was rejected or lost.
    case unreachable
    /// The server took too long.
    case timedOut = "timed_out"
    /// Anything else, such as a reply that is not SMTP.
    case other

    /// Whether a retry may have another outcome without a change of the configuration.
    package var isTemporary: Bool {
        switch self {
        case .rejectedForNow, .unreachable, .timedOut: true
        case .sent, .rejected, .loginRejected, .tlsFailed, .other: false
        }
    }

    /// Whether the server served no message at all, so that others would have the same outcome.
    var isOfServer: Bool { self == .unreachable || self == .timedOut }
}

/// What a transfer led to.
package struct MailReply: Sendable, Hashable {
    /// How it ended.
    package let outcome: MailOutcome
    /// The code of the last SMTP reply; 0 without one.
    package let code: Int
    /// The server's words for a rejection or libcurl's for a failure, printable; without email addresses and secrets.
    package let text: String

    package init(_ outcome: MailOutcome, code: Int = 0, text: String = "") {
        self.outcome = outcome
        self.code = code
        self.text = text
    }
}

/// What is reported of a message: nothing that identifies its recipient, and nothing of its content.
package struct MailResult: Sendable, Hashable {
    /// The domain of the recipient.
    package let domain: String
    /// What the last try led to.
    package let reply: MailReply
    /// How many times the message was sent to the server; 0 if the server was not reachable for others either.
    package let tries: Int
    /// Whether the message is sent or dropped; if not, it is retried.
    package let isFinal: Bool
}

/// What a queue has done so far.
package struct MailCounts: Sendable, Hashable {
    /// Messages that wait, the one in progress included.
    package var waiting = 0
    /// Messages that the server accepted.
    package var sent = 0
    /// Messages that failed for good.
    package var failed = 0
    /// Messages that were dropped at shutdown.
    package var dropped = 0
}
