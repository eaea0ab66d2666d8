// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Brings the path of a request into its canonical spelling, or rejects it.
///
/// Escapes of unreserved characters are decoded and the other escapes get capital digits (RFC 3986 §6.2.2), characters
/// that clients should have escaped are, empty segments are merged, dot segments are resolved (§5.2.4). For matching,
/// the escapes of sub-delimiters, `:` and `@` are decoded as well, since app servers treat both spellings alike; the
/// forwarded path keeps them. An escaped slash or backslash stays escaped in both: it is not a separator here, and
/// ``PathReadings`` lists where an app server could see one. Paths that no app needs are rejected: an unescaped
/// backslash, an escaped control character, text that is not UTF-8, `..;`.
struct PathCanonicalizer {
    private var output: [UInt8] = []

    /// Whether a path is canonical, in one pass.
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

    /// The canonical spelling of a path that starts with `/` and holds no control character, space or `#`.
    static func canonical(_ path: [UInt8]) throws(WireRejection) -> [UInt8] {
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

    /// The spelling by which a canonical path is matched; nil if it is the same.
    ///
    /// Segments correspond one to one, because no separator is escaped or unescaped.
    static func matched(_ canonical: [UInt8]) -> [UInt8]? {
        var matched: [UInt8] = []
        var position = 0
        while position < canonical.count {
            if let value = PercentEncoding.escaped(at: position, in: canonical), self.isMatchedRaw(value) {
                matched.append(value)
                position += 3
            } else {
                matched.append(canonical[position])
                position += 1
            }
        }
        return matched.count == canonical.count ? nil : matched
    }

    /// Whether a character and its escape are the same for matching: sub-delimiters but `;`, `:` and `@`.
    ///
    /// RFC 3986 §3.3. A semicolon begins a parameter where its escape does not.
    private static func isMatchedRaw(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
            UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "="),
            UInt8(ascii: ":"), UInt8(ascii: "@"):
            true
        default: false
        }
    }

    /// Whether a segment is `.` or `..`; dots with parameters are rejected, since servers disagree on them.
    private static func isDots(_ segment: ArraySlice<UInt8>) throws(WireRejection) -> Bool {
        let name = segment.prefix { $0 != UInt8(ascii: ";") }
        guard (1...2).contains(name.count), name.allSatisfy({ $0 == UInt8(ascii: ".") }) else { return false }
        guard name.count == segment.count else { throw .malformed(.pathDotsWithParameter) }
        return true
    }

    private mutating func unescaped(_ path: [UInt8]) throws(WireRejection) -> [UInt8] {
        var decoded: [UInt8] = []
        var position = 0
        while position < path.count {
            let byte = path[position]
            guard byte == UInt8(ascii: "%") else {
                guard byte != UInt8(ascii: "\\") else { throw .malformed(.pathBackslash) }
                self.append(raw: byte)
                decoded.append(byte)
                position += 1
                continue
            }
            guard let value = PercentEncoding.escaped(at: position, in: path) else {
                throw .malformed(.pathBadEscape)
            }
            guard value >= 0x20, value != 0x7F else { throw .malformed(.pathControlCharacter) }
            if PercentEncoding.isUnreserved(value) {
                self.output.append(value)
            } else {
                PercentEncoding.append(value, to: &self.output)
            }
            decoded.append(value)
            position += 3
        }
        guard String(validating: decoded, as: UTF8.self) != nil else { throw .malformed(.pathNotUTF8) }
        return self.output
    }

    /// Appends a character, escaped if it is not allowed in a path.
    private mutating func append(raw byte: UInt8) {
        if ByteClass.isTarget(byte) {
            self.output.append(byte)
        } else {
            PercentEncoding.append(byte, to: &self.output)
        }
    }
}
