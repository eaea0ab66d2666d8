// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateMail
import Testing

@Suite struct MailServerTests {
    @Test(arguments: [
        ("smtp://mail.example.com", "smtp://mail.example.com:587", MailServerURL.Security.startTLS),
        ("SMTPS://Mail.Example.com/", "smtps://mail.example.com:465", .tls),
        ("smtp://[::1]:25", "smtp://[::1]:25", .startTLS),
    ])
    func `a URL without a port has the port of submission`(
        text: String,
        url: String,
        security: MailServerURL.Security
    ) throws {
        let parsed = try MailServerURL(text)
        #expect(parsed.description == url)
        #expect(parsed.security == security)
    }

    @Test(arguments: [
        "mail.example.com", "http://mail.example.com", "smtp://", "smtp://a:b@mail.example.com", "smtp://mail/path",
        "smtp://mail:0", "smtp://mail:70000", "smtp://mail\r\n.test", "smtp://mail?x", "smtp://",
    ])
    func `anything else is rejected`(text: String) {
        #expect(failure { () throws(MailFailure) in try MailServerURL(text) } == .server)
    }

    @Test func `only a server on loopback may be used without TLS`() throws {
        for host in ["localhost", "127.0.0.1", "[::1]", "mail.localhost"] {
            #expect(try MailServerURL("smtp://\(host)", allowsPlain: true).security == .plain)
        }
        for host in ["mail.example.com", "10.0.0.1", "127.0.0.1.example.com", "[::2]"] {
            let reason = failure { () throws(MailFailure) in try MailServerURL("smtp://\(host)", allowsPlain: true) }
            #expect(reason == .server)
        }
        #expect(try MailServerURL("smtps://mail.example.com", allowsPlain: true).security == .tls)
    }

    @Test(arguments: [("", "p"), ("u", ""), ("u\0x", "p"), ("u", "p\0x"), ("u\n", "p"), ("u", "p\r")])
    func `a login with an empty part or control characters is rejected`(username: String, password: String) {
        let reason = failure { () throws(MailFailure) in
            try MailLogin(username: username, password: Secret(text: password))
        }
        #expect(reason == .server)
    }

    @Test func `the name for EHLO is the domain of the sender, or a host name`() throws {
        let (url, from) = (try MailServerURL("smtps://mail.test"), try testMailbox())
        #expect(try MailServer(url: url, from: from).helloName == "sender.test")
        #expect(try MailServer(url: url, from: from, helloName: "GW.example.com").helloName == "gw.example.com")
        for name in ["", "a b", "a\r\nRSET", "a/b", "[::1]"] {
            let reason = failure { () throws(MailFailure) in try MailServer(url: url, from: from, helloName: name) }
            #expect(reason == .server)
        }
    }

    @Test func `a password is not part of any description`() throws {
        let login = try MailLogin(username: "u", password: Secret(text: "open-sesame"))
        let server = try MailServer(url: MailServerURL("smtps://mail.test"), from: testMailbox(), login: login)
        #expect(!"\(server)".contains("sesame"))
    }
}
