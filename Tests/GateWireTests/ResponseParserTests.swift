// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct ResponseParserTests {
    private static func read(
        _ bytes: [[UInt8]],
        for method: RequestMethod = .get
    ) throws(WireRejection) -> ResponseHead? {
        let parser = ResponseParser(names: .response)
        var buffer = ByteBuffer()
        for piece in bytes {
            buffer.writeBytes(piece)
            if let head = try parser.head(from: &buffer, for: method) { return head }
        }
        return nil
    }

    private static func head(_ text: String, for method: RequestMethod = .get) throws -> ResponseHead {
        try #require(try self.read([wire(text)], for: method))
    }

    @Test func `G-09 a response may have a thousand fields, and no more`() throws {
        func text(_ count: Int) -> String {
            "HTTP/1.1 200 OK\r\n\((0..<count).map { "A\($0): b\r\n" }.joined())\r\n"
        }
        #expect(try Self.head(text(1000)).message.fields.count == 1000)
        #expect { try Self.read([wire(text(1001))]) } throws: { ($0 as? WireRejection)?.status == 502 }
    }

    @Test(arguments: [
        ("200 OK\r\nContent-Length: 5\r\n", RequestMethod.get, BodyFraming.length(5)),
        ("200 OK\r\nContent-Length: 0\r\n", .get, .none), ("200 OK\r\n", .get, .untilClose),
        ("200 OK\r\nTransfer-Encoding: Chunked\r\n", .get, .chunked), ("200 OK\r\nContent-Length: 5\r\n", .head, .none),
        ("200 OK\r\nTransfer-Encoding: chunked\r\n", .head, .none), ("200 OK\r\n", .head, .none),
        ("204 No Content\r\n", .get, .none), ("204 No Content\r\nContent-Length: 5\r\n", .get, .none),
        ("304 Not Modified\r\nContent-Length: 5\r\n", .get, .none), ("100 Continue\r\n", .post, .none),
        ("404\r\nContent-Length: 1\r\n", .get, .length(1)), ("500 \r\n", .get, .untilClose),
    ])
    func `S-63 the framing of a response is that of RFC 9112`(
        _ text: String,
        _ method: RequestMethod,
        _ framing: BodyFraming
    ) throws {
        #expect(try Self.head("HTTP/1.1 \(text)\r\n", for: method).framing == framing)
    }

    @Test(arguments: [
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\n A: b\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length: 01\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nA: b\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\nA: b\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nA: b\\x00c\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\n: b\r\n\r\n"),
        Row("S-60", "HTTP/1.1 200 OK\r\nA\r\n\r\n"),
        Row("S-61", "HTTP/1.1 200 OK\r\nTransfer-Encoding: cow\r\n\r\n"),
        Row("S-61", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
        Row("S-61", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
        Row("S-61", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Row("S-61", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        Row("S-63", "HTTP/1.1 099 OK\r\n\r\n"),
        Row("S-63", "HTTP/1.1 200 a\\x01b\r\n\r\n"), Row("S-63", "HTTP/1.1 20 OK\r\n\r\n"),
        Row("S-63", "HTTP/1.1 2000 OK\r\n\r\n"), Row("S-63", "HTTP/1.1  200 OK\r\n\r\n"),
        Row("S-63", "HTTP/2.0 200 OK\r\n\r\n"), Row("S-63", "HTTP/1.2 200 OK\r\n\r\n"),
        Row("S-63", "http/1.1 200 OK\r\n\r\n"),
        Row("S-63", "ICY 200 OK\r\n\r\n"), Row("S-64", "\r\nHTTP/1.1 200 OK\r\n\r\n"),
        Row("S-63", "HTTP/1.1 -20 OK\r\n\r\n"),
        Row("S-63", "HTTP/1.1\t200 OK\r\n\r\n"), Row("S-63", "<html>hello</html>\r\n\r\n"),
    ])
    func `an ambiguous response is a 502, at once and byte by byte`(_ row: Row) {
        #expect { try Self.read([row.bytes]) } throws: { ($0 as? WireRejection)?.status == 502 }
        #expect { try Self.read(row.bytes.map { [$0] }) } throws: { ($0 as? WireRejection)?.status == 502 }
    }

    @Test func `G-08 a response whose lines all end with LF is read at every split, and its connection is not kept`()
        throws
    {
        let bytes = wire("HTTP/1.1 200 OK\nServer: device\nContent-Length: 4\nConnection: keep-alive\n\na\r\n\n")
        for split in 0...bytes.count {
            let parser = ResponseParser(names: .response)
            var buffer = ByteBuffer(bytes: bytes[..<split])
            var found = try parser.head(from: &buffer, for: .get)
            buffer.writeBytes(bytes[split...])
            if found == nil { found = try parser.head(from: &buffer, for: .get) }
            let head = try #require(found)
            #expect(head.status == 200 && head.framing == .length(4) && head.lineEnd == .lf && !head.keepsAlive)
            #expect(head.message.fields.map { head.message.text($0.valueRange) } == ["device", "4", "keep-alive"])
            #expect(String(buffer: head.message.bytes).hasSuffix("\r\nConnection: keep-alive\r\n\r\n"))
            #expect(String(buffer: buffer) == "a\r\n\n", "split at \(split)")
        }
    }

    @Test(arguments: [
        ("HTTP/1.0 200 OK\n\n", BodyFraming.untilClose), ("HTTP/1.1 204 No Content\n\n", .none),
        ("HTTP/1.1 200\nTransfer-Encoding: chunked\n\n", .chunked), ("HTTP/1.1 200 OK\nA: b\n c\n\n", .untilClose),
    ])
    func `G-08 its framing follows the same rules`(text: String, framing: BodyFraming) throws {
        let head = try Self.head(text)
        #expect(head.framing == framing && head.lineEnd == .lf)
        #expect(!String(buffer: head.message.bytes).split(separator: "\r\n").contains { $0.contains("\n") })
    }

    /// A value with a line break of its own looks like this.
    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nA: b\nSet-Cookie: c=d\r\n\r\n", "HTTP/1.1 200 OK\nA: b\r\nC: d\n\n",
        "HTTP/1.1 200 OK\nA: b\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n\n", "HTTP/1.1 200 OK\r\n\nA: b\r\n\r\n",
        "HTTP/1.1 200 OK\nA: b\rc\n\n", "HTTP/1.1 200 OK\n\r\n", "HTTP/1.1 200 OK\n\rA: b\n\n",
        "HTTP/1.1 200 OK\r\r\n\r\n",
        "HTTP/1.1 200 OK\nA : b\n\n", "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n",
        "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\n", "\nHTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 OK\nA: b\u{0}c\n\n", "HTTP/1.1 200 OK\n b\n\n",
    ])
    func `G-08 line ends that differ, and all else that can be read in two ways, are a 502`(text: String) {
        let bytes = Array(text.utf8)
        #expect { try Self.read([bytes]) } throws: { ($0 as? WireRejection)?.status == 502 }
        #expect { try Self.read(bytes.map { [$0] }) } throws: { ($0 as? WireRejection)?.status == 502 }
    }

    @Test func `G-08 a head of LF is limited in size, as others are`() {
        let line = "A: " + String(repeating: "b", count: 30 * 1024) + "\n"
        for text in [
            "HTTP/1.1 200 OK\n\(line)\(line)\(line)\n", "HTTP/1.1 200 OK\nA: \(String(repeating: "b", count: 70_000))",
        ] {
            #expect { try Self.read([Array(text.utf8)]) } throws: { ($0 as? WireRejection)?.status == 502 }
        }
    }

    @Test(arguments: [
        ("403 ssl required", "403 ssl required"), ("200 OK", "200 OK"), ("200 ok", "200 ok"), ("404", "404 Not Found"),
        ("404 ", "404 Not Found"), ("500 Gr\\xfc\\xdf a\tb", "500 Gr\\xfc\\xdf a\tb"), ("799 Odd", "799 Odd"),
        ("799", "799 "),
        ("400 \(String(repeating: "x", count: 255))", "400 \(String(repeating: "x", count: 255))"),
        ("400 \(String(repeating: "x", count: 256))", "400 Bad Request"),
    ])
    func `N-07 the reason phrase of the app is written again, up to 255 bytes`(received: String, sent: String) throws {
        for (version, end) in [("1.1", "\r\n"), ("1.0", "\r\n"), ("1.1", "\n")] {
            let head = try Self.head("HTTP/\(version) \(received)\(end)\(end)")
            let written = HeadWriter.head(into: ByteBuffer()) { $0.writeStatusLine(of: head) }
            #expect(Array(written.readableBytesView) == wire("HTTP/1.1 \(sent)\r\n\r\n"))
        }
    }

    @Test func `Y-09 a length that is repeated with the same value counts once`() throws {
        let head = try Self.head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\nContent-Length: 5\r\n\r\n")
        #expect(head.framing == .length(5))
    }

    @Test(arguments: [600, 799, 999])
    func `Y-09 an unregistered status is accepted`(_ status: Int) throws {
        #expect(try Self.head("HTTP/1.1 \(status) Odd\r\nContent-Length: 0\r\n\r\n").status == status)
    }

    @Test func `Y-09 folded lines are unfolded, at every split, and the body is unchanged`() throws {
        let bytes = wire("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\td\r\nTransfer-Encoding:\r\n chunked\r\n\r\n\r\n x")
        for split in 0...bytes.count {
            let parser = ResponseParser(names: .response)
            var buffer = ByteBuffer(bytes: bytes[..<split])
            var found = try parser.head(from: &buffer, for: .get)
            buffer.writeBytes(bytes[split...])
            if found == nil { found = try parser.head(from: &buffer, for: .get) }
            let head = try #require(found)
            #expect(head.framing == .chunked)
            #expect(head.message.text(head.message.fields[0].valueRange) == "b   c  \td")
            #expect(String(buffer: buffer) == "\r\n x", "split at \(split)")
        }
    }

    @Test func `S-23 a response may have every token character in names and bytes above 7F in values`() throws {
        let head = try Self.head("HTTP/1.1 200 Gr\\xfc\\xdf\r\nX_a.b!: \\x80\r\n\r\n")
        #expect(head.message.text(head.message.fields[0].nameRange) == "X_a.b!")
    }

    @Test func `a response parsed at any split equals the response parsed at once`() throws {
        let bytes = wire("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 3\r\nConnection: close\r\n\r\n")
        for split in 0...bytes.count {
            let head = try #require(try Self.read([Array(bytes[..<split]), Array(bytes[split...])]))
            #expect(head.status == 302)
            #expect(head.framing == .length(3))
            #expect(!head.keepsAlive)
            #expect(head.message.fields.count == 3)
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false), ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true),
    ])
    func `version and connection options of a response decide whether the connection is kept`(
        _ version: String,
        _ line: String,
        _ keeps: Bool
    ) throws {
        #expect(try Self.head("\(version) 200 OK\r\n\(line)Content-Length: 0\r\n\r\n").keepsAlive == keeps)
    }

    @Test func `S-62 interim responses are detected`() throws {
        #expect(try Self.head("HTTP/1.1 103 Early Hints\r\n\r\n").isInterim)
        #expect(try !Self.head("HTTP/1.1 200 OK\r\n\r\n").isInterim)
    }

    @Test func `the head of a response is limited in fields, line and size`() {
        let many = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 1001) + "\r\n"
        let long = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 33 * 1024) + "\r\n\r\n"
        let line = "A: " + String(repeating: "b", count: 30 * 1024) + "\r\n"
        let large = "HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 3) + "\r\n"
        let endless = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 66 * 1024)
        let reason = "HTTP/1.1 200 " + String(repeating: "b", count: 2000) + "\r\n\r\n"
        for text in [many, long, large, endless, reason] {
            #expect { try Self.read([Array(text.utf8)]) } throws: { ($0 as? WireRejection)?.status == 502 }
        }
        let fits = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 1000) + "\r\n"
        #expect(throws: Never.self) { try Self.read([Array(fits.utf8)]) }
    }
}
