// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct HTTP2ResponseHeadBuilderTests {
    /// What the fields of an answer become.
    private func head(
        _ lines: [String],
        answering method: RequestMethod = .get,
        endsStream: Bool = false
    ) throws -> ResponseHead {
        let block = HTTP2ResponseHeadBuilder()
        block.begin(names: .answers, into: ByteBuffer())
        for field in Block("", lines).fields {
            block.append(name: field.name.span, value: field.value.span)
        }
        return try block.finish(answering: method, endsStream: endsStream)
    }

    @Test func `a block becomes the head that HTTP 1 would have sent`() throws {
        let head = try self.head([":status: 200", "content-length: 3", "x_a: b"])
        #expect(String(buffer: head.message.bytes) == "HTTP/1.1 200 \r\ncontent-length: 3\r\nx_a: b\r\n\r\n")
        #expect(head.status == 200 && head.framing == .length(3) && head.keepsAlive)
    }

    @Test(arguments: [
        ([":status: 200"], RequestMethod.get, false, BodyFraming.chunked),
        ([":status: 200"], .get, true, .none), ([":status: 200", "content-length: 5"], .head, true, .none),
        ([":status: 304", "content-length: 5"], .get, true, .none), ([":status: 204"], .get, false, .none),
        ([":status: 103"], .get, false, .none),
    ])
    func `the end of the body is the stream's end`(
        lines: [String],
        method: RequestMethod,
        endsStream: Bool,
        framing: BodyFraming
    ) throws {
        #expect(try self.head(lines, answering: method, endsStream: endsStream).framing == framing)
    }

    @Test(arguments: [
        [], ["x-a: b"], [":status: 99"], [":status: 20"], [":status: 2000"], [":status: abc"], [":status: 101"],
        [":status: 200", ":status: 200"], ["x-a: b", ":status: 200"], [":status: 200", ":path: /"],
        [":status: 200", "connection: close"], [":status: 200", "transfer-encoding: chunked"],
        [":status: 200", "X-A: b"], [":status: 200", "a: b\\x0d\\x0ac: d"], [":status: 200", "a: b "],
        [":status: 200", "content-length: 1", "content-length: 2"], [":status: 200", "content-length: 01"],
    ])
    func `H-19 what is no answer is refused with 502`(lines: [String]) {
        let refusal = #expect(throws: WireRejection.self) { try self.head(lines) }
        #expect(refusal?.status == 502)
    }

    @Test func `a length that the stream's end contradicts is refused`() {
        #expect(throws: WireRejection.self) { try self.head([":status: 200", "content-length: 5"], endsStream: true) }
    }

    @Test func `H-18 a trailer section keeps no name that has a meaning`() throws {
        let block = HTTP2ResponseHeadBuilder()
        block.beginTrailer(names: .answers, into: ByteBuffer())
        for field in Block("", ["grpc-status: 0", "content-length: 5", "set-cookie: a=b", "x-gatehouse-a: b"]).fields {
            block.append(name: field.name.span, value: field.value.span)
        }
        #expect(String(buffer: try block.finishTrailer()) == "grpc-status: 0\r\n\r\n")
    }

    @Test func `H-18 a trailer section has no pseudo-fields`() {
        let block = HTTP2ResponseHeadBuilder()
        block.beginTrailer(names: .answers, into: ByteBuffer())
        for field in Block("", [":status: 200"]).fields {
            block.append(name: field.name.span, value: field.value.span)
        }
        #expect(throws: WireRejection.self) { try block.finishTrailer() }
    }
}
