// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Brings the path of a request into its one spelling, or refuses it.
///
/// Escapes of unreserved characters are decoded and the other escapes get capital digits (RFC 3986 §6.2.2), empty
/// segments are merged, dot segments are resolved (§5.2.4). What two servers could read differently is refused: an
/// encoded slash or backslash, an encoded control character, text that is not UTF-8, `..;`, a path that starts with `//`.
struct PathCanonicalizer {
    private var output: [UInt8] = []

    /// Whether a path is canonical already, in one look at each byte.
    static func isCanonical(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var afterSlash = false
        for index in range {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") || byte == UInt8(ascii: ";") { return false }
            if afterSlash, byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".") { return false }
            afterSlash = byte == UInt8(ascii: "/")
        }
        return true
    }

    /// The canonical spelling of a path that starts with `/` and holds target characters only.
    static func canonical(_ path: [UInt8]) throws(WireRefusal) -> [UInt8] {
        guard !path.starts(with: "//".utf8) else { throw .malformed("path.leading_slashes") }
        var canonicalizer = PathCanonicalizer()
        let unescaped = try canonicalizer.unescaped(path)
        let segments = unescaped.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        var endsWithSlash = false
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            endsWithSlash = isLast && segment.isEmpty
            if segment.isEmpty { continue }
            guard try !self.isDots(segment) else {
                if segment.count == 2, !kept.isEmpty { kept.removeLast() }
                endsWithSlash = isLast
                continue
            }
            kept.append(segment)
        }
        let joined = kept.reduce(into: [UInt8]()) { $0 += [UInt8(ascii: "/")] + $1 }
        return endsWithSlash || kept.isEmpty ? joined + [UInt8(ascii: "/")] : joined
    }

    /// Whether a segment is `.` or `..`; with parameters behind the dots, servers disagree, so that is refused.
    private static func isDots(_ segment: ArraySlice<UInt8>) throws(WireRefusal) -> Bool {
        let name = segment.prefix { $0 != UInt8(ascii: ";") }
        guard name.count <= 2, name.allSatisfy({ $0 == UInt8(ascii: ".") }) else { return false }
        guard name.count == segment.count else { throw .malformed("path.dots_with_parameter") }
        return true
    }

    private mutating func unescaped(_ path: [UInt8]) throws(WireRefusal) -> [UInt8] {
        var decoded: [UInt8] = []
        var position = 0
        while position < path.count {
            let byte = path[position]
            guard byte == UInt8(ascii: "%") else {
                self.output.append(byte)
                decoded.append(byte)
                position += 1
                continue
            }
            guard position + 2 < path.count, let high = PercentEncoding.value(of: path[position + 1]),
                let low = PercentEncoding.value(of: path[position + 2])
            else { throw .malformed("path.bad_escape") }
            let value = high << 4 | low
            try self.append(escaped: value)
            decoded.append(value)
            position += 3
        }
        guard String(validating: decoded, as: UTF8.self) != nil else { throw .malformed("path.not_utf8") }
        return self.output
    }

    private mutating func append(escaped value: UInt8) throws(WireRefusal) {
        switch value {
        case 0..<0x20, 0x7F: throw .malformed("path.control_character")
        case UInt8(ascii: "/"), UInt8(ascii: "\\"): throw .malformed("path.encoded_slash")
        default: break
        }
        if PercentEncoding.isUnreserved(value) {
            self.output.append(value)
        } else {
            self.output += PercentEncoding.encode(CollectionOfOne(value)).utf8
        }
    }
}
