// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateRedis

/// Replies as Redis sends them, and as something else might.
@Suite struct RESPReaderTests {
    /// What a reader makes of pieces of bytes.
    private func values(_ pieces: [ArraySlice<UInt8>]) throws -> [RESPValue] {
        var reader = RESPReader()
        var values: [RESPValue] = []
        for piece in pieces {
            reader.append(ByteBuffer(bytes: piece))
            while let value = try reader.next() { values.append(value) }
        }
        return values
    }

    private func text(_ text: String) -> RESPValue { .text(Array(text.utf8)) }

    @Test func `each type of RESP3 is read, wherever the bytes are divided`() throws {
        let bytes = Array(
            """
            +OK\r\n-ERR no\r\n:-7\r\n$4\r\na\r\nb\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5\r\n(123456789012345678901\r\n!5\r\nERR x\r\n\
            =7\r\ntxt:abc\r\n*2\r\n:1\r\n*0\r\n%1\r\n+a\r\n:2\r\n~1\r\n+b\r\n>3\r\n+message\r\n+c\r\n$0\r\n\r\n
            """.utf8
        )
        let expected: [RESPValue] = [
            self.text("OK"), .error("ERR no"), .integer(-7), self.text("a\r\nb"), .null, .null, .null, .integer(1),
            self.text("1.5"), self.text("123456789012345678901"), .error("ERR x"), self.text("abc"),
            .list([.integer(1), .list([])]), .list([self.text("a"), .integer(2)]), .list([self.text("b")]),
            .push([self.text("message"), self.text("c"), self.text("")]),
        ]
        for position in 0...bytes.count {
            #expect(try self.values([bytes[..<position], bytes[position...]]) == expected, "divided at \(position)")
        }
        #expect(try self.values(bytes.indices.map { bytes[$0...$0] }) == expected)
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n", "$-2\r\n", "$5000000\r\n", "$x\r\n", "$3\r\nabcd\r\n", "*100001\r\n", "*-3\r\n",
        ":1\n2\r\n\r\n", "\r\n", "+a\rb\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "?\r\n", "*?\r\n", ">-1\r\n",
        "|1\r\n+a\r\n+b\r\n",
    ])
    func `what is not a reply ends the connection`(text: String) {
        #expect(throws: RESPViolation.self) { try self.values([Array(text.utf8)[...]]) }
    }

    @Test func `a reply that never ends is rejected at one megabyte`() throws {
        var reader = RESPReader()
        reader.append(ByteBuffer(repeating: UInt8(ascii: "+"), count: RESPReader.maxBytes))
        #expect(try reader.next() == nil)
        reader.append(ByteBuffer(repeating: UInt8(ascii: "+"), count: 1))
        #expect(throws: RESPViolation.self) { try reader.next() }
    }

    @Test func `a list of lists cannot have more values than the limit`() {
        let inner = "*1000\r\n" + String(repeating: ":1\r\n", count: 1000)
        let text = "*200\r\n" + String(repeating: inner, count: 200)
        #expect(throws: RESPViolation.self) { try self.values([Array(text.utf8)[...]]) }
    }

    @Test func `a command is an array of texts with their lengths in bytes`() {
        var buffer = ByteBuffer()
        RedisCommand("SET", "ä").with([0, 13, 10]).with(7).write(to: &buffer)
        #expect(String(buffer: buffer) == "*4\r\n$3\r\nSET\r\n$2\r\nä\r\n$3\r\n\u{0}\r\n\r\n$1\r\n7\r\n")
    }
}
