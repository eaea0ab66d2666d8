// SPDX-License-Identifier: Apache-2.0

internal import GateWire
package import HTTPTypes
internal import NIOCore

/// A response of the gateway itself, complete with its body.
package struct Response: Sendable {
    /// Status and fields; framing and connection fields are added when it is sent.
    package var head: HTTPResponse
    /// The body.
    package var body: [UInt8]

    /// A response; without a `Cache-Control` field it gets `no-store`.
    package init(_ status: Int, fields: HTTPFields = [:], body: [UInt8] = []) {
        var all = fields
        if all[.cacheControl] == nil { all[.cacheControl] = "no-store" }
        self.head = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: all)
        self.body = body
    }

    /// A plain-text response.
    package static func text(_ status: Int, _ text: String) -> Response {
        Response(status, fields: [.contentType: "text/plain; charset=utf-8"], body: Array(text.utf8))
    }

    /// The encoded response; without the body for `HEAD`.
    func encoded(closes: Bool, forHead: Bool, date: DateLine, into buffer: ByteBuffer) -> ByteBuffer {
        var writer = HeadWriter(into: buffer)
        let status = self.head.status.code
        writer.writeStatusLine(status)
        for field in self.head.headerFields {
            writer.buffer.writeString("\(field.name.canonicalName): \(field.value)\r\n")
        }
        if self.head.headerFields[.date] == nil { writer.buffer.writeImmutableBuffer(date.now) }
        if status != 204, status != 304 {
            writer.writeLine("Content-Length", String(self.body.count))
        }
        if closes { writer.buffer.writeStaticString("Connection: close\r\n") }
        var bytes = writer.finish()
        if !forHead, status != 204, status != 304 { bytes.writeBytes(self.body) }
        return bytes
    }
}
