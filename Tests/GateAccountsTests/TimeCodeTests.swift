// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateAccounts

@Suite struct TimeCodeTests {
    private let secret = Secret(text: "12345678901234567890")

    /// RFC 6238, appendix B, the last six of eight digits.
    @Test(arguments: [
        (59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
        (2_000_000_000, "279037"), (20_000_000_000, "353130"),
    ])
    func `codes are those of RFC 6238`(time: Int64, code: String) {
        #expect(TimeCode.code(self.secret, step: time / 30) == code)
        #expect(TimeCode.step(of: code, self.secret, at: Instant(seconds: time), after: 0) == time / 30)
    }

    @Test func `a code is accepted one step before and after its own, and no further`() {
        let now = Instant(seconds: 1_234_567_890)
        let step = now.seconds / 30
        for offset: Int64 in -3...3 {
            let code = TimeCode.code(self.secret, step: step + offset)
            let found = TimeCode.step(of: code, self.secret, at: now, after: 0)
            #expect(found == (abs(offset) <= 1 ? step + offset : nil))
        }
    }

    @Test func `a code of a step that was used, or of an earlier one, is not accepted`() {
        let now = Instant(seconds: 1_234_567_890)
        let step = now.seconds / 30
        let code = TimeCode.code(self.secret, step: step)
        #expect(TimeCode.step(of: code, self.secret, at: now, after: step - 1) == step)
        #expect(TimeCode.step(of: code, self.secret, at: now, after: step) == nil)
        let earlier = TimeCode.code(self.secret, step: step - 1)
        #expect(TimeCode.step(of: earlier, self.secret, at: now, after: step) == nil)
    }

    @Test(arguments: ["", "12345", "1234567", "28708x", "٢٨٧٠٨٢", String(repeating: "1", count: 10_000)])
    func `what is not six digits is rejected`(typed: String) {
        #expect(TimeCode.step(of: typed, self.secret, at: Instant(seconds: 59), after: 0) == nil)
    }

    @Test func `spaces between the digits do not matter`() {
        #expect(TimeCode.step(of: "287 082", self.secret, at: Instant(seconds: 59), after: 0) == 1)
    }

    /// RFC 4648 §10.
    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI"),
    ])
    func `the secret is shown as Base32`(plain: String, text: String) {
        #expect(base32(Array(plain.utf8)) == text)
    }

    @Test func `the link escapes what an account is called`() {
        let link = TimeCode.link(self.secret, issuer: "gate.example.com", account: "a&secret=b@example.com")
        #expect(link.hasPrefix("otpauth://totp/gate.example.com%3Aa%26secret%3Db%40example.com?secret=GEZDGNBV"))
        #expect(link.hasSuffix("&issuer=gate.example.com&algorithm=SHA1&digits=6&period=30"))
    }

    @Test func `there are ten different recovery codes, found however they are typed`() {
        let codes = RecoveryCode.make(from: .system)
        #expect(Set(codes).count == 10)
        for code in codes {
            let hash = RecoveryCode.hash(of: code, account: "1")
            #expect(hash != nil && code.count == 11)
            #expect(RecoveryCode.hash(of: " \(code.lowercased().replacing("-", with: " "))", account: "1") == hash)
            #expect(RecoveryCode.hash(of: code, account: "2") != hash)
        }
    }
}
