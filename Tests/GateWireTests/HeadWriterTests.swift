// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

@Suite struct HeadWriterTests {
    private static func text(_ write: (inout HeadWriter) -> Void) -> String {
        String(buffer: HeadWriter.head(into: ByteBuffer(), write))
    }

    @Test(arguments: [
        ("GET /a HTTP/1.1", "GET /a HTTP/1.1"), ("GET /a/../b?c#".dropLast() + " HTTP/1.0", "GET /b?c HTTP/1.1"),
        ("POST http://a HTTP/1.1", "POST / HTTP/1.1"), ("OPTIONS * HTTP/1.1", "OPTIONS * HTTP/1.1"),
        ("GET /? HTTP/1.1", "GET /? HTTP/1.1"), ("GET /%7ea HTTP/1.1", "GET /~a HTTP/1.1"),
    ])
    func `the path that was matched is the path that is written`(_ received: String, _ written: String) throws {
        let head = try accepted("\(received)\r\nHost: a\r\n\r\n")
        #expect(Self.text { $0.writeRequestLine(of: head) } == "\(written)\r\n\r\n")
    }

    @Test(arguments: [
        ("/wiki", "/"), ("/wiki/", "/"), ("/wiki/a?b", "/a?b"), ("/wiki?", "/?"), ("/x/../wiki/%61", "/a"),
        ("/%77iki", "/"),
    ])
    func `the path after a prefix is written, at least a slash`(
        _ received: String,
        _ written: String
    ) throws {
        let head = try accepted("GET \(received) HTTP/1.1\r\nHost: a\r\n\r\n")
        let mapping = PathMapping([.init(from: "/wiki", to: "/")])
        #expect(Self.text { $0.writeRequestLine(of: head, mappedBy: mapping) } == "GET \(written) HTTP/1.1\r\n\r\n")
    }

    @Test func `kept lines are copied byte by byte, others are left out`() throws {
        let head = try accepted(
            "GET / HTTP/1.1\r\nHost: a\r\nA:  1 \r\nB: 2\r\nX-Forwarded-User: evil\r\nc: 3\r\nX-Real-Ip: x\r\nD:\r\n\r\n"
        )
        let others = Self.text { $0.copyLines(of: head.message) { $0.name == .other } }
        #expect(others == "A:  1 \r\nB: 2\r\nc: 3\r\nD:\r\n\r\n")
        #expect(Self.text { $0.copyLines(of: head.message) { _ in false } } == "\r\n")
        let all = Self.text { $0.copyLines(of: head.message) { _ in true } }
        #expect(all.hasPrefix("Host: a\r\nA:  1 \r\n"))
    }

    @Test func `a head from the middle of a buffer is copied`() throws {
        var parser = RequestParser.plain()
        var buffer = ByteBuffer(
            string: "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2/./ HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n"
        )
        _ = try parser.head(from: &buffer)
        let head = try #require(try parser.head(from: &buffer))
        let written = Self.text { writer in
            writer.writeRequestLine(of: head)
            writer.copyLines(of: head.message) { _ in true }
        }
        #expect(written == "GET /2/ HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n")
    }

    @Test(arguments: [
        (BodyFraming.none, ""), (.untilClose, ""), (.length(7), "Content-Length: 7\r\n"),
        (.chunked, "Transfer-Encoding: chunked\r\n"),
    ])
    func `a message gets at most one framing line`(_ framing: BodyFraming, _ line: String) {
        #expect(Self.text { $0.writeFraming(framing) } == "\(line)\r\n")
    }

    @Test func `S-63 Y-12 the reason phrase is the registered one, or empty`() {
        let lines = Self.text { writer in
            for status in [200, 404, 299] { writer.writeStatusLine(status) }
        }
        #expect(lines == "HTTP/1.1 200 OK\r\nHTTP/1.1 404 Not Found\r\nHTTP/1.1 299 \r\n\r\n")
    }

    @Test(arguments: [0, 1, 100, 235, 236, 237, 255, 256, 257, 1000, 70_000])
    func `a head is complete, whatever the capacity of its buffer`(length: Int) {
        let value = String(repeating: "v", count: length)
        for capacity in [0, 16, 256, 512, 4096] {
            var buffer = ByteBufferAllocator().buffer(capacity: capacity)
            buffer.writeString("before ")
            let head = HeadWriter.head(into: buffer) { writer in
                writer.writeLine("A", value)
                writer.write("B: \(value)\r\n")
                writer.writeLiteral("C: end\r\n")
            }
            #expect(String(buffer: head) == "before A: \(value)\r\nB: \(value)\r\nC: end\r\n\r\n")
        }
    }

    @Test func `a rejection has no received text`() {
        #expect(WireRejection.malformed(.requestTarget) == WireRejection(.requestTarget))
    }
}
