// SPDX-License-Identifier: Apache-2.0

internal import GateWire

extension ResponseHead {
    /// Whether the body is an event stream, which may be silent for any time.
    ///
    /// Only bodies without a length can be event streams.
    var isEventStream: Bool {
        guard self.framing == .chunked || self.framing == .untilClose else { return false }
        let type = "text/event-stream"
        return self.message.fields.contains { field in
            guard field.name == .contentType else { return false }
            let value = field.valueRange
            guard value.count >= type.utf8.count else { return false }
            let end = value.lowerBound + type.utf8.count
            guard self.message.spells(value.lowerBound..<end, type) else { return false }
            guard end < value.upperBound else { return true }
            let next = self.message.slice(end..<(end + 1)).first
            return next == UInt8(ascii: ";") || next == 0x20 || next == 0x09
        }
    }
}
