// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import NIOCore

/// HTTP/2 fields: accepted ones parse like a head of HTTP/1.1.
enum HTTP2FieldsFuzzTarget {
    static func violation(in input: Input) -> String? {
        let fields = input.bytes.split(separator: 0x1E).map { field in
            let end = field.firstIndex(of: 0x1F) ?? field.endIndex
            return (name: Array(field[..<end]), value: Array(field[end...].dropFirst()))
        }
        return self.requestViolation(of: fields, input) ?? self.responseViolation(of: fields, input)
    }

    private static func requestViolation(of fields: [(name: [UInt8], value: [UInt8])], _ input: Input) -> String? {
        let limits = input.has(4) ? HeadLimits.tight : .request
        let builder = HTTP2RequestHeadBuilder(limits: limits, isSecure: true)
        builder.begin(names: FieldNames(), into: ByteBuffer())
        for field in fields {
            builder.append(name: field.name.span, value: field.value.span)
        }
        guard let head = try? builder.finish(endsStream: input.has(5)) else { return nil }
        if input.has(5), head.framing != .none { return "a request without a body has the framing \(head.framing)" }
        return Rewriting.violation(of: head, within: limits)
    }

    private static func responseViolation(of fields: [(name: [UInt8], value: [UInt8])], _ input: Input) -> String? {
        let builder = HTTP2ResponseHeadBuilder()
        builder.begin(names: .response, into: ByteBuffer())
        for field in fields {
            builder.append(name: field.name.span, value: field.value.span)
        }
        let method: RequestMethod = input.has(6) ? .head : .get
        guard let head = try? builder.finish(for: method, endsStream: input.has(5)) else { return nil }
        var bytes = head.message.bytes
        do {
            let parser = ResponseParser(names: .response)
            guard let again = try parser.head(from: &bytes, for: method) else {
                return "the response is incomplete"
            }
            guard bytes.readableBytes == 0, again.status == head.status else {
                return "the response parses differently"
            }
            let isSame = again.message.fields.count == head.message.fields.count
            return isSame ? nil : "the response has other fields"
        } catch {
            return "the response is rejected: \(error.reason.code)"
        }
    }
}
