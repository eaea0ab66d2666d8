// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateMail
internal import GateYAML

/// `mail` as the file has it.
struct MailDraft: Sendable {
    var server: Located<String>?
    var from: EmailAddress?
    var name: String?
    var username: Located<String>?
    var password: Secret?
    var caFile: String?
    var plain = false
    fileprivate(set) var mark = YAMLMark.start

    /// The server that the gateway sends its messages through.
    ///
    /// - Throws: What is wrong with the settings.
    func server(at publicURL: Origin, organization: String?) throws(MailFailure) -> MailServer? {
        guard let server, let from else { return nil }
        var login: MailLogin?
        if let username, let password { login = try MailLogin(username: username.value, password: password) }
        return try MailServer(
            url: try MailServerURL(server.value, allowsPlain: self.plain),
            from: try Mailbox(from, name: self.name ?? organization ?? ""),
            login: login,
            caFile: self.caFile,
            helloName: publicURL.host.hasPrefix("[") ? nil : publicURL.host
        )
    }
}

extension Mapping<MailDraft> {
    static let mail = Mapping(
        "the mail server",
        path: "mail",
        summary: "The server through which links for local accounts are sent. See [accounts.md](accounts.md#email).",
        make: { MailDraft() },
        keys: [
            Key(
                "server",
                located: \.server,
                .text,
                .init(isRequired: true, example: "smtp://mail.example.com"),
                "`smtp://HOST` (STARTTLS, port 587) or `smtps://HOST` (TLS, port 465), or with another port. There is no connection "
                    + "without TLS unless `plain` is set."
            ),
            Key(
                "from",
                \.from,
                .email,
                .init(isRequired: true, example: "gatehouse@example.com"),
                "The email address that messages come from."
            ),
            Key(
                "name",
                \.name,
                .text,
                .init(default: .words("`pages.organization`"), example: "Acme"),
                "The name that mail programs show with it."
            ),
            Key(
                "username",
                located: \.username,
                .text,
                .init(default: .words("none"), example: "gatehouse"),
                "The user name, if the server requires a login."
            ),
            Key(
                "password",
                \.password,
                .secret(atLeast: 1),
                .init(default: .words("none"), example: "${env:MAIL_PASSWORD}"),
                "The password."
            ),
            Key(
                "ca_file",
                \.caFile,
                .certificatesFile,
                .init(default: .words("the system's certificates"), example: "tls/private-ca.pem"),
                "A PEM file with the only certificates to trust for the server; relative to the folder of this file."
            ),
            Key(
                "plain",
                over: \.plain,
                .flag,
                .init(),
                "Whether `smtp://` is without TLS, which is possible for a server on loopback only."
            ),
        ],
        check: { draft, written, reading in
            draft.mark = written.mark
            guard (draft.username == nil) != (draft.password == nil) else { return }
            let missing = draft.username == nil ? "username" : "password"
            reading.error("a login has both; '\(missing)' is missing", at: written.mark)
        }
    )
}
