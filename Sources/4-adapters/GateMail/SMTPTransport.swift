// SPDX-License-Identifier: Apache-2.0

internal import CMail
internal import Dispatch
internal import GateCore

/// Sends messages over SMTP with libcurl, each over a connection of its own.
///
/// This is the file that faces C: the pointer to a transfer lives in its functions, and nowhere else.
package struct SMTPTransport: MailTransport {
    private let server: MailServer

    package init(to server: MailServer) {
        self.server = server
    }

    /// Sends a message; blocks as long as the server's time-outs permit.
    package func send(_ transfer: MailTransfer) -> MailReply {
        unsafe self.reply { mail in
            unsafe gate_mail_send(mail, transfer.from, transfer.to, transfer.bytes, transfer.bytes.count)
        }
    }

    /// Connects, logs in and quits, without a message; blocks like ``send(_:)``.
    package func verify() -> MailReply {
        unsafe self.reply { mail in unsafe gate_mail_verify(mail) }
    }

    private func reply(to transfer: (OpaquePointer) -> gate_mail_result) -> MailReply {
        let url = "\(self.server.url)/\(self.server.helloName)"
        let security = self.server.url.security == .plain ? GATE_MAIL_PLAIN : GATE_MAIL_TLS
        guard let mail = unsafe gate_mail_create(url, security) else {
            return MailReply(.other, text: "no memory for a transfer")
        }
        defer { unsafe gate_mail_destroy(mail) }
        guard unsafe self.configure(mail) else { return MailReply(.other, text: "no memory for a transfer") }
        let result = unsafe transfer(mail)
        let text = unsafe ReplyText.withoutPassword(String(cString: result.text), of: self.server.login)
        return MailReply(
            MailOutcome(unsafe result.outcome),
            code: unsafe result.code,
            text: ReplyText.withoutAddresses(text)
        )
    }

    private func configure(_ mail: OpaquePointer) -> Bool {
        let (connect, total) = (self.server.connectTimeout.milliseconds, self.server.timeout.milliseconds)
        var isReady = unsafe gate_mail_limits(mail, connect, total) != 0
        if let file = self.server.caFile { isReady = unsafe gate_mail_trust(mail, file) != 0 && isReady }
        if let login = self.server.login {
            let isSet = login.password.withText { unsafe gate_mail_login(mail, login.username, $0) != 0 }
            isReady = isSet && isReady
        }
        return isReady
    }
}

extension MailServer {
    /// Connects to the server, logs in and quits, on a thread of its own.
    ///
    /// - Returns: ``MailOutcome/sent`` if a message could be sent now, as far as that shows without one.
    package func verify() async -> MailReply {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "gatehouse.mail.check").async {
                continuation.resume(returning: SMTPTransport(to: self).verify())
            }
        }
    }
}

extension MailOutcome {
    fileprivate init(_ outcome: gate_mail_outcome) {
        switch outcome {
        case GATE_MAIL_SENT: self = .sent
        case GATE_MAIL_REJECTED: self = .rejected
        case GATE_MAIL_REJECTED_FOR_NOW: self = .rejectedForNow
        case GATE_MAIL_LOGIN_REJECTED: self = .loginRejected
        case GATE_MAIL_TLS_FAILED: self = .tlsFailed
        case GATE_MAIL_UNREACHABLE: self = .unreachable
        case GATE_MAIL_TIMED_OUT: self = .timedOut
        default: self = .other
        }
    }
}

extension Duration {
    /// Whole milliseconds, at least one.
    fileprivate var milliseconds: Int64 {
        max(1, self.wholeMilliseconds)
    }
}
