// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct DiagnosticTests {
    private func location(_ column: Int) -> Diagnostic.Location {
        Diagnostic.Location(file: "providers.yaml", line: 14, column: column)
    }

    @Test func `a diagnostic reports the place and the error, and shows the line`() {
        let diagnostic = Diagnostic(.error, "unknown key 'acess'", at: self.location(5), source: "    acess: all")
        #expect(
            diagnostic.rendered == """
                providers.yaml:14:5: error: unknown key 'acess'
                        acess: all
                        ^
                """
        )
    }

    @Test func `without a place there is only the sentence`() {
        #expect(Diagnostic(.warning, "no apps", at: nil).rendered == "warning: no apps")
        #expect(Diagnostic(.error, "x", at: self.location(1)).rendered == "providers.yaml:14:1: error: x")
    }

    @Test(arguments: [0, -5, 1, 4, 5, 1000, .max])
    func `a caret never leaves the line`(column: Int) throws {
        let rendered = Diagnostic(.error, "x", at: self.location(column), source: "abc").rendered
        let caret = try #require(rendered.split(separator: "\n").last)
        #expect((5...8).contains(caret.count))
    }

    @Test func `a long line is cut around the place`() throws {
        let line = String(repeating: "x", count: 500) + "!" + String(repeating: "y", count: 500)
        let rendered = Diagnostic(.error, "x", at: self.location(501), source: line).rendered
        let lines = rendered.split(separator: "\n")
        #expect(lines[1].count == 104)
        #expect(lines[1].dropFirst(lines[2].count - 1).first == "!")
    }

    @Test(arguments: ["\u{1B}[31m", "\u{9B}31m", "\u{202E}", "\r", "\u{7F}", "\u{0}", "\u{2066}"])
    func `a line cannot steer the terminal`(hostile: String) {
        let rendered = Diagnostic(.error, "x", at: self.location(1), source: "a\(hostile)b").rendered
        let first = hostile.unicodeScalars.prefix(1)
        #expect(!rendered.unicodeScalars.contains { first.contains($0) })
    }

    @Test func `places sort by line and then by column`() {
        #expect(self.location(1) < self.location(2))
        #expect(Diagnostic.Location(file: "f", line: 1, column: 9) < self.location(1))
    }
}
