// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// Writes batches of spans as `ExportTraceServiceRequest` of OTLP 1.x.
///
/// opentelemetry/proto/collector/trace/v1/trace_service.proto and opentelemetry/proto/trace/v1/trace.proto; the numbers
/// of fields below are theirs.
struct OTLPEncoder: Sendable {
    private let resource: [UInt8]
    private let scope: [UInt8]

    /// An encoder for one process.
    ///
    /// - Parameters:
    ///   - resource: What names the process.
    ///   - version: The version of the gateway.
    init(resource: [(key: String, value: String)], version: String) {
        var attributes = ProtobufWriter()
        for attribute in resource {
            attributes.message(1) { OTLPEncoder.write(attribute.key, .text(attribute.value), to: &$0) }
        }
        var scope = ProtobufWriter()
        scope.bytes(1, "gatehouse".utf8)
        scope.bytes(2, version.utf8)
        self.resource = attributes.bytes
        self.scope = scope.bytes
    }

    /// The body of the request for a batch.
    func request(for spans: some Collection<TraceSpan>) -> [UInt8] {
        var request = ProtobufWriter()
        request.message(1) { ofResource in
            ofResource.bytes(1, self.resource)
            ofResource.message(2) { ofScope in
                ofScope.bytes(1, self.scope)
                for span in spans {
                    ofScope.message(2) { OTLPEncoder.write(span, to: &$0) }
                }
            }
        }
        return request.bytes
    }

    private static func write(_ span: TraceSpan, to message: inout ProtobufWriter) {
        message.bytes(1, self.bytes(of: span.context.trace.high) + self.bytes(of: span.context.trace.low))
        message.bytes(2, self.bytes(of: span.context.span.value))
        if let parent = span.parent { message.bytes(4, self.bytes(of: parent.value)) }
        message.bytes(5, span.name.utf8)
        message.number(6, span.kind.rawValue)
        message.fixed(7, span.began)
        message.fixed(8, max(span.began, span.ended))
        for attribute in span.attributes {
            message.message(9) { self.write(attribute.key.rawValue, attribute.value, to: &$0) }
        }
        if span.hasFailed { message.message(15) { $0.number(3, 2) } }
        // The flags of the trace context, then whether it is known that the parent is remote, and whether it is.
        message.fixed(16, UInt32(span.isParentRemote ? 0x301 : 0x101))
    }

    private static func write(_ key: String, _ value: TraceSpan.Value, to pair: inout ProtobufWriter) {
        pair.bytes(1, key.utf8)
        pair.message(2) { any in
            switch value {
            case .text(let text): any.bytes(1, text.utf8)
            case .number(let number): any.number(3, UInt64(bitPattern: Int64(number)))
            }
        }
    }

    private static func bytes(of value: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
