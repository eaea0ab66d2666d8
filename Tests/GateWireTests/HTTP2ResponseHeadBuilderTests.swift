// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct HTTP2ResponseHeadBuilderTests {
    /// The head of the fields.
    private func head(
        _ lines: [String],
        for method: RequestMethod = .get,
        endsStream: Bool = false
    ) throws -> ResponseHead {
        let builder = HTTP2ResponseHeadBuilder()
        builder.begin(names: .response, into: ByteBuffer())
        for field in FieldSection("", lines).fields {
            builder.append(name: field.name.span, value: field.value.span)
        }
        return try builder.finish(for: method, endsStream: endsStream)
    }

    @Test func `fields become the head that HTTP/1.1 would have`() throws {
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
    func `the body ends with the stream`(
        lines: [String],
        method: RequestMethod,
        endsStream: Bool,
        framing: BodyFraming
    ) throws {
        #expect(try self.head(lines, for: method, endsStream: endsStream).framing == framing)
    }

    @Test(arguments: [
        [], ["x-a: b"], [":status: 99"], [":status: 20"], [":status: 2000"], [":status: abc"], [":status: 101"],
        [":status: 200", ":status: 200"], ["x-a: b", ":status: 200"], [":status: 200", ":path: /"],
        [":status: 200", "connection: close"], [":status: 200", "transfer-encoding: chunked"],
        [":status: 200", "X-A: b"], [":status: 200", "a: b\\x0d\\x0ac: d"], [":status: 200", "a: b "],
        [":status: 200", "content-length: 1", "content-length: 2"], [":status: 200", "content-length: 01"],
    ])
    func `H-19 a malformed response is rejected with 502`(lines: [String]) {
        let rejection = #expect(throws: WireRejection.self) { try self.head(lines) }
        #expect(rejection?.status == 502)
    }

    @Test func `a length that contradicts the end of the stream is rejected`() {
        #expect(throws: WireRejection.self) { try self.head([":status: 200", "content-length: 5"], endsStream: true) }
    }

    @Test func `H-18 fields with a meaning are removed from a trailer section`() throws {
        let builder = HTTP2ResponseHeadBuilder()
        builder.beginTrailer(names: .response, into: ByteBuffer())
        for field in FieldSection("", ["grpc-status: 0", "content-length: 5", "set-cookie: a=b", "x-gatehouse-a: b"])
            .fields
        {
            builder.append(name: field.name.span, value: field.value.span)
        }
        #expect(String(buffer: try builder.finishTrailer()) == "grpc-status: 0\r\n\r\n")
    }

    @Test func `H-18 a trailer section has no pseudo-header fields`() {
        let builder = HTTP2ResponseHeadBuilder()
        builder.beginTrailer(names: .response, into: ByteBuffer())
        for field in FieldSection("", [":status: 200"]).fields {
            builder.append(name: field.name.span, value: field.value.span)
        }
        #expect(throws: WireRejection.self) { try builder.finishTrailer() }
    }
}
