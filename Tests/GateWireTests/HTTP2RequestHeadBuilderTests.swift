// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct HTTP2RequestHeadBuilderTests {
    @Test func `fields become the head that HTTP/1.1 would have`() throws {
        let head = try FieldSection.get("", ["accept: */*", "x-a: b c"], path: "/a/b?c=d", authority: "A.example:8443")
            .head()
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
    func `Z-05: a rejected request still shows whether a browser sent it`(fields: [String]) {
        let builder = HTTP2RequestHeadBuilder(isSecure: true)
        func wantsPage(_ lines: [String]) -> Bool {
            let sent = FieldSection.get("", lines)
            #expect(throws: HTTP2FieldsRejection.self) { try sent.head(by: builder) }
            return builder.wantsPage
        }
        #expect(wantsPage(fields) && !wantsPage(fields.map { $0.replacing("text/html", with: "text/plain") }))
    }

    @Test(arguments: [":method", ":scheme", ":authority", ":path"], [0, 1, 2, 3])
    func `Y-11 a request that is rejected for its size still shows whether its method is HEAD`(name: String, at: Int) {
        let builder = HTTP2RequestHeadBuilder(limits: .request, isSecure: true)
        builder.begin(names: FieldNames(), into: ByteBuffer())
        var fields = [(":method", "HEAD"), (":scheme", "https"), (":authority", "a"), (":path", "/")]
        fields.removeAll { $0.0 == name }
        fields.insert((name, String(repeating: "a", count: 16_380)), at: min(at, fields.count))
        for (name, value) in fields + [("x-a", String(repeating: "b", count: 16_300))] {
            builder.append(name: Array(name.utf8).span, value: Array(value.utf8).span)
        }
        #expect(throws: HTTP2FieldsRejection.self) { try builder.finish(endsStream: true) }
        #expect(!builder.isHead || name != ":method")
    }

    @Test func `the table of field lines equals that of the HTTP/1.1 parser for the same bytes`() throws {
        let fields = ["cookie: a=b", "x-forwarded-for: evil", "x-b: c", "authorization: d"]
        let head = try FieldSection.get("", fields).head()
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
    func `the body ends with the stream`(more: [String], endsStream: Bool, framing: BodyFraming) throws {
        let head = try FieldSection.get("", more, method: "POST", endsStream: endsStream).head()
        #expect(head.framing == framing)
    }

    @Test func `H-10 cookie crumbs are joined to one field`() throws {
        let head = try FieldSection.get("", ["cookie: a=1", "x-a: b", "cookie: c=2", "cookie: d=3"]).head()
        #expect(head.message.count(.cookie) == 1 && head.message.value(.cookie) == "a=1; c=2; d=3")
    }

    @Test func `H-10 joined crumbs over the limit of one field are rejected`() {
        let some = FieldSection.get("", (0..<500).map { "cookie: a\($0)=b" })
        #expect(some.text().hasPrefix("GET /p HTTP/1.1\r\n"))
        var limits = HeadLimits.request
        limits.fieldBytes = 1000
        #expect(some.text(limits) == "431 wire.field_too_large")
    }

    @Test(arguments: ["host: a", "host: A", "host: a."])
    func `H-08 a host equal to the authority is dropped`(line: String) throws {
        let head = try FieldSection.get("", [line]).head()
        #expect(head.message.count(.host) == 1 && head.authority.text == "a")
    }

    @Test func `H-08 a host without authority is the authority`() throws {
        let head = try FieldSection("", [":method: GET", ":scheme: https", ":path: /", "host: b"]).head()
        #expect(head.authority.text == "b")
    }

    @Test func `OPTIONS may have the asterisk as its path`() throws {
        #expect(try FieldSection.get("S-29", method: "OPTIONS", path: "*").head().isAsterisk)
    }

    @Test func `te may be trailers`() throws {
        #expect(try FieldSection.get("H-04", ["te: trailers"]).head().message.count(.te) == 1)
    }

    @Test(arguments: RejectedHTTP2Fields.malformed)
    func `a malformed request is reset`(section: FieldSection) {
        #expect(section.text().hasPrefix("reset "), "\(section.text())")
    }

    @Test(arguments: RejectedHTTP2Fields.rejected)
    func `a request that HTTP/1.1 rejects is rejected with the same status`(section: FieldSection) {
        #expect(section.text().hasPrefix("\(section.status) "), "\(section.text())")
    }

    @Test func `H-15 fields count with their decoded length and 32 bytes each`() {
        let line = "x-a: " + String(repeating: "b", count: 400)
        #expect(FieldSection.get("", Array(repeating: line, count: 60)).text().hasPrefix("GET "))
        #expect(FieldSection.get("", Array(repeating: line, count: 80)).text() == "431 wire.head_too_large")
        #expect(FieldSection.get("", Array(repeating: "x-a: b", count: 100)).text() == "431 wire.too_many_fields")
    }

    @Test func `H-15 fields far over the limit are a bomb`() {
        let builder = HTTP2RequestHeadBuilder(isSecure: true)
        builder.begin(names: FieldNames(), into: ByteBuffer())
        let (name, value) = (Array("x-a".utf8), [UInt8](repeating: 0x61, count: 4000))
        for _ in 0..<40 {
            builder.append(name: name.span, value: value.span)
        }
        #expect(!builder.isBomb)
        for _ in 0..<40 {
            builder.append(name: name.span, value: value.span)
        }
        #expect(builder.isBomb)
    }

    @Test func `a request after a rejected one is parsed like a first one`() throws {
        let builder = HTTP2RequestHeadBuilder(isSecure: true)
        #expect(throws: HTTP2FieldsRejection.self) { try FieldSection.get("", ["connection: close"]).head(by: builder) }
        let head = try FieldSection.get("", ["cookie: a=b"], path: "/second").head(by: builder)
        #expect(head.target == "/second" && head.message.fields.count == 2)
    }
}
