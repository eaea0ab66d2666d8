// SPDX-License-Identifier: Apache-2.0

import GateWire
import NIOCore
import Testing

/// Requests to a gateway whose apps take identities from `X-WEBAUTH-USER` and `Who`.
enum HeadFixture {
    static let gate = "gate.example.com"

    /// The head of a request: `GET /wiki`, its host and further lines.
    static func head(_ start: String, _ host: String = HeadFixture.gate, _ lines: String = "") throws -> RequestHead {
        var parser = RequestParser(names: FieldNames(alsoManaged: ["X-WEBAUTH-USER", "Who"]), isSecure: true)
        var buffer = ByteBuffer(string: "\(start) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\r\n")
        return try #require(try parser.head(from: &buffer))
    }
}
