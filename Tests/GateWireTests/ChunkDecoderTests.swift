// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct ChunkDecoderTests {
    /// The result of decoding the pieces of a body.
    private enum Body: Equatable {
        case complete(String, left: String)
        case incomplete(String)
        case rejected(Int)
    }

    private static func decode(_ pieces: [[UInt8]], status: Int = 400, lineEnd: LineEnd = .crlf) -> Body {
        var decoder = ChunkDecoder(status: status, lineEnd: lineEnd)
        var buffer = ByteBuffer()
        var text: [UInt8] = []
        for piece in pieces {
            buffer.writeBytes(piece)
            do {
                reading: while true {
                    switch try decoder.next(from: &buffer) {
                    case .data(let data): text += data.readableBytesView
                    case .more: break reading
                    case .end:
                        return .complete(
                            String(decoding: text, as: UTF8.self),
                            left: String(decoding: buffer.readableBytesView, as: UTF8.self)
                        )
                    }
                }
            } catch {
                return .rejected(error.status)
            }
        }
        return .incomplete(String(decoding: text, as: UTF8.self))
    }

    @Test(arguments: [
        ("0\n\n", ""), ("5\nhello\n0\n\n", "hello"), ("2\n\r\n\n1\nx\n0\nA: b\n\n", "\r\nx"), ("1;a=b\nx\n0 \n\n", "x"),
    ])
    func `G-08 after a head of LF, the lines of a body end with LF too, at every split`(_ text: String, _ body: String)
    {
        let bytes = Array((text + "GET").utf8)
        for split in 0...text.utf8.count {
            let pieces = [Array(bytes[..<split]), Array(bytes[split...])]
            guard case .complete(let found, _) = Self.decode(pieces, status: 502, lineEnd: .lf) else {
                Issue.record("split at \(split)")
                continue
            }
            #expect(found == body)
        }
        #expect(Self.decode([bytes], status: 502) == .rejected(502))
    }

    @Test(arguments: [
        "5\r\nhello\r\n0\r\n\r\n", "5\nhello\r\n0\n\n", "5\nhello\n0\r\n\r\n", "5\nhello\n0\n\r\n", "\n5\nhello\n0\n\n",
        "5\nhello\n0\nA: b\r\n\n", "5\nhelloX\n0\n\n", "g\n", "\r5\nhello\n0\n\n",
    ])
    func `G-08 a body whose lines end otherwise than those of its head is a 502`(_ text: String) {
        #expect(Self.decode([Array(text.utf8)], status: 502, lineEnd: .lf) == .rejected(502))
        #expect(Self.decode(Array(text.utf8).map { [$0] }, status: 502, lineEnd: .lf) == .rejected(502))
    }

    @Test(arguments: [
        ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("a\r\n0123456789\r\n000\r\n\r\n", "0123456789"), ("0000000000000001\r\nx\r\n0\r\n\r\n", "x"),
        ("2\r\n\r\n\r\n1\r\n0\r\n0\r\n\r\n", "\r\n0"), ("1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", "x"),
        ("1\r\nx\r\n0\r\nX-Forwarded-User: evil\r\n\r\n", "x"),
    ])
    func `S-42 S-47 a body is decoded without its trailers, at every split`(_ text: String, _ body: String) {
        let bytes = Array((text + "GET").utf8)
        let expected = Body.complete(body, left: "GET")
        #expect(Self.decode([bytes]) == expected)
        #expect(Self.decode(bytes.dropLast(3).map { [$0] } + [[]]) == .complete(body, left: ""))
        for split in 0...text.utf8.count {
            guard case .complete(let found, _) = Self.decode([Array(bytes[..<split]), Array(bytes[split...])]) else {
                Issue.record("split at \(split)")
                continue
            }
            #expect(found == body)
        }
    }

    @Test(arguments: [
        Row("S-41", " 1\r\nx\r\n"), Row("S-41", "1 \r\nx\r\n"), Row("S-41", "0x1\r\nx\r\n"), Row("S-41", "+1\r\nx\r\n"),
        Row("S-41", "-1\r\nx\r\n"), Row("S-41", "0_1\r\nx\r\n"), Row("S-41", "\r\nx\r\n"), Row("S-41", "1 ;a\r\nx\r\n"),
        Row("S-41", "10000000000000001\r\nx"), Row("S-42", "00000000000000001\r\nx"), Row("S-41", "g\r\n"),
        Row("S-43", "ffffffffffffffff\r\n", 413), Row("S-43", "8000000000000000\r\n", 413),
        Row("S-44", "1;a=b\r\nx\r\n"), Row("S-44", "1;a=\"b;c\"\r\nx\r\n"), Row("S-44", "1;\r\nx\r\n"),
        Row("S-44", "1;\nx\r\n"), Row("S-44", "0;a\r\n\r\n"), Row("S-46", "1\r\nZxx0\r\n"),
        Row("S-46", "1\r\nZ\n0\r\n\r\n"),
        Row("S-46", "1\r\nZ\r0"), Row("S-18", "1\nZ\r\n"), Row("S-18", "0\n\r\n"), Row("S-18", "0\r\n\n"),
        Row("S-18", "0\r\nA: b\n\r\n"), Row("S-19", "5\r\r;ABCD"), Row("S-19", "1\rx\r\n"),
        Row("S-19", "0\r\nA: b\rc\r\n\r\n"),
        Row("S-48", "0\r\nContent-Length: 5\r\n\r\n"), Row("S-48", "0\r\ntransfer-encoding: chunked\r\n\r\n"),
        Row("S-47", "0\r\nHost: b\r\n\r\n"), Row("S-47", "0\r\nA b\r\n\r\n"), Row("S-17", "0\r\nA: b\r\n c\r\n\r\n"),
        Row("S-47", "0\r\nA: b\\x00\r\n\r\n"), Row("S-22", "0\r\n: b\r\n\r\n"),
    ])
    func `an ambiguous chunk is rejected, at every split`(_ row: Row) {
        #expect(Self.decode([row.bytes]) == .rejected(row.status))
        #expect(Self.decode(row.bytes.map { [$0] }) == .rejected(row.status))
        for split in 0...row.bytes.count {
            #expect(Self.decode([Array(row.bytes[..<split]), Array(row.bytes[split...])]) == .rejected(row.status))
        }
    }

    @Test(arguments: [
        "5;ext=1\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "5\t;a=\"b;c\"\r\nhello\r\n0;last\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 9\r\nX-Any: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nTransfer-Encoding: x\r\nHost: b\r\n\r\n",
    ])
    func `Y-09 chunk extensions, white space and unknown trailers in responses are ignored, at every split`(
        _ text: String
    ) {
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            let pieces = [Array(bytes[..<split]), Array(bytes[split...])]
            #expect(Self.decode(pieces, status: 502) == .complete("hello", left: ""), "split at \(split)")
            guard case .rejected(400) = Self.decode(pieces) else {
                Issue.record("a request with them was accepted, split at \(split)")
                continue
            }
        }
    }

    @Test(arguments: ["5;a\nhello", "5;a\rb\r\nhello", "5;a\u{1}\r\nhello", "5x\r\nhello", "5\n"])
    func `Y-09 an ambiguous chunk extension in a response is a 502`(_ text: String) {
        #expect(Self.decode([Array(text.utf8)], status: 502) == .rejected(502))
    }

    @Test func `Y-09 chunk extensions in responses are limited`() {
        let long = "5;" + String(repeating: "a", count: 5000)
        #expect(Self.decode([Array(long.utf8)], status: 502) == .rejected(502))
        let many = String(repeating: "1;" + String(repeating: "a", count: 100) + "\r\nZ\r\n", count: 2000)
        #expect(Self.decode([Array(many.utf8)], status: 502) == .rejected(502))
    }

    @Test func `S-60 an ambiguous chunk in a response is a 502`() {
        #expect(Self.decode([Array("ffffffffffffffff\r\n".utf8)], status: 502) == .rejected(502))
    }

    @Test func `S-43 a chunk of the maximum size is accepted`() {
        #expect(Self.decode([Array("7fffffffffffffff\r\nab".utf8)]) == .incomplete("ab"))
    }

    @Test func `S-45 one-byte chunks are accepted, but not with lines far longer than the data`() {
        let plain = String(repeating: "1\r\nZ\r\n", count: 100_000) + "0\r\n\r\n"
        #expect(Self.decode([Array(plain.utf8)]) == .complete(String(repeating: "Z", count: 100_000), left: ""))
        let padded = String(repeating: "0000000000000001\r\nZ\r\n", count: 100_000) + "0\r\n\r\n"
        #expect(Self.decode([Array(padded.utf8)]) == .rejected(400))
    }

    @Test func `S-47 trailers are limited, each line and in total`() {
        let line = "A: " + String(repeating: "b", count: 7000) + "\r\n"
        #expect(Self.decode([Array("0\r\n\(line)\r\n".utf8)]) == .complete("", left: ""))
        let all = Self.decode([Array(("0\r\n" + String(repeating: line, count: 6) + "\r\n").utf8)])
        let endless = Self.decode([Array(("0\r\nA: " + String(repeating: "b", count: 9000)).utf8)])
        guard case .rejected = all, case .rejected = endless else {
            Issue.record("\(all) \(endless)")
            return
        }
    }
}
