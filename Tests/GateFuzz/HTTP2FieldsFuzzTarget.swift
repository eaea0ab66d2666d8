// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import NIOCore

/// The fields of HTTP/2: what is accepted reads the same as a head of HTTP/1.1.
enum HTTP2FieldsFuzzTarget {
    static func fault(in input: Input) -> String? {
        let fields = input.bytes.split(separator: 0x1E).map { field in
            let end = field.firstIndex(of: 0x1F) ?? field.endIndex
            return (name: Array(field[..<end]), value: Array(field[end...].dropFirst()))
        }
        return self.requestFault(of: fields, input) ?? self.answerFault(of: fields, input)
    }

    private static func requestFault(of fields: [(name: [UInt8], value: [UInt8])], _ input: Input) -> String? {
        let limits = input.has(4) ? HeadLimits.tight : .request
        let block = HTTP2RequestHeadBuilder(limits: limits, isSecure: true)
        block.begin(names: FieldNames(), into: ByteBuffer())
        for field in fields {
            block.append(name: field.name.span, value: field.value.span)
        }
        guard let head = try? block.finish(endsStream: input.has(5)) else { return nil }
        if input.has(5), head.framing != .none { return "a request without a body has the framing \(head.framing)" }
        return Rewriting.fault(of: head, within: limits)
    }

    private static func answerFault(of fields: [(name: [UInt8], value: [UInt8])], _ input: Input) -> String? {
        let block = HTTP2ResponseHeadBuilder()
        block.begin(names: .answers, into: ByteBuffer())
        for field in fields {
            block.append(name: field.name.span, value: field.value.span)
        }
        let method: RequestMethod = input.has(6) ? .head : .get
        guard let head = try? block.finish(answering: method, endsStream: input.has(5)) else { return nil }
        var bytes = head.message.bytes
        do {
            let parser = ResponseParser(names: .answers)
            guard let again = try parser.head(from: &bytes, answering: method) else {
                return "the answer is not complete"
            }
            guard bytes.readableBytes == 0, again.status == head.status else { return "the answer reads otherwise" }
            let isSame = again.message.fields.count == head.message.fields.count
            return isSame ? nil : "the answer has other fields"
        } catch {
            return "the answer is refused: \(error.reason.code)"
        }
    }
}
