// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct BrowserHintsTests {
    @Test(arguments: [
        ("Accept: text/html,*/*", true), ("ACCEPT:TEXT/HTML", true), ("accept: application/json", false),
        ("Accept: */*", false), ("X-Accept: text/html", false), ("Sec-Fetch-Mode: navigate", true),
        ("Accept: text/html\r\nSec-Fetch-Mode: cors", false), ("Sec-Fetch-Mode: cors\r\nAccept: text/html", false),
        ("Accept: text/html\r\nX-Requested-With: XMLHttpRequest", false), ("", false), ("Accept", false),
        ("Accept : text/html", false),
    ])
    func `Z-05: the fields of a rejected head distinguish a browser from a script`(lines: String, wantsPage: Bool) {
        for start in ["GET / HTTP/1.1\r\n", "\u{16}\u{3}\u{1}\r\n", "BREW \u{1}\r\nHost: a\r\nHost: b\r\n"] {
            #expect(BrowserHints(in: ByteBuffer(string: "\(start)\(lines)\r\n\r\n")).wantsPage == wantsPage)
            // An incomplete head, and one with bare line feeds.
            #expect(BrowserHints(in: ByteBuffer(string: "\(start)\(lines)")).wantsPage == wantsPage)
        }
    }

    @Test func `the search of arbitrary bytes is limited`() {
        var bytes = ByteBuffer(repeating: 0x0A, count: 64 * 1024)
        bytes.writeString("Accept: text/html\r\n")
        #expect(!BrowserHints(in: bytes).wantsPage)
        #expect(!BrowserHints(in: ByteBuffer(repeating: 0xFF, count: 300_000)).wantsPage)
    }

    @Test func `the head of a rejected request is still in the buffer`() {
        let text = "GET /%zz HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n"
        var buffer = ByteBuffer(string: text)
        var parser = RequestParser(names: FieldNames(), isSecure: false)
        #expect(throws: WireRejection.self) { try parser.head(from: &buffer) }
        #expect(String(buffer: buffer) == text)
    }
}
