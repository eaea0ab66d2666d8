// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

@Suite struct HeadLimitsTests {
    private static func fields(_ count: Int) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: b\r\n", count: count - 1) + "\r\n"
    }

    /// A head with one field line of this number of bytes, its line end included.
    private static func line(_ bytes: Int) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\nA: " + String(repeating: "b", count: bytes - 5) + "\r\n\r\n"
    }

    /// A head of this number of bytes in lines within the limit.
    private static func head(_ bytes: Int) -> String {
        let start = "GET / HTTP/1.1\r\nHost: a\r\n"
        let rest = bytes - start.utf8.count - 2
        let lines = [rest / 3, rest / 3, rest - 2 * (rest / 3)].map {
            "A: " + String(repeating: "b", count: $0 - 5) + "\r\n"
        }
        return start + lines.joined() + "\r\n"
    }

    private static func target(_ bytes: Int) -> String {
        "GET /" + String(repeating: "a", count: bytes - 1) + " HTTP/1.1\r\nHost: a\r\n\r\n"
    }

    @Test(arguments: [fields(100), line(16 * 1024), head(32 * 1024), target(8 * 1024)])
    func `S-55 a head at a limit is accepted`(_ text: String) {
        #expect(read([Array(text.utf8)]).isHead)
        #expect(read(Array(text.utf8).map { [$0] }).isHead)
    }

    @Test(arguments: [
        (fields(101), 431), (line(16 * 1024 + 1), 431), (head(32 * 1024 + 1), 431), (target(8 * 1024 + 1), 414),
        (fields(10_000), 431), (line(100_000), 431), (target(100_000), 414),
    ])
    func `S-55 a head over a limit is rejected`(_ text: String, _ status: Int) {
        #expect(read([Array(text.utf8)]).status == status)
        #expect(read(Array(text.utf8).map { [$0] }).status == status)
    }

    @Test func `S-55 an incomplete head is rejected once it is too large`() {
        var parser = RequestParser.plain()
        var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\nA: ")
        #expect(throws: WireRejection(.wireHeadTooLarge)) {
            for _ in 0..<33 {
                buffer.writeRepeatingByte(UInt8(ascii: "b"), count: 1024)
                #expect(buffer.readableBytes <= 33 * 1024 + 64)
                _ = try parser.head(from: &buffer)
            }
        }
    }

    @Test func `S-55 an incomplete start line over the limit is a target that is too long`() {
        #expect(
            read([Array(("GET /" + String(repeating: "a", count: 40_000)).utf8)])
                == .rejected(414, "wire.target_too_long")
        )
    }
}
