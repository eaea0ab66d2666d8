// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GateCore
import GateTestSupport
import Testing

@testable import GateMail

/// Real transfers to a server on loopback; one test at a time, because each starts a server.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SMTPTransportTests {
    private let login = ["--login", "gateway@sender.test:open sesame"]

    /// The configuration for a local server.
    private func configured(
        _ server: LocalMailServer,
        scheme: String = "smtp",
        password: String? = "open sesame",
        ca: String = "ca",
        allowsPlain: Bool = false
    ) throws -> MailServer {
        let login = try password.map { password throws(MailFailure) in
            try MailLogin(username: "gateway@sender.test", password: Secret(text: password))
        }
        var made = try MailServer(
            url: MailServerURL("\(scheme)://localhost:\(server.port)", allowsPlain: allowsPlain),
            from: testMailbox(name: "Acme, Inc. – Zugänge"),
            login: login,
            caFile: TestCertificates.shared.get().path + "/\(ca).pem"
        )
        made.connectTimeout = .milliseconds(1500)
        made.timeout = .seconds(3)
        return made
    }

    /// Sends one message with a queue and returns the results until the final one.
    private func results(
        of message: MailMessage,
        over server: MailServer
    ) async throws -> [MailResult] {
        let (results, continuation) = AsyncStream<MailResult>.makeStream()
        var limits = MailQueue.Limits()
        limits.firstDelay = .milliseconds(10)
        limits.lifetime = .seconds(20)
        let queue = MailQueue(to: server, limits: limits) { result in
            continuation.yield(result)
            if result.isFinal { continuation.finish() }
        }
        try queue.send(message)
        var all: [MailResult] = []
        for await result in results { all.append(result) }
        return all
    }

    private func reply(of server: MailServer, to message: MailMessage? = nil) async throws -> MailReply {
        let results = try await self.results(of: message ?? testMessage(), over: server)
        return try #require(results.last).reply
    }

    /// The reply to one transfer, and how long it took, measured where no other test delays it.
    private func timedReply(of server: MailServer) async throws -> (MailReply, Duration) {
        let origin = MailOrigin(date: Instant(seconds: 0), id: "id")
        let transfer = MailTransfer(try testMessage(), from: server.from, origin)
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "test").async {
                let start = ContinuousClock.now
                let reply = SMTPTransport(to: server).send(transfer)
                continuation.resume(returning: (reply, ContinuousClock.now - start))
            }
        }
    }

    @Test(arguments: ["smtp", "smtps"])
    func `a message arrives over TLS, with a login`(scheme: String) async throws {
        let server = try LocalMailServer(self.login + (scheme == "smtps" ? ["--implicit-tls"] : []))
        let reply = try await self.reply(of: self.configured(server, scheme: scheme))
        #expect(reply == MailReply(.sent, code: 250))
        let events = try server.events()
        let message = try #require(events.named("message").first)
        #expect(message["tls"]?.bool == true)
        #expect(message["username"]?.string == "gateway@sender.test")
        #expect(message["from"]?.string == "gateway@sender.test")
        #expect(message["to"]?.array == [.string("ann@example.com")])
        // Nothing but EHLO before TLS.
        #expect(events.filter { $0["tls"]?.bool == false }.allSatisfy { $0["verb"]?.string == "EHLO" })
        #expect(events.compactMap { $0["host"]?.string }.allSatisfy { $0 == "sender.test" })
        #expect(events.last?["verb"]?.string == "QUIT")
    }

    @Test(arguments: SMTPTransportTests.contents)
    func `a client reads what was written`(subject: String, text: String) async throws {
        let server = try LocalMailServer()
        let message = try testMessage(to: "ann+test@example.com", subject: subject, text: text)
        let reply = try await self.reply(of: self.configured(server, password: nil), to: message)
        #expect(reply.outcome == .sent)
        let received = try #require(server.events().named("message").first)
        #expect(received["subject"]?.string == subject)
        #expect(received["text"]?.string == message.text)
        #expect(received["from_name"]?.string == "Acme, Inc. – Zugänge")
        #expect(received["from_address"]?.string == "gateway@sender.test")
        #expect(received["to_address"]?.string == "ann+test@example.com")
        #expect(received["defects"]?.array == [])
        let names = received["headers"]?.array?.compactMap { $0.array?.first?.string } ?? []
        #expect(Set(names).count == 10 && names.count == 10, "\(names)")
    }

    private static let contents: [(String, String)] = [
        ("Reset your password", "Open\n\nhttps://gw.test/reset?code=\(String(repeating: "k9-_", count: 500))\n"),
        ("Пароль für 😀 – 株式会社", "Здравствуйте 😀\n株式会社\n"),
        ("a, \"b\" <c@d.test>; =?utf-8?B?YQ==?= : e", "\"quotes\" =3D = =\n"),
        (String(repeating: "lang und breit ", count: 30) + "Ende", String(repeating: "x", count: 5000) + "\n"),
        ("  spaces  around  ", " a \n\tb\t\n\n\nc   \n"),
        ("Dots", ".\n..\n.\n\n.a\nend\n.\n" + String(repeating: ".", count: 300) + "\n"),
        ("", ""),
        ("Body", "Bcc: eve@evil.test\nSubject: other\n\nFrom here\nand \u{1B}[31m\u{0} on\n"),
        (String(repeating: "ä", count: 250), String(repeating: "ß ", count: 2000) + "\n"),
    ]

    @Test func `a certificate of another authority is not trusted`() async throws {
        let server = try LocalMailServer(self.login)
        let reply = try await self.reply(of: self.configured(server, ca: "other"))
        #expect(reply.outcome == .tlsFailed)
        #expect(reply.text.contains("certificate"))
        #expect(try server.events().allSatisfy { $0["verb"]?.string == "EHLO" })
    }

    @Test(arguments: ["smtp", "smtps"])
    func `a certificate for another host is not trusted`(scheme: String) async throws {
        let more = scheme == "smtps" ? ["--implicit-tls"] : []
        let server = try LocalMailServer(self.login + more, certificate: "elsewhere")
        let reply = try await self.reply(of: self.configured(server, scheme: scheme))
        #expect(reply.outcome == .tlsFailed)
        #expect(reply.text.contains("localhost"))
        #expect(try server.events().allSatisfy { $0["verb"]?.string == "EHLO" })
    }

    @Test func `a server without STARTTLS gets neither the login nor the message`() async throws {
        let server = try LocalMailServer(self.login, certificate: nil)
        let reply = try await self.reply(of: self.configured(server))
        #expect(reply.outcome == .tlsFailed)
        let events = try server.events()
        #expect(events.map { $0["verb"]?.string } == ["EHLO"])
    }

    @Test func `plain text is used where it is configured`() async throws {
        let server = try LocalMailServer(self.login, certificate: nil)
        let reply = try await self.reply(of: self.configured(server, allowsPlain: true))
        #expect(reply.outcome == .sent)
        #expect(try server.events().named("message").first?["tls"]?.bool == false)
    }

    @Test func `a wrong password is not retried`() async throws {
        let server = try LocalMailServer(self.login)
        let configured = try self.configured(server, password: "wrong-password")
        let results = try await self.results(of: testMessage(), over: configured)
        #expect(results.map(\.reply.outcome) == [.loginRejected])
        #expect(results.map(\.reply.code) == [535])
        #expect(try server.events().named("login").count == 1)
        #expect(!"\(results)".contains("wrong-password"))
    }

    @Test(arguments: ["open sesame is wrong", "got b3BlbiBzZXNhbWU=", "AGdhdGV3YXlAc2VuZGVyLnRlc3QAb3BlbiBzZXNhbWU="])
    func `Q-25 a server that repeats the password does not get it into a reply`(text: String) async throws {
        let server = try LocalMailServer(self.login + ["--reject", "auth:535 5.7.8 \(text)"])
        let reply = try await self.reply(of: self.configured(server))
        #expect(reply.outcome == .loginRejected && reply.code == 535)
        #expect(reply.text == "the reply is not logged because it has the password")
    }

    @Test func `a server that does not offer AUTH gets no message if a login is configured`() async throws {
        let server = try LocalMailServer(certificate: nil)
        let reply = try await self.reply(of: self.configured(server, allowsPlain: true))
        #expect(reply.outcome == .loginRejected)
        #expect(try server.events().named("message").isEmpty)
    }

    @Test func `a server that requires a login rejects a message without one`() async throws {
        let server = try LocalMailServer(self.login)
        let reply = try await self.reply(of: self.configured(server, password: nil))
        #expect(reply.outcome == .loginRejected)
        #expect(reply.code == 530)
    }

    @Test(arguments: ["mail", "rcpt", "data"])
    func `a message that is rejected for now is sent later`(command: String) async throws {
        let server = try LocalMailServer(["--reject", "\(command):451 4.7.1 try later", "--times", "2"])
        let results = try await self.results(of: testMessage(), over: self.configured(server, password: nil))
        #expect(results.map(\.reply.outcome) == [.rejectedForNow, .sent])
        #expect(results.first?.reply == MailReply(.rejectedForNow, code: 451, text: "4.7.1 try later"))
        #expect(results.map(\.tries) == [1, 3])
        #expect(try server.events().named("message").count == 1)
    }

    @Test(arguments: ["mail", "rcpt", "data"])
    func `a message that is rejected is not sent again`(command: String) async throws {
        let server = try LocalMailServer(["--reject", "\(command):550 5.1.1 <ann@example.com> unknown", "--times", "1"])
        let results = try await self.results(of: testMessage(), over: self.configured(server, password: nil))
        #expect(results.map(\.reply) == [MailReply(.rejected, code: 550, text: "5.1.1 <email address> unknown")])
        #expect(results.map(\.domain) == ["example.com"])
        #expect(try server.events().named("message").isEmpty)
    }

    @Test(arguments: ["greeting", "rcpt", "data"])
    func `a server that does not reply is left after the time-out`(command: String) async throws {
        let server = try LocalMailServer(["--silent", command])
        let configured = try self.configured(server, password: nil)
        let (reply, time) = try await self.timedReply(of: configured)
        // The server may have accepted a message that it has got, so that is not tried again.
        #expect(reply.outcome == (command == "data" ? .other : .timedOut))
        // Not as long once more, for QUIT.
        #expect(time < .seconds(5))
    }

    @Test func `a server that does not reply to QUIT has accepted the message`() async throws {
        let server = try LocalMailServer(["--silent", "quit"])
        var configured = try self.configured(server, password: nil)
        configured.timeout = .seconds(30)
        let (reply, time) = try await self.timedReply(of: configured)
        #expect(reply.outcome == .sent)
        #expect(time < .seconds(10))
    }

    @Test func `a closed port is not reachable`() async throws {
        let server = try LocalMailServer()
        let configured = try self.configured(server)
        _ = try server.events()
        #expect(await configured.verify().outcome == .unreachable)
    }

    @Test func `a check logs in, quits and sends nothing`() async throws {
        let server = try LocalMailServer(self.login)
        #expect(try await self.configured(server).verify() == MailReply(.sent, code: 250))
        let events = try server.events()
        #expect(events.named("login").map { $0["accepted"]?.bool } == [true])
        #expect(events.named("command").compactMap { $0["verb"]?.string } == ["EHLO", "EHLO", "NOOP", "QUIT"])
    }

    @Test func `a check reports a wrong password`() async throws {
        let server = try LocalMailServer(self.login)
        #expect(try await self.configured(server, password: "wrong").verify().outcome == .loginRejected)
    }
}
