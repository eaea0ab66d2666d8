// SPDX-License-Identifier: Apache-2.0

package import GateWire

extension MessageHead {
    /// What the one `traceparent` field names; nil without a valid one, and if there are several.
    package var traceParent: TraceParent? {
        guard let first = self.fields.firstIndex(where: { $0.name == .traceParent }) else { return nil }
        guard !self.fields[(first + 1)...].contains(where: { $0.name == .traceParent }) else { return nil }
        return TraceParent(self.slice(self.fields[first].valueRange))
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
