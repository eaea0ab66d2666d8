// SPDX-License-Identifier: Apache-2.0

/// Reads the field lines of a head that was written or checked here, to send them as HTTP/2 fields.
package enum FieldLineReader {
    /// The ranges of a line.
    package struct Line {
        package let name: Range<Int>
        /// The value, without white space around it.
        package let value: Range<Int>
    }

    /// Calls `body` for each field line that is allowed in HTTP/2.
    ///
    /// RFC 9113 §8.2.2: connection-specific fields are left out.
    ///
    /// - Parameters:
    ///   - head: The bytes.
    ///   - start: Where the first field line starts.
    ///   - body: Called with one line.
    /// - Returns: Where the head ends, after the empty line.
    package static func forEach(of head: Span<UInt8>, from start: Int, _ body: (Line) -> Void) -> Int {
        var position = start
        while position < head.count, head[position] != 0x0D {
            let end = self.lineEnd(head, from: position)
            var colon = position
            while colon < end, head[colon] != UInt8(ascii: ":") {
                colon += 1
            }
            let name = position..<colon
            if colon < end, !self.isConnectionSpecific(head, name) {
                var first = colon + 1
                while first < end, head[first] == 0x20 || head[first] == 0x09 {
                    first += 1
                }
                var last = end
                while last > first, head[last - 1] == 0x20 || head[last - 1] == 0x09 {
                    last -= 1
                }
                body(Line(name: name, value: first..<last))
            }
            position = end + 2
        }
        return min(position + 2, head.count)
    }

    /// Where the line that starts at `start` ends: at its CR.
    package static func lineEnd(_ head: Span<UInt8>, from start: Int) -> Int {
        var position = FieldScanner.skipPlain(head, from: start)
        while position < head.count, head[position] != 0x0D {
            position += 1
        }
        return position
    }

    /// Whether the name in a range equals `wanted`, which is in lower case.
    package static func isNamed(_ head: Span<UInt8>, _ name: Range<Int>, _ wanted: StaticString) -> Bool {
        guard name.count == wanted.utf8CodeUnitCount else { return false }
        return wanted.withUTF8Buffer { letters in
            for index in 0..<letters.count {
                guard unsafe head[name.lowerBound + index] | 0x20 == letters[index] | 0x20 else { return false }
            }
            return true
        }
    }

    private static func isConnectionSpecific(_ head: Span<UInt8>, _ name: Range<Int>) -> Bool {
        switch name.count {
        case 7: self.isNamed(head, name, "upgrade")
        case 10: self.isNamed(head, name, "connection") || self.isNamed(head, name, "keep-alive")
        case 14: self.isNamed(head, name, "http2-settings")
        case 16: self.isNamed(head, name, "proxy-connection")
        case 17: self.isNamed(head, name, "transfer-encoding")
        default: false
        }
    }
}
