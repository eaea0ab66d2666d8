// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateWire
package import HTTPTypes
package import NIOCore

/// A response of the gateway itself, complete with its body.
package struct Response: Sendable {
    /// Status and fields; framing and connection fields are added when it is sent.
    package var head: HTTPResponse
    package var body: [UInt8]
    /// The body instead, if it is one that many responses have: they all refer to the same bytes.
    package var sharedBody: ByteBuffer?

    package var bodySize: Int { self.sharedBody?.readableBytes ?? self.body.count }
    /// The failure that it reports, for metrics and logs; never sent.
    package var rejection: Rejection?

    /// A failure that was rendered, and the app that it is about.
    package struct Rejection: Sendable, Hashable {
        package let reason: Failure.Reason
        /// The app, if the response is not one to a request for that app itself.
        package let app: String?
        /// The random word by which its log line is found; nil without a line.
        package let incident: String?

        /// A failure about an app; nil for the one of the request.
        package init(_ reason: Failure.Reason, app: String? = nil, incident: String? = nil) {
            self.reason = reason
            self.app = app
            self.incident = incident
        }
    }

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

    /// The encoded response; without the body for `HEAD`, and without a shared body.
    func encoded(closes: Bool, forHead: Bool, date: DateLine, into buffer: ByteBuffer) -> ByteBuffer {
        let status = self.head.status.code
        var bytes = HeadWriter.head(into: buffer) { writer in
            writer.writeStatusLine(status)
            for field in self.head.headerFields {
                writer.write("\(field.name.canonicalName): \(field.value)\r\n")
            }
            if self.head.headerFields[.date] == nil { writer.write(date.now) }
            if status != 204, status != 304 {
                writer.writeLine("Content-Length", String(self.bodySize))
            }
            if closes { writer.writeLiteral("Connection: close\r\n") }
        }
        if !forHead, status != 204, status != 304 { bytes.writeBytes(self.body) }
        return bytes
    }
}
