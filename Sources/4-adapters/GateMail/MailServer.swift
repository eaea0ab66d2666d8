// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The mail server that sends the gateway's messages, and in whose name.
package struct MailServer: Sendable, Hashable {
    /// Where it is, and whether by TLS.
    package let url: MailServerURL
    /// The mailbox that messages come from; bounces go there as well.
    package let from: Mailbox
    /// The login; nil if the server accepts messages without one.
    package let login: MailLogin?
    /// The PEM file of the only certificates to trust; nil for the system's.
    package let caFile: String?
    /// The name of the gateway in `EHLO`.
    package let helloName: String
    /// How long connecting may take, up to the login; servers that delay their greeting take up to 10 seconds.
    package var connectTimeout = Duration.seconds(20)
    /// How long a whole transfer may take.
    package var timeout = Duration.seconds(180)

    /// A server that is checked as far as that is possible without connecting.
    ///
    /// - Parameters:
    ///   - url: Where it is.
    ///   - from: The mailbox that messages come from.
    ///   - login: The login, if it requires one.
    ///   - caFile: The PEM file of the only certificates to trust.
    ///   - helloName: The name of the gateway in `EHLO`, RFC 5321 §4.1.1.1; the domain of `from` without it.
    /// - Throws: `mail.server`.
    package init(
        url: MailServerURL,
        from: Mailbox,
        login: MailLogin? = nil,
        caFile: String? = nil,
        helloName: String? = nil
    ) throws(MailFailure) {
        guard let name = Origin.normalHost(helloName ?? from.address.domain), !name.hasPrefix("[") else {
            throw MailFailure(.server, "the name for EHLO has to be a host name")
        }
        guard caFile.map({ !$0.isEmpty && !$0.utf8.contains(0) }) ?? true else {
            throw MailFailure(.server, "the path of the CA file is empty or has a NUL character")
        }
        self.url = url
        self.from = from
        self.login = login
        self.caFile = caFile
        self.helloName = name
    }
}

/// A user name and password for a mail server.
package struct MailLogin: Sendable, Hashable {
    /// The user name.
    package let username: String
    package let password: Secret

    /// Creates a login; neither part may be empty or have control characters.
    ///
    /// - Throws: `mail.server`.
    package init(username: String, password: Secret) throws(MailFailure) {
        let isControl: (UInt8) -> Bool = { $0 < 0x20 || $0 == 0x7F }
        guard !username.isEmpty, !username.utf8.contains(where: isControl) else {
            throw MailFailure(.server, "the user name is empty or has control characters")
        }
        guard password.count > 0, !password.withBytes({ $0.contains(where: isControl) }) else {
            throw MailFailure(.server, "the password is empty or has control characters")
        }
        self.username = username
        self.password = password
    }
}
