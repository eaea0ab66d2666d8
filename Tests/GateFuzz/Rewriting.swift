// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import NIOCore

/// Writes an accepted head as for an app and parses it again: both must mean the same.
enum Rewriting {
    /// The rule that the head violates, or nil.
    static func violation(of head: RequestHead, within limits: HeadLimits) -> String? {
        guard head.message.bytes.readableBytes <= limits.bytes else { return "the head is over its limit" }
        guard head.message.fields.count <= limits.fields else { return "there are more fields than the limit" }
        let written = self.written(head)
        var parser = RequestParser(names: FieldNames(), limits: .roomy, isSecure: false)
        var buffer = written
        let again: RequestHead
        do {
            guard let read = try parser.head(from: &buffer) else { return "the written head is not complete" }
            again = read
        } catch {
            return "the written head is rejected: \(error.reason.code)"
        }
        guard buffer.readableBytes == 0 else { return "the written head ends too early" }
        guard again.message.count(.contentLength) + again.message.count(.transferEncoding) <= 1 else {
            return "the written head has two framings"
        }
        guard self.meaning(head) == self.meaning(again) else {
            return "the written head means \(self.meaning(again)) instead of \(self.meaning(head))"
        }
        return self.written(again) == written ? nil : "the head changes when it is written again"
    }

    /// The meaning of a head.
    static func meaning(_ head: RequestHead) -> String {
        let lines = head.message.fields.filter(self.isKept).map { field in
            "\(head.message.text(field.nameRange)): \(head.message.text(field.valueRange))"
        }
        return """
            \(head.method.rawValue) \(head.isAsterisk ? "*" : head.target) \(head.authority.text) \(head.framing) \(lines)
            """
    }

    private static func written(_ head: RequestHead) -> ByteBuffer {
        HeadWriter.head(into: ByteBuffer()) { writer in
            writer.writeRequestLine(of: head)
            writer.writeLine("Host", head.authority.text)
            writer.copyLines(of: head.message, where: self.isKept)
            writer.writeFraming(ofRequest: head)
        }
    }

    static func isKept(_ field: FieldLine) -> Bool {
        switch field.name {
        case .host, .contentLength, .transferEncoding, .connection, .keepAlive, .proxyConnection, .te, .upgrade,
            .expect, .trailer, .http2Settings:
            false
        default: true
        }
    }
}

extension HeadLimits {
    /// Limits that an input can reach.
    static let tight = HeadLimits.limits(bytes: 256, fieldBytes: 96, targetBytes: 48, fields: 6)
    /// Limits that no head of a fuzz target reaches, so that an added line is not over them.
    static let roomy = HeadLimits.limits(bytes: 65_535, fieldBytes: 65_535, targetBytes: 65_535, fields: 1000)

    private static func limits(bytes: Int, fieldBytes: Int, targetBytes: Int, fields: Int) -> HeadLimits {
        var limits = HeadLimits.request
        (limits.bytes, limits.fieldBytes, limits.targetBytes, limits.fields) = (bytes, fieldBytes, targetBytes, fields)
        return limits
    }
}
