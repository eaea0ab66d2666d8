// SPDX-License-Identifier: Apache-2.0

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
            attributes.write(1) { OTLPEncoder.write(attribute.key, .text(attribute.value), to: &$0) }
        }
        var scope = ProtobufWriter()
        scope.write(1, bytes: "gatehouse".utf8)
        scope.write(2, bytes: version.utf8)
        self.resource = attributes.bytes
        self.scope = scope.bytes
    }

    /// The body of the request for a batch.
    func request(for spans: some Collection<TraceSpan>) -> [UInt8] {
        var request = ProtobufWriter()
        request.write(1) { ofResource in
            ofResource.write(1, bytes: self.resource)
            ofResource.write(2) { ofScope in
                ofScope.write(1, bytes: self.scope)
                for span in spans {
                    ofScope.write(2) { OTLPEncoder.write(span, to: &$0) }
                }
            }
        }
        return request.bytes
    }

    private static func write(_ span: TraceSpan, to message: inout ProtobufWriter) {
        message.write(1, bytes: self.bytes(of: span.context.trace.high) + self.bytes(of: span.context.trace.low))
        message.write(2, bytes: self.bytes(of: span.context.span.value))
        if let parent = span.parent { message.write(4, bytes: self.bytes(of: parent.value)) }
        message.write(5, bytes: span.name.utf8)
        message.write(6, varint: span.kind.rawValue)
        message.write(7, fixed: span.began)
        message.write(8, fixed: max(span.began, span.ended))
        for attribute in span.attributes {
            message.write(9) { self.write(attribute.key.rawValue, attribute.value, to: &$0) }
        }
        if span.hasFailed { message.write(15) { $0.write(3, varint: 2) } }
        // The flags of the trace context, then whether it is known that the parent is remote, and whether it is.
        message.write(16, fixed: UInt32(span.isParentRemote ? 0x301 : 0x101))
    }

    private static func write(_ key: String, _ value: TraceSpan.Value, to pair: inout ProtobufWriter) {
        pair.write(1, bytes: key.utf8)
        pair.write(2) { any in
            switch value {
            case .text(let text): any.write(1, bytes: text.utf8)
            case .number(let number): any.write(3, varint: UInt64(bitPattern: Int64(number)))
            }
        }
    }

    private static func bytes(of value: UInt64) -> [UInt8] {
        stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
