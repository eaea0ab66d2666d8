// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A request to a server of the demo.
package struct DemoRequest: Sendable {
    /// The method, as sent.
    package let method: String
    /// Path and query, as sent.
    package let target: String
    /// The header fields in the order and spelling in which they arrived.
    package let fields: [(name: String, value: String)]
    /// The body, at most 64 KiB.
    package let body: [UInt8]
    /// The certificate that the client presented, in DER, not verified; nil without one.
    var certificate: [UInt8]?

    /// The path, as sent.
    package var path: String {
        String(self.target.prefix { $0 != "?" })
    }

    /// The query as it was sent, without `?`; empty if absent.
    package var rawQuery: String {
        String(self.target.drop { $0 != "?" }.dropFirst())
    }

    /// The pairs of the query; none if it cannot be decoded.
    package var query: Form { Form(encoded: self.rawQuery) ?? Form() }

    /// The pairs of a form body; none if it cannot be decoded.
    package var form: Form {
        String(validating: self.body, as: UTF8.self).flatMap { Form(encoded: $0) } ?? Form()
    }

    /// The value of a header field; nil if it is absent or repeated.
    package func field(_ name: String) -> String? {
        let found = self.fields.filter { $0.name.lowercased() == name.lowercased() }
        return found.count == 1 ? found.first?.value : nil
    }

    /// The token of an `Authorization: Bearer` field.
    ///
    /// RFC 6750 §2.1.
    var bearer: String? {
        guard let field = self.field("authorization") else { return nil }
        let words = field.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else { return nil }
        return String(words[1])
    }
}

/// A response of a server of the demo.
package struct DemoResponse: Sendable {
    /// The status code.
    package var status: Int
    /// The header fields; the server adds length and connection.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// A JSON response, not to be cached by default.
    ///
    /// RFC 6749 §5.1.
    package static func json(
        _ value: JSON,
        status: Int = 200,
        fields: [(name: String, value: String)] = []
    ) -> DemoResponse {
        let kept = fields.contains { $0.name.lowercased() == "cache-control" }
        let type = [(name: "Content-Type", value: "application/json; charset=utf-8")]
        let cache = kept ? [] : [(name: "Cache-Control", value: "no-store")]
        return DemoResponse(status: status, fields: type + cache + fields, body: value.encoded)
    }

    /// A redirect after which the browser uses `GET`.
    static func redirect(to url: String) -> DemoResponse {
        DemoResponse(status: 302, fields: [("Location", url), ("Cache-Control", "no-store")])
    }

    /// A line of text for an error.
    package static func text(_ text: String, status: Int) -> DemoResponse {
        DemoResponse(status: status, fields: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }
}

/// Responds to requests; called concurrently.
package typealias DemoResponder = @Sendable (DemoRequest) async -> DemoResponse
