// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateTracing

/// Against bytes computed by hand from the `.proto` files and the encoding rules of protocol buffers.
@Suite struct OTLPEncoderTests {
    @Test func `a batch is one resource, one scope and its spans`() throws {
        let context = TraceContext(
            trace: try #require(TraceID(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C_0D0E_0F10)),
            span: try #require(SpanID(0x1112_1314_1516_1718)),
            isSampled: true
        )
        var span = TraceSpan(
            "n",
            .server,
            context: context,
            parent: SpanID(0x2122_2324_2526_2728),
            isParentRemote: true,
            began: 0x0807_0605_0403_0201
        )
        span.ended = 0x0807_0605_0403_0202
        span.set(.urlPath, "/")
        span.set(.responseStatus, 500)
        span.fail("500")
        let encoder = OTLPEncoder(resource: [(key: "k", value: "v")], version: "1")
        var expected: [UInt8] = [0x0A, 0xB1, 0x01]
        expected += [0x0A, 0x0A, 0x0A, 0x08, 0x0A, 0x01, 0x6B, 0x12, 0x03, 0x0A, 0x01, 0x76]
        expected += [0x12, 0xA2, 0x01]
        expected += [0x0A, 0x0E, 0x0A, 0x09] + Array("gatehouse".utf8) + [0x12, 0x01, 0x31]
        expected += [0x12, 0x8F, 0x01]
        expected += [0x0A, 0x10] + (0x01...0x10)
        expected += [0x12, 0x08] + (0x11...0x18)
        expected += [0x22, 0x08] + (0x21...0x28)
        expected += [0x2A, 0x01, 0x6E, 0x30, 0x02]
        expected += [0x39] + (0x01...0x08)
        expected += [0x41, 0x02] + (0x02...0x08)
        expected += [0x4A, 0x0F, 0x0A, 0x08] + Array("url.path".utf8) + [0x12, 0x03, 0x0A, 0x01, 0x2F]
        expected += [0x4A, 0x20, 0x0A, 0x19] + Array("http.response.status_code".utf8)
        expected += [0x12, 0x03, 0x18, 0xF4, 0x03]
        expected += [0x4A, 0x13, 0x0A, 0x0A] + Array("error.type".utf8) + [0x12, 0x05, 0x0A, 0x03, 0x35, 0x30, 0x30]
        expected += [0x7A, 0x02, 0x18, 0x02]
        expected += [0x85, 0x01, 0x01, 0x03, 0x00, 0x00]
        #expect(encoder.request(for: [span]) == expected)
    }

    @Test func `the first span of a trace has no parent and no status`() throws {
        let context = TraceContext(
            trace: try #require(TraceID(high: 0, low: 1)),
            span: try #require(SpanID(2)),
            isSampled: true
        )
        var span = TraceSpan("a", .inside, context: context, parent: nil, began: 5)
        // A clock that was set back in between.
        span.ended = 4
        var expected: [UInt8] = [0x0A, 0x4E, 0x0A, 0x00, 0x12, 0x4A]
        expected += [0x0A, 0x0D, 0x0A, 0x09] + Array("gatehouse".utf8) + [0x12, 0x00]
        expected += [0x12, 0x39]
        expected += [0x0A, 0x10] + [UInt8](repeating: 0, count: 15) + [0x01]
        expected += [0x12, 0x08, 0, 0, 0, 0, 0, 0, 0, 0x02]
        expected += [0x2A, 0x01, 0x61, 0x30, 0x01]
        expected += [0x39, 0x05, 0, 0, 0, 0, 0, 0, 0]
        expected += [0x41, 0x05, 0, 0, 0, 0, 0, 0, 0]
        expected += [0x85, 0x01, 0x01, 0x01, 0x00, 0x00]
        #expect(OTLPEncoder(resource: [], version: "").request(for: [span]) == expected)
    }

    @Test func `a text is cut off between characters, before 1024 bytes are exceeded`() throws {
        let context = TraceContext(trace: .random(), span: .random(), isSampled: true)
        var span = TraceSpan("a", .inside, context: context, parent: nil, began: 0)
        span.set(.urlPath, "/" + String(repeating: "é", count: 600))
        #expect(span.attributes.first?.value == .text("/" + String(repeating: "é", count: 511)))
    }
}
