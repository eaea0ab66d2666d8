// SPDX-License-Identifier: Apache-2.0

/// One field line of a head, as offsets into it.
package struct FieldLine: Sendable {
    package let start: UInt16
    package let nameEnd: UInt16
    /// Where its value starts, after white space.
    package let valueStart: UInt16
    /// Where its value ends, before white space.
    package let valueEnd: UInt16
    /// Where the next line starts.
    package let end: UInt16
    /// The meaning of the name.
    package let name: FieldName

    package var nameRange: Range<Int> { Int(self.start)..<Int(self.nameEnd) }
    package var valueRange: Range<Int> { Int(self.valueStart)..<Int(self.valueEnd) }
    /// The range of the whole line with its line end.
    package var lineRange: Range<Int> { Int(self.start)..<Int(self.end) }

    /// The same line, starting at another offset.
    func moved(to start: Int) -> FieldLine {
        let shift: (UInt16) -> UInt16 = { UInt16(truncatingIfNeeded: Int($0) - Int(self.start) + start) }
        return FieldLine(
            start: shift(self.start),
            nameEnd: shift(self.nameEnd),
            valueStart: shift(self.valueStart),
            valueEnd: shift(self.valueEnd),
            end: shift(self.end),
            name: self.name
        )
    }
}
