// SPDX-License-Identifier: Apache-2.0

package import GateWire

extension MessageHead {
    /// What the one `traceparent` field names; nil without a valid one, and if there are several.
    package var traceParent: TraceParent? {
        var found: FieldLine?
        for field in self.fields {
            // A pattern costs less than `==` of an enum of another module, and the access log asks at each request.
            guard case .traceParent = field.name else { continue }
            guard found == nil else { return nil }
            found = field
        }
        return found.flatMap { TraceParent(self.slice($0.valueRange)) }
    }

    /// Whether `tracestate` is passed on: at most 512 bytes and 32 members, all its fields together.
    ///
    /// W3C Trace Context §3.3; what is longer is dropped as a whole.
    package var hasForwardableTraceState: Bool {
        var (length, members) = (0, 0)
        for field in self.fields where field.name == .traceState {
            length += field.valueRange.count + 1
            members += self.slice(field.valueRange).split(separator: UInt8(ascii: ",")).count
        }
        return length <= 513 && members <= 32
    }
}
