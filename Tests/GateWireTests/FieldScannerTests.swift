// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateWire

/// The scanner looks at several bytes at a time; what it finds is what a look at each byte finds.
@Suite struct FieldScannerTests {
    /// Every byte in every place of text of each length up to 80, which has blocks of 32, of eight and single bytes.
    private static func forEachText(of plain: UInt8, _ body: (_ text: [UInt8], _ start: Int) -> Void) {
        for length in [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 47, 64, 71, 80] {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: plain, count: length)
                    text[place] = byte
                    body(text, place % 3)
                }
            }
        }
    }

    @Test func `the first control character of a value is found, but for the last seven bytes`() {
        var wrong: [[UInt8]] = []
        Self.forEachText(of: 0x61) { text, start in
            let first = text.indices.first { $0 >= start && (text[$0] < 0x20 || text[$0] == 0x7F) } ?? text.count
            let found = FieldScanner.skipPlain(text.span, from: start)
            let isRest = found < first && text.count - found < 8
            if found != first, !isRest { wrong.append(text) }
        }
        #expect(wrong == [])
    }

    @Test func `two control characters do not hide each other`() {
        for first in 0..<40 {
            for second in first..<40 {
                for byte: UInt8 in [0x00, 0x09, 0x0D, 0x1F, 0x7F] {
                    var text = [UInt8](repeating: 0xFF, count: 48)
                    (text[first], text[second]) = (byte, 0x0A)
                    #expect(FieldScanner.skipPlain(text.span, from: 0) == first)
                }
            }
        }
    }

    @Test(arguments: [UInt8(ascii: "a"), UInt8(ascii: "Z"), UInt8(ascii: "9"), UInt8(ascii: "-")])
    func `the first byte that is not of a plain name is found`(plain: UInt8) {
        let names = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-".utf8)
        var wrong: [[UInt8]] = []
        Self.forEachText(of: plain) { text, start in
            let first = text.indices.first { $0 >= start && !names.contains(text[$0]) } ?? text.count
            if FieldScanner.skipPlainName(text.span, from: start) != first { wrong.append(text) }
        }
        #expect(wrong == [])
    }

    @Test func `one byte above ASCII is found wherever it is`() {
        var wrong: [[UInt8]] = []
        Self.forEachText(of: 0x7F) { text, _ in
            if FieldScanner.isASCII(text.span) != text.allSatisfy({ $0 < 0x80 }) { wrong.append(text) }
        }
        #expect(wrong == [])
    }
}
