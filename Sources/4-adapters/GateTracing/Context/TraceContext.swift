// SPDX-License-Identifier: Apache-2.0

/// The id of a trace: 16 bytes that are not all zero.
///
/// W3C Trace Context §3.2.2.3.
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    /// The first eight bytes.
    package let high: UInt64
    /// The last eight bytes.
    package let low: UInt64

    /// The id with these bytes; nil if all are zero.
    package init?(high: UInt64, low: UInt64) {
        guard high != 0 || low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    private init() {
        self.high = UInt64.random(in: .min ... .max)
        self.low = UInt64.random(in: 1 ... .max)
    }

    /// A new id: 128 random bits, since samplers of other services compare the last ones.
    package static func random() -> TraceID { TraceID() }

    /// 32 hexadecimal digits.
    package var description: String { hexadecimal(self.high) + hexadecimal(self.low) }
}

/// The id of a span: eight bytes that are not all zero.
package struct SpanID: Sendable, Hashable, CustomStringConvertible {
    /// The bytes as a number.
    package let value: UInt64

    /// The id with these bytes; nil if all are zero.
    package init?(_ value: UInt64) {
        guard value != 0 else { return nil }
        self.value = value
    }

    private init() {
        self.value = UInt64.random(in: 1 ... .max)
    }

    package static func random() -> SpanID { SpanID() }

    /// 16 hexadecimal digits.
    package var description: String { hexadecimal(self.value) }
}

/// A span as its children refer to it.
package struct TraceContext: Sendable, Hashable {
    package let trace: TraceID
    package let span: SpanID
    /// Whether the spans of the trace are exported.
    package let isSampled: Bool

    /// Puts the parts together.
    package init(trace: TraceID, span: SpanID, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// The span of the request that a task works for; nil outside of requests, and while tracing is off.
    @TaskLocal package static var current: TraceContext?

    /// Runs the work of a task for a request; without a span it costs nothing more.
    package static func running<Value: Sendable>(
        under context: TraceContext?,
        _ work: @Sendable () async -> Value
    ) async -> Value {
        guard let context else { return await work() }
        return await TraceContext.$current.withValue(context) { await work() }
    }

    /// The value of a `traceparent` field for a child of the span.
    ///
    /// W3C Trace Context §3.2; of the flags there is only that of the sampling.
    package var traceParent: String { "00-\(self.trace)-\(self.span)-\(self.isSampled ? "01" : "00")" }
}

/// The 16 digits of a number, in lower case.
private func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
