// SPDX-License-Identifier: Apache-2.0

/// The lines of a text, split where YAML splits them, to show in diagnostics.
struct SourceLines: Sendable {
    private let bytes: [UInt8]
    /// Where each line starts, and where its break starts.
    private let lines: [Range<Int>]

    init(_ bytes: [UInt8]) {
        var lines: [Range<Int>] = []
        var start = 0
        var index = 0
        while index < bytes.count {
            let width = SourceLines.breakWidth(bytes, at: index)
            if width > 0 {
                lines.append(start..<index)
                start = index + width
            }
            index += max(1, width)
        }
        lines.append(start..<bytes.count)
        self.bytes = bytes
        self.lines = lines
    }

    /// A line by its number from 1; nil if it does not exist or is too long to show.
    func text(ofLine number: Int) -> String? {
        guard self.lines.indices.contains(number - 1) else { return nil }
        let range = self.lines[number - 1]
        guard range.count <= 4096 else { return nil }
        return String(decoding: self.bytes[range], as: UTF8.self)
    }

    /// The location after the last character.
    var end: YAMLMark {
        let last = self.lines.last ?? 0..<0
        let column = String(decoding: self.bytes[last], as: UTF8.self).unicodeScalars.count + 1
        return YAMLMark(line: self.lines.count, column: column)
    }

    /// The location of the first bytes that are not UTF-8, or nil.
    static func firstInvalid(in bytes: [UInt8]) -> YAMLMark? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var decoder = UTF8()
        var rest = bytes.makeIterator()
        var mark = YAMLMark.start
        while case .scalarValue(let scalar) = decoder.decode(&rest) {
            mark =
                scalar == "\n"
                ? YAMLMark(line: mark.line + 1, column: 1) : YAMLMark(line: mark.line, column: mark.column + 1)
        }
        return mark
    }

    /// The length of the line break at an index, 0 for another character.
    ///
    /// YAML 1.1 §4.2: CR LF, CR, LF, NEL, LS, PS.
    private static func breakWidth(_ bytes: [UInt8], at index: Int) -> Int {
        switch bytes[index] {
        case 0x0A: 1
        case 0x0D: index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        case 0xC2: index + 1 < bytes.count && bytes[index + 1] == 0x85 ? 2 : 0
        case 0xE2:
            bytes[index...].prefix(3) == [0xE2, 0x80, 0xA8] || bytes[index...].prefix(3) == [0xE2, 0x80, 0xA9] ? 3 : 0
        default: 0
        }
    }
}
