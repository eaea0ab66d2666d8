// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

/// The fields of an HTTP/2 field section, as a test writes them: `name: value` in order; `\xHH` is one byte.
struct FieldSection: Sendable, CustomTestStringConvertible {
    let id: String
    let fields: [(name: [UInt8], value: [UInt8])]
    let endsStream: Bool
    let status: Int
    let isMalformed: Bool

    init(_ id: String, _ lines: [String], endsStream: Bool = true, status: Int = 400, malformed: Bool = false) {
        self.id = id
        self.fields = lines.map { line in
            let colon = line.dropFirst().firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst()
            return (wire(String(line[..<colon])), wire(String(value.hasPrefix(" ") ? value.dropFirst() : value)))
        }
        self.endsStream = endsStream
        self.status = status
        self.isMalformed = malformed
    }

    /// A `GET` with fields after the pseudo-header fields.
    static func get(
        _ id: String,
        _ more: [String] = [],
        method: String = "GET",
        path: String = "/p",
        authority: String = "a",
        scheme: String = "https",
        endsStream: Bool = true,
        status: Int = 400,
        malformed: Bool = false
    ) -> FieldSection {
        let pseudo = [":method: \(method)", ":scheme: \(scheme)", ":authority: \(authority)", ":path: \(path)"]
        return FieldSection(id, pseudo + more, endsStream: endsStream, status: status, malformed: malformed)
    }

    var testDescription: String {
        "\(self.id) \(self.fields.map { "\(String(decoding: $0.name, as: UTF8.self).debugDescription)" })"
    }

    /// The head of the section.
    func head(_ limits: HeadLimits = .request) throws(HTTP2FieldsRejection) -> RequestHead {
        try self.head(by: HTTP2RequestHeadBuilder(limits: limits, isSecure: true))
    }

    func head(by builder: HTTP2RequestHeadBuilder) throws(HTTP2FieldsRejection) -> RequestHead {
        builder.begin(names: FieldNames(), into: ByteBuffer())
        for field in self.fields {
            builder.append(name: field.name.span, value: field.value.span)
        }
        return try builder.finish(endsStream: self.endsStream)
    }

    /// The bytes of the head, or the rejection.
    func text(_ limits: HeadLimits = .request) -> String {
        do {
            return String(buffer: try self.head(limits).message.bytes)
        } catch {
            return "\(error.isMalformed ? "reset" : "\(error.rejection.status)") \(error.rejection.reason.code)"
        }
    }
}
