// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// How a pin is written, and the diagnostics of common mistakes.
@Suite struct PinSyntaxTests {
    private static let second = PinsTests.second

    private func messages(_ pins: String) -> [String] { Fixture.messages(PinsTests.file(pins)) }

    @Test(
        arguments: [
            // Hexadecimal, as openssl prints it.
            (
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                "is hexadecimal; write it in base64: '\(second)'"
            ),
            (
                "BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD",
                "is hexadecimal; write it in base64: '\(second)'"
            ),
            (
                "a9993e364706816aba3e25717850c26c9cd0d89d",
                "is hexadecimal and encodes 20 bytes, as SHA-1 has; a pin is a SHA-256, 32 bytes"
            ),
            // Spellings of others.
            ("sha256/\(second)", "starts with 'sha256/'; write it without: '\(second)'"),
            ("sha256//\(second)", "starts with 'sha256//'; write it without: '\(second)'"),
            ("SHA256:\(second)", "starts with 'sha256:'; write it without: '\(second)'"),
            ("pin-sha256=\(second)", "starts with 'pin-sha256='; write it without: '\(second)'"),
            ("pin-sha256=\"\(second)\"", "starts with 'pin-sha256='; write it without: '\(second)'"),
            ("pin-sha256=\"\(second)\";", "starts with 'pin-sha256='; write it without: '\(second)'"),
            ("sha256/abc", "starts with 'sha256/'; write it without: the base64 alone"),
            // Nearly the right base64.
            (
                "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
                "is in the base64 alphabet for URLs; write '+' for '-' and '/' for '_': '\(second)'"
            ),
            (
                "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=",
                "is in the base64 alphabet for URLs; write '+' for '-' and '/' for '_': '\(second)'"
            ),
            (" \(second)", "has white space in it; write '\(second)'"),
            (
                "ungWv48Bz+pBQUDeXa4iI7 ADYaOWF3qctBD/YfIAFa0=", "has white space in it; write '\(second)'"
            ),
            ("two words", "has white space in it; write the base64 in one piece"),
            (
                "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0",
                "lacks its one '=' at the end; write '\(second)'"
            ),
            (
                "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0==",
                "lacks its one '=' at the end; write '\(second)'"
            ),
            (
                "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=",
                "cannot end in '1', which has bits of no byte; it was mistyped or truncated, so copy it again"
            ),
            // Of another length: MD5, SHA-1, SHA-384 and SHA-512 of 'abc', and one byte less or more.
            (
                "kAFQmDzST7DWlj99KOF/cg==", "encodes 16 bytes, as MD5 has; a pin is a SHA-256, 32 bytes"
            ),
            (
                "qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "encodes 20 bytes, as SHA-1 has; a pin is a SHA-256, 32 bytes"
            ),
            (
                "ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP/W+2AhgcroefMI1i67KE0yCWn",
                "encodes 48 bytes, as SHA-384 has; a pin is a SHA-256, 32 bytes"
            ),
            (
                "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==",
                "encodes 64 bytes, as SHA-512 has; a pin is a SHA-256, 32 bytes"
            ),
            ("ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFQ==", "encodes 31 bytes; a pin is a SHA-256, 32 bytes"),
            ("ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0A", "encodes 33 bytes; a pin is a SHA-256, 32 bytes"),
            ("ungWv", "is not base64; it is truncated or has a character too many"),
            // No base64 at all.
            ("first, backup", "has white space in it; write the base64 in one piece"),
            (
                "ungWv48Bz+pBQUDe$a4iI7ADYaOWF3qctBD/YfIAFa0=", "is not base64; it has '$' in it"
            ),
            (
                "ungWv48Bz+pBQUDe=a4iI7ADYaOWF3qctBD/YfIAFa0=", "is not base64; it has '=' in it"
            ),
            (
                "ungWv48Bz+pBQUDe\u{0430}a4iI7ADYaOWF3qctBD/YfIAFa0=", "is not base64; it has '\u{0430}' in it"
            ),
        ]
    )
    func `a pin is exactly the canonical base64 of 32 bytes, and a common mistake is named`(text: String, words: String)
    {
        let shown = text.count > 60 ? "\(text.prefix(60))…" : text
        let messages = self.messages("{ mode: report, sha256: [ '\(text)' ] }")
        #expect(messages == ["'\(shown)' \(words)"])
    }

    @Test func `an empty text is not a pin`() {
        let wanted = "'' is not a pin; 'gatehouse pins HOST' prints those of a host"
        #expect(self.messages("{ sha256: [ '' ] }") == [wanted])
    }

    @Test func `PEM text is rejected and not shown, since it may be a private key`() throws {
        let text = "{ sha256: [ \"-----BEGIN PRIVATE KEY-----\\nMIGHAgEAMBMG\" ] }"
        let result = Fixture.parse(PinsTests.file(text))
        let wanted = "this is PEM text, but a pin is a hash of the key; 'gatehouse pins HOST' prints it"
        #expect(result.diagnostics.map(\.message) == [wanted])
        #expect(!result.diagnostics.map(\.rendered).joined().contains("MIGH"))
    }
}
