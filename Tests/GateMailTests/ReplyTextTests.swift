// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateMail

@Suite struct ReplyTextTests {
    @Test(arguments: [
        ("5.1.1 <ann@example.com>: unknown", "5.1.1 <email address> unknown"),
        ("no mailbox=ANN; sorry", "no <email address> sorry"),
        ("user ann.", "user <email address>"),
        ("cannot deliver to annex", "cannot deliver to annex"),
        ("bob@example.org is not ann", "<email address> is not <email address>"),
        ("4.7.1  try later", "4.7.1  try later"),
    ])
    func `email addresses and the local part of the recipient are replaced`(text: String, logged: String) {
        #expect(ReplyText.withoutAddresses(text, recipient: EmailAddress("ann@example.com")) == logged)
    }

    @Test(arguments: [
        "535 open-sesame is wrong", "b3Blbi1zZXNhbWU=", "AUTH PLAIN AHUAb3Blbi1zZXNhbWU= failed",
    ])
    func `a reply that has the password is not logged`(text: String) throws {
        let login = try MailLogin(username: "u", password: Secret(text: "open-sesame"))
        #expect(ReplyText.withoutPassword(text, of: login) == "the reply is not logged because it has the password")
        #expect(ReplyText.withoutPassword("535 wrong", of: login) == "535 wrong")
    }
}
