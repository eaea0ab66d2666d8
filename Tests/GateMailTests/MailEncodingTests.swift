// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateMail

@Suite struct MailEncodingTests {
    private let origin = MailOrigin(date: Instant(seconds: 784_111_777), id: "Aa0-_")

    private func encoded(_ message: MailMessage, name: String = "") throws -> String {
        String(decoding: message.encoded(from: try testMailbox(name: name), self.origin), as: UTF8.self)
    }

    private func head(_ message: MailMessage, name: String = "") throws -> [String] {
        let text = try self.encoded(message, name: name)
        let end = try #require(text.firstRange(of: "\r\n\r\n"))
        return text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
    }

    private func body(_ text: String) throws -> String {
        let encoded = try self.encoded(testMessage(text: text))
        return String(encoded[try #require(encoded.firstRange(of: "\r\n\r\n")).upperBound...])
    }

    @Test func `a message has these fields, in this order`() throws {
        #expect(
            try self.encoded(testMessage(subject: "Reset it", text: "Hi Ann,\n\nopen it.\n"), name: "Acme") == """
                Date: Sun, 06 Nov 1994 08:49:37 +0000\r
                From: Acme <gateway@sender.test>\r
                To: <ann@example.com>\r
                Message-ID: <Aa0-_@sender.test>\r
                Subject: Reset it\r
                MIME-Version: 1.0\r
                Content-Type: text/plain; charset=utf-8\r
                Content-Transfer-Encoding: quoted-printable\r
                Auto-Submitted: auto-generated\r
                X-Auto-Response-Suppress: All\r
                \r
                Hi Ann,\r
                \r
                open it.\r\n
                """
        )
    }

    @Test(arguments: [
        ("Acme", "Acme"),
        ("Acme Support", "Acme Support"),
        ("Acme, Inc.", #""Acme, Inc.""#),
        (#"The "A" \ Team"#, #""The \"A\" \\ Team""#),
        ("<evil@evil.test>", #""<evil@evil.test>""#),
        ("Grüße", "=?utf-8?B?R3LDvMOfZQ==?="),
        // Would be decoded by clients if it was not encoded.
        ("=?utf-8?B?YQ==?=", "=?utf-8?B?PT91dGYtOD9CP1lRPT0/PQ==?="),
        (" Acme", "=?utf-8?B?IEFjbWU=?="),
    ])
    func `a display name is atoms, a quoted string or encoded words`(name: String, phrase: String) throws {
        #expect(try self.head(testMessage(), name: name).contains("From: \(phrase) <gateway@sender.test>"))
    }

    @Test(arguments: ["a\r\nBcc: eve@evil.test", "a\nb", "a\rb", "a\u{0}", "\u{85}", "\u{2028}", "a\u{202E}b", "\t"])
    func `control characters in a header value are rejected`(text: String) throws {
        let (address, sender) = (try #require(EmailAddress("ann@example.com")), try #require(EmailAddress("a@b.test")))
        let subject = failure { () throws(MailFailure) in try MailMessage(to: address, subject: text, text: "") }
        #expect(subject == .message)
        #expect(failure { () throws(MailFailure) in try Mailbox(sender, name: text) } == .server)
    }

    @Test func `long subjects and names are folded into lines of at most 76 characters`() throws {
        let subjects = [
            String(repeating: "word ", count: 90) + "end",
            String(repeating: "x", count: 500),
            String(repeating: "Ünïcödé ", count: 40),
            String(repeating: "😀", count: 125),
        ]
        for subject in subjects {
            for line in try self.head(testMessage(subject: subject), name: "Ä" + String(repeating: "b", count: 120)) {
                #expect(line.utf8.count <= 76 && line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(line)")
            }
        }
    }

    @Test func `encoded words have at most 75 characters and whole characters of UTF-8`() throws {
        let words = try self.head(testMessage(subject: String(repeating: "a😀", count: 60)))
            .flatMap { $0.split(separator: " ") }.filter { $0.hasPrefix("=?") }
        #expect(words.count > 5)
        for word in words {
            #expect(word.utf8.count <= 75)
            let base64 = word.dropFirst(10).dropLast(2).replacing("+", with: "-").replacing("/", with: "_")
            let bytes = try #require(Base64URL.decode(String(base64.replacing("=", with: ""))))
            #expect(String(validating: bytes, as: UTF8.self) != nil)
        }
    }

    @Test(arguments: [
        ("a=b", "a=3Db"),
        ("ends with space ", "ends with space=20"),
        ("tab\t", "tab=09"),
        ("Grüße", "Gr=C3=BC=C3=9Fe"),
        ("From here", "=46rom here"),
        ("a\r\nb\rc", "a\r\nb\r\nc"),
        ("\u{1B}[31m", "=1B[31m"),
        (".", "."),
    ])
    func `text is quoted where it has to be`(text: String, encoded: String) throws {
        #expect(try self.body(text) == encoded + "\r\n")
    }

    @Test func `lines of the text have at most 76 characters, none of them in the middle of an escape`() throws {
        for length in 1...400 {
            let text = String(String(repeating: "ü=aé ", count: 80).prefix(length))
            for line in try self.body(text).split(separator: "\r\n") {
                #expect(line.utf8.count <= 76)
                let escapes = line.hasSuffix("=") ? line.dropLast() : line
                #expect(escapes.suffix(2).allSatisfy { $0 != "=" })
            }
        }
    }

    @Test(arguments: [75, 76, 77, 78, 151, 152, 153, 5000])
    func `a long URL comes back intact`(length: Int) throws {
        let url = "https://gateway.example.com/oauth2/reset?code=" + String(repeating: "k", count: length - 46)
        let body = try self.body("Open\n\(url)\nsoon.\n")
        let decoded = body.replacing("=\r\n", with: "").replacing("=3D", with: "=")
        #expect(decoded == "Open\r\n\(url)\r\nsoon.\r\n")
        #expect(body.split(separator: "\r\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test(arguments: [("a..b@example.com", #"<"a..b"@example.com>"#), ("a+b@example.com", "<a+b@example.com>")])
    func `a local part that is not made of atoms is quoted`(address: String, written: String) throws {
        #expect(try self.head(testMessage(to: address)).contains("To: \(written)"))
    }

    @Test(arguments: ["ännä@example.com", String(repeating: "a", count: 65) + "@example.com"])
    func `a recipient that would need SMTPUTF8 or is too long is rejected`(address: String) throws {
        let address = try #require(EmailAddress(address))
        let reason = failure { () throws(MailFailure) in try MailMessage(to: address, subject: "", text: "") }
        #expect(reason == .recipient)
    }
}
