// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateWire

@Suite struct FieldLineReaderTests {
    /// The lines of a head that HTTP/2 carries, and where the head ends.
    private func lines(_ text: String) -> (lines: [String], end: Int) {
        let bytes = Array(text.utf8)
        var lines: [String] = []
        let end = FieldLineReader.forEach(of: bytes.span, from: FieldLineReader.lineEnd(bytes.span, from: 0) + 2) {
            line in
            let part = { (range: Range<Int>) in String(decoding: bytes[range], as: UTF8.self) }
            lines.append("\(part(line.name))=\(part(line.value))")
        }
        return (lines, end)
    }

    @Test func `each line of the head is read, and nothing of the body`() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Empty:\r\nX-Long-Name: with: colon\tand tab\r\n\r\n"
        let read = self.lines(head + "abc: d\r\n")
        #expect(read.lines == ["Content-Length=3", "X-Empty=", "X-Long-Name=with: colon\tand tab"])
        #expect(read.end == head.utf8.count)
    }

    @Test(arguments: [
        "Connection: close", "connection: x", "Keep-Alive: 5", "Transfer-Encoding: chunked", "TRANSFER-ENCODING: x",
        "Proxy-Connection: close", "Upgrade: h2c", "HTTP2-Settings: a",
    ])
    func `H-04 connection-specific fields are left out`(line: String) {
        #expect(self.lines("HTTP/1.1 200 OK\r\n\(line)\r\nA: b\r\n\r\n").lines == ["A=b"])
    }

    @Test(arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA", "HTTP/1.1 200 OK\r\nA: b", ""])
    func `a truncated head is not read beyond its end`(text: String) {
        #expect(self.lines(text).end <= text.utf8.count)
    }
}
