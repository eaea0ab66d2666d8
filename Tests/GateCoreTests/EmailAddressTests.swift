// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct EmailAddressTests {
    @Test(arguments: [
        ("ada@example.com", "example.com"), ("Ada.L+x@Example.COM", "example.com"), ("a@b.example.", "b.example"),
        ("o'brien@example.com", "example.com"), ("j\u{F6}rg@example.com", "example.com"),
    ])
    func `an address has one reading`(text: String, domain: String) {
        #expect(EmailAddress(text)?.domain == domain)
    }

    @Test(arguments: [
        "", "@", "a@", "@b.example", "ada", "ada@localhost", "attacker@evil.com@company.com", "a@b@c",
        "a@\u{301}evil.com@company.com", "a b@c.example", " a@b.example", "a@b.example ", "a@b.example\n",
        "a\u{0}@b.example", "a\u{A0}b@c.example", "a\u{200B}b@c.example", "a@[10.0.0.1]", "\"a@b\"@c.example",
        "<a@b.example>", "a@b..example", "a@b.example,c@d.example", "a@b_.exa mple", "a@compan\u{443}.com",
        "a@wor\u{212A}.example", "a\u{FF20}b.example", "a@b\u{3002}example",
    ])
    func `a text with no reading or several is not an email address`(text: String) {
        #expect(EmailAddress(text) == nil)
    }

    @Test func `letter case makes no other mailbox`() {
        #expect(EmailAddress("Ada@Example.com") == EmailAddress("ada@EXAMPLE.COM"))
        #expect(Set([EmailAddress("Ada@Example.com"), EmailAddress("ada@EXAMPLE.COM")]).count == 1)
        #expect(EmailAddress("ada@example.com") != EmailAddress("ada@example.org"))
    }

    @Test(arguments: [("\u{212A}ate", "kate"), ("\u{C9}va", "\u{E9}va"), ("e\u{301}va", "\u{E9}va")])
    func `letters that only look alike make another mailbox`(one: String, other: String) {
        #expect(EmailAddress("\(one)@example.com") != EmailAddress("\(other)@example.com"))
    }

    @Test(arguments: [(254, true), (255, false)])
    func `an address has a bound`(length: Int, isGood: Bool) {
        let text = String(repeating: "a", count: length - "@example.com".count) + "@example.com"
        #expect((EmailAddress(text) != nil) == isGood)
    }
}
