// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct BodyReaderTests {
    private static func text(_ part: ChunkDecoder.Part) -> String {
        switch part {
        case .data(let data): String(decoding: data.readableBytesView, as: UTF8.self)
        case .end: "<end>"
        case .more: "<more>"
        }
    }

    @Test func `a body of a length ends with its last byte`() throws {
        var reader = BodyReader(.length(5), status: 400)
        var buffer = ByteBuffer(string: "hel")
        #expect(Self.text(try reader.next(from: &buffer)) == "hel")
        #expect(Self.text(try reader.next(from: &buffer)) == "<more>")
        #expect(!reader.isComplete)
        buffer.writeString("loGET")
        #expect(Self.text(try reader.next(from: &buffer)) == "lo")
        #expect(reader.isComplete)
        #expect(Self.text(try reader.next(from: &buffer)) == "<end>")
        #expect(buffer.readableBytes == 3)
    }

    @Test func `without a body no byte is consumed`() throws {
        var reader = BodyReader(.none, status: 400)
        var buffer = ByteBuffer(string: "GET")
        #expect(reader.isComplete)
        #expect(Self.text(try reader.next(from: &buffer)) == "<end>")
        #expect(buffer.readableBytes == 3)
    }

    @Test func `a body until close ends only with the connection`() throws {
        var reader = BodyReader(.untilClose, status: 502)
        var buffer = ByteBuffer(string: "0\r\n\r\n")
        #expect(Self.text(try reader.next(from: &buffer)) == "0\r\n\r\n")
        #expect(Self.text(try reader.next(from: &buffer)) == "<more>")
        #expect(!reader.isComplete)
        #expect(reader.endsWithConnection)
        #expect(!BodyReader(.length(1), status: 502).endsWithConnection)
    }

    @Test func `a chunked body ends with its last chunk`() throws {
        var reader = BodyReader(.chunked, status: 400)
        var buffer = ByteBuffer(string: "2\r\nhi\r\n0\r\n\r\nGET")
        #expect(Self.text(try reader.next(from: &buffer)) == "hi")
        #expect(Self.text(try reader.next(from: &buffer)) == "<end>")
        #expect(buffer.readableBytes == 3)
    }
}
