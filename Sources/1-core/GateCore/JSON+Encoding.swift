// SPDX-License-Identifier: Apache-2.0

extension JSON {
    /// The value as compact JSON, members sorted by name so that equal values are equal bytes.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        self.write(to: &bytes)
        return bytes
    }

    /// The value as compact JSON text.
    package var text: String { String(decoding: self.encoded, as: UTF8.self) }

    /// The value as JSON over several lines, two spaces an indentation, for humans to read.
    package func pretty(indent: String = "") -> String {
        let inner = indent + "  "
        switch self {
        case .array(let elements) where !elements.isEmpty:
            let lines = elements.map { inner + $0.pretty(indent: inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let members) where !members.isEmpty:
            let lines = members.sorted { $0.key < $1.key }.map { name, value in
                "\(inner)\(JSON.string(name).text): \(value.pretty(indent: inner))"
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        default:
            return self.text
        }
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let text): bytes += text.utf8
        case .string(let text): JSON.write(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSON.write(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        defer { bytes.append(UInt8(ascii: "\"")) }
        // Copied first, since a scan of the text's own bytes costs a call for each.
        let start = bytes.count
        bytes += text.utf8
        var end = start
        while end < bytes.count, !self.isEscaped(bytes[end]) { end += 1 }
        guard end < bytes.count else { return }
        let rest = Array(bytes[end...])
        bytes.removeSubrange(end...)
        for byte in rest {
            switch byte {
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case 0x0A: bytes += "\\n".utf8
            case 0x0D: bytes += "\\r".utf8
            case 0x09: bytes += "\\t".utf8
            case 0..<0x20, 0x7F:
                let digits = String(byte, radix: 16)
                bytes += "\\u00\(digits.count == 1 ? "0" : "")\(digits)".utf8
            default: bytes.append(byte)
            }
        }
    }
}
