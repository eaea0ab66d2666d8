// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateDiagnostics

@Suite struct LineScannerTests {
    private func found(_ words: [String], in text: String, pieces size: Int) -> (lines: [String], scanner: LineScanner)
    {
        var scanner = LineScanner(for: words)
        var lines: [String] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            scanner.take(Array(bytes[start..<min(start + size, bytes.count)])) {
                lines.append(String(decoding: $0, as: UTF8.self))
            }
        }
        scanner.end { lines.append(String(decoding: $0, as: UTF8.self)) }
        return (lines, scanner)
    }

    @Test(arguments: [1, 2, 3, 7, 16, 1000])
    func `the lines with a word are found, each once, however the file arrives`(size: Int) {
        let text = "first abcab\n\nx abcabd abcabd\nabcab\nlast abcabd"
        let (lines, scanner) = self.found(["abcabd", "last"], in: text, pieces: size)
        #expect(lines == ["x abcabd abcabd", "last abcabd"])
        #expect(scanner.size == text.utf8.count && scanner.first == Array("first abcab".utf8))
        #expect(scanner.last == Array("last abcabd".utf8))
    }

    @Test(arguments: [1000, 50_000, 1 << 20])
    func `a line that is too long is left out, and those around it are found`(size: Int) {
        let long = String(repeating: "word ", count: LineScanner.maxLine / 4)
        let (lines, _) = self.found(["word"], in: "word one\n\(long)\nword two\n\(long)\nword three\n", pieces: size)
        #expect(lines == ["word one", "word two", "word three"])
    }

    @Test func `a file without line breaks takes no more memory than one line`() {
        var scanner = LineScanner(for: ["word"])
        let piece = [UInt8](repeating: 0x61, count: 100_000)
        for _ in 0..<50 {
            scanner.take(piece) { _ in Issue.record("nothing is to be found") }
            #expect(scanner.pending <= LineScanner.maxLine)
        }
    }

    @Test(arguments: ["", "\n", "wor", "\n\n"])
    func `nothing is found where nothing is`(text: String) {
        #expect(self.found(["word"], in: text, pieces: 4).lines == [])
    }
}
