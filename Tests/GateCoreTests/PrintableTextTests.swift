// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        "\n", "\r", "\t", "\0", "\u{1B}[2J", "\u{7F}", "\u{85}", "\u{9B}2J", "\u{9C}", "\u{2028}", "\u{2029}",
        "\u{061C}",
        "\u{200E}", "\u{200F}", "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{206A}", "\u{206F}",
    ])
    func `X-09: controls of C0 and C1, separators and bidirectional controls are not printable`(text: String) throws {
        #expect(!PrintableText.isPrintable("a\(text)b"))
        let shown = PrintableText.escaped("https://\(text)evil.example")
        let first = try #require(text.unicodeScalars.first)
        #expect(PrintableText.isPrintable(shown) && !shown.unicodeScalars.contains(first))
        #expect(shown.hasPrefix("https://\\") && shown.hasSuffix("evil.example"))
    }

    @Test(arguments: ["", "plain text", "Zoë Šimić", "アダ", "عمر", "👩‍💻", "a\u{200C}b", "\"quoted\" \\ back"])
    func `text of any language stays as it is`(text: String) {
        #expect(PrintableText.isPrintable(text) && PrintableText.escaped(text) == text)
    }

    @Test func `an escape names the scalar`() {
        #expect(PrintableText.escaped("a\u{202E}b\nc\u{9B}d") == "a\\u{202E}b\\nc\\u{009B}d")
    }

    @Test func `long text is cut`() {
        #expect(PrintableText.escaped(String(repeating: "\u{9B}", count: 10_000), limit: 2) == "\\u{009B}\\u{009B}...")
        #expect(PrintableText.escaped("abc", limit: 3) == "abc")
    }
}
