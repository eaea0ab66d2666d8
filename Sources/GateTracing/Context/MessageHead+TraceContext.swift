// SPDX-License-Identifier: Apache-2.0

package import GateWire

extension MessageHead {
    /// What the one `traceparent` field names; nil without a valid one, and if there are several.
    package var traceParent: TraceParent? {
        let fields = self.fields.filter { self.isTraceParent($0) }
        guard let field = fields.first, fields.count == 1 else { return nil }
        return TraceParent(self.slice(field.valueRange))
    }

    /// Whether `tracestate` is passed on: at most 512 bytes and 32 members, all its fields together.
    ///
    /// W3C Trace Context §3.3; what is longer is dropped as a whole.
    package var hasForwardableTraceState: Bool {
        var (length, members) = (0, 0)
        for field in self.fields where self.isTraceState(field) {
            length += field.valueRange.count + 1
            members += self.slice(field.valueRange).split(separator: UInt8(ascii: ",")).count
        }
        return length <= 513 && members <= 32
    }

    /// Whether a field is `traceparent`.
    package func isTraceParent(_ field: FieldLine) -> Bool {
        field.name == .other && self.spells(field.nameRange, "traceparent")
    }

    /// Whether a field is `tracestate`.
    package func isTraceState(_ field: FieldLine) -> Bool {
        field.name == .other && self.spells(field.nameRange, "tracestate")
    }
}
