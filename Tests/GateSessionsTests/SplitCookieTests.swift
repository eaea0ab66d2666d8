// SPDX-License-Identifier: Apache-2.0

import GateSessions
import Testing

@Suite struct SplitCookieTests {
    private func value(_ field: String) -> String? {
        let bytes = Array(field.utf8)
        return SplitCookie(name: "gate").value(in: bytes.span).map { String(decoding: $0, as: UTF8.self) }
    }

    private let full = String(repeating: "f", count: SplitCookie.maxPieceBytes)

    @Test(arguments: [
        "gate=abc", " gate=abc ", "a=1; gate=abc; b=2", "gate=abc;", "gate_x=1; gate=abc", "gates_1=x;gate=abc",
        "gate=abc; gate-attempt-1=z", "gate_1x=y; gate=abc", "gate=abc; Gate_1=x; __Host-gate_1=x",
        "gate=abc; gate _1=x",
    ])
    func `one cookie among those of others is the value`(field: String) {
        #expect(self.value(field) == "abc")
    }

    @Test func `the second piece continues a full first one, in any order of the field`() {
        #expect(self.value("gate=\(self.full); gate_1=abc") == self.full + "abc")
        #expect(self.value("gate_1=abc; x=y; gate=\(self.full)") == self.full + "abc")
    }

    @Test(arguments: [
        "", "gate", "gate=", "x=1", "gate =abc", "gate=a; gate=a", "gate_1=abc", "gate=abc; gate_1=",
        "gate=abc; gate_1",
        "gate=abc; gate_0=x", "gate=abc; gate_2=x", "gate=abc; gate_99999999=x", "gate=abc; gate_=x",
        "gate=abc; gate_01=x",
        "gate=abc; gate_99999999999999999999=x", "gate=abc; gate_1=x", "gate_0=abc", "gate_9=x; gate=abc",
    ])
    func `C-02 C-08: a missing, doubled, short, superfluous or misnamed piece leaves no value`(field: String) {
        #expect(self.value(field) == nil)
    }

    @Test func `C-08: each piece has its length and occurs once, and the whole has a limit`() {
        let short = String(self.full.dropLast())
        let rest = SplitCookie.maxBytes - SplitCookie.maxPieceBytes
        #expect(self.value("gate=\(short); gate_1=fabc") == nil)
        #expect(self.value("gate=\(self.full)f") == nil)
        #expect(self.value("gate=\(self.full); gate_1=abc; gate_1=abc") == nil)
        #expect(self.value("gate=\(self.full); gate_1=abc; gate_2=abc") == nil)
        #expect(self.value("gate=\(self.full); gate_1=\(String(repeating: "r", count: rest))") != nil)
        #expect(self.value("gate=\(self.full); gate_1=\(String(repeating: "r", count: rest + 1))") == nil)
    }

    @Test func `a field of many pairs is read once, whatever the names are`() {
        let field = (0..<3000).map { "gate_\($0)x=1" }.joined(separator: ";") + ";;;=;==;gate=abc;"
        #expect(self.value(field) == "abc")
    }
}
