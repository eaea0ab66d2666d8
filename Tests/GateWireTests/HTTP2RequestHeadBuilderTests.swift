// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct HTTP2RequestHeadBuilderTests {
    @Test func `a block becomes the head that HTTP 1 would have sent`() throws {
        let head = try Block.get("", ["accept: */*", "x-a: b c"], path: "/a/b?c=d", authority: "A.example:8443").head()
        #expect(
            String(buffer: head.message.bytes)
                == "GET /a/b?c=d HTTP/1.1\r\nhost: A.example:8443\r\naccept: */*\r\nx-a: b c\r\n\r\n"
        )
        #expect(head.method == .get && head.target == "/a/b?c=d" && head.authority.text == "a.example:8443")
        #expect(head.framing == .none && head.minorVersion == 1 && head.keepsAlive && !head.expectsContinue)
        #expect(head.message.value(.accept) == "*/*" && head.message.fields.count == 3)
    }

    @Test(arguments: [
        ["content_length: 1", "accept: text/html"], ["accept: text/html", "content_length: 1"],
        ["accept: text/html", "expect: something"], ["content-length: 1", "content-length: 2", "accept: text/html"],
    ])
    func `Z-05: a rejected block still tells whether a browser sent it`(fields: [String]) {
        let block = HTTP2RequestHeadBuilder(isSecure: true)
        func wantsPage(_ lines: [String]) -> Bool {
            let sent = Block.get("", lines)
            #expect(throws: HTTP2FieldsRejection.self) { try sent.head(by: block) }
            return block.wantsPage
        }
        #expect(wantsPage(fields) && !wantsPage(fields.map { $0.replacing("text/html", with: "text/plain") }))
    }

    @Test(arguments: [":method", ":scheme", ":authority", ":path"], [0, 1, 2, 3])
    func `Y-11 a block that is rejected for its size still says whether it asks with HEAD`(name: String, at: Int) {
        let block = HTTP2RequestHeadBuilder(limits: .request, isSecure: true)
        block.begin(names: FieldNames(), into: ByteBuffer())
        var fields = [(":method", "HEAD"), (":scheme", "https"), (":authority", "a"), (":path", "/")]
        fields.removeAll { $0.0 == name }
        fields.insert((name, String(repeating: "a", count: 16_380)), at: min(at, fields.count))
        for (name, value) in fields + [("x-a", String(repeating: "b", count: 16_300))] {
            block.append(name: Array(name.utf8).span, value: Array(value.utf8).span)
        }
        #expect(throws: HTTP2FieldsRejection.self) { try block.finish(endsStream: true) }
        #expect(!block.isHead || name != ":method")
    }

    @Test func `the table says the same as the parser of HTTP 1 does of the same bytes`() throws {
        let fields = ["cookie: a=b", "x-forwarded-for: evil", "x-b: c", "authorization: d"]
        let head = try Block.get("", fields).head()
        var bytes = head.message.bytes
        var parser = RequestParser(names: FieldNames(), isSecure: true)
        let other = try #require(try parser.head(from: &bytes))
        func row(_ slot: FieldLine) -> [Int] {
            [slot.start, slot.nameEnd, slot.valueStart, slot.valueEnd, slot.end].map(Int.init) + [
                Int(slot.name.rawValue)
            ]
        }
        #expect(head.message.fields.map(row) == other.message.fields.map(row))
        #expect(head.message.count(.managed) + head.message.count(.xForwardedFor) == 1)
    }

    @Test(arguments: [
        (["content-length: 5"], false, BodyFraming.length(5)), ([], false, .chunked), ([], true, .none),
        (["content-length: 0"], false, .none), (["content-length: 0"], true, .none),
    ])
    func `the end of the body is the stream's end`(more: [String], endsStream: Bool, framing: BodyFraming) throws {
        let head = try Block.get("", more, method: "POST", endsStream: endsStream).head()
        #expect(head.framing == framing)
    }

    @Test func `H-10 crumbs of cookies are joined into one field`() throws {
        let head = try Block.get("", ["cookie: a=1", "x-a: b", "cookie: c=2", "cookie: d=3"]).head()
        #expect(head.message.count(.cookie) == 1 && head.message.value(.cookie) == "a=1; c=2; d=3")
    }

    @Test func `H-10 many crumbs are within the limits of one field, or refused`() {
        let some = Block.get("", (0..<500).map { "cookie: a\($0)=b" })
        #expect(some.text().hasPrefix("GET /p HTTP/1.1\r\n"))
        var limits = HeadLimits.request
        limits.fieldBytes = 1000
        #expect(some.text(limits) == "431 wire.field_too_large")
    }

    @Test(arguments: ["host: a", "host: A", "host: a."])
    func `H-08 a host that means the same is dropped`(line: String) throws {
        let head = try Block.get("", [line]).head()
        #expect(head.message.count(.host) == 1 && head.authority.text == "a")
    }

    @Test func `H-08 a host alone is the authority`() throws {
        let head = try Block("", [":method: GET", ":scheme: https", ":path: /", "host: b"]).head()
        #expect(head.authority.text == "b")
    }

    @Test func `OPTIONS may ask for the server as a whole`() throws {
        #expect(try Block.get("S-29", method: "OPTIONS", path: "*").head().isAsterisk)
    }

    @Test func `te may say trailers`() throws {
        #expect(try Block.get("H-04", ["te: trailers"]).head().message.count(.te) == 1)
    }

    @Test(arguments: RejectedHTTP2Fields.malformed)
    func `what is no request is reset`(block: Block) {
        #expect(block.text().hasPrefix("reset "), "\(block.text())")
    }

    @Test(arguments: RejectedHTTP2Fields.refused)
    func `what HTTP 1 would refuse is refused with the same status`(block: Block) {
        #expect(block.text().hasPrefix("\(block.status) "), "\(block.text())")
    }

    @Test func `H-15 fields are counted as decoded, with 32 bytes for each`() {
        let line = "x-a: " + String(repeating: "b", count: 400)
        #expect(Block.get("", Array(repeating: line, count: 60)).text().hasPrefix("GET "))
        #expect(Block.get("", Array(repeating: line, count: 80)).text() == "431 wire.head_too_large")
        #expect(Block.get("", Array(repeating: "x-a: b", count: 100)).text() == "431 wire.too_many_fields")
    }

    @Test func `H-15 a block that goes on far beyond the limit is a bomb`() {
        let block = HTTP2RequestHeadBuilder(isSecure: true)
        block.begin(names: FieldNames(), into: ByteBuffer())
        let (name, value) = (Array("x-a".utf8), [UInt8](repeating: 0x61, count: 4000))
        for _ in 0..<40 {
            block.append(name: name.span, value: value.span)
        }
        #expect(!block.isBomb)
        for _ in 0..<40 {
            block.append(name: name.span, value: value.span)
        }
        #expect(block.isBomb)
    }

    @Test func `a block after one that was refused is read as if it were the first`() throws {
        let block = HTTP2RequestHeadBuilder(isSecure: true)
        #expect(throws: HTTP2FieldsRejection.self) { try Block.get("", ["connection: close"]).head(by: block) }
        let head = try Block.get("", ["cookie: a=b"], path: "/second").head(by: block)
        #expect(head.target == "/second" && head.message.fields.count == 2)
    }
}
