// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A path as an app server may see it.
package struct PathReading: Hashable, Sendable {
    /// What a server sees.
    package let path: [UInt8]
    /// Whether escapes have been decoded, so that it is compared with decoded prefixes.
    package let isDecoded: Bool
}

/// The paths that app servers may see in a canonical path.
///
/// Servers decode a path once or several times, drop `;parameters` before or after that, take a backslash for a separator,
/// merge slashes, and resolve dot segments again, in any order. A path is safe to forward where all its readings belong to
/// the same app and the same rule. Pure.
package enum PathReadings {
    /// How many times a path is decoded at most.
    private static let maxDecodings = 3

    /// Whether a path has no other reading: neither an escape nor a parameter.
    package static func isPlain(_ path: Span<UInt8>) -> Bool {
        !path.indices.contains { path[$0] == UInt8(ascii: "%") || path[$0] == UInt8(ascii: ";") }
    }

    /// Whether a path has an escaped slash or backslash.
    package static func hasEscapedSeparator(_ path: Span<UInt8>) -> Bool {
        path.indices.contains { index in
            guard path[index] == UInt8(ascii: "%"), index + 2 < path.count else { return false }
            return (path[index + 1] == UInt8(ascii: "2") && path[index + 2] == UInt8(ascii: "F"))
                || (path[index + 1] == UInt8(ascii: "5") && path[index + 2] == UInt8(ascii: "C"))
        }
    }

    /// The readings of a canonical path; at most 128.
    ///
    /// - Parameter path: The path as routes are matched by it.
    /// - Returns: The readings, the path itself among them; nil if some server sees a dot segment in it, a NUL or bytes that
    ///   are no UTF-8, or if it is escaped more often than any client does. Where these lead depends on what the server does
    ///   first, so that no list of readings would be complete.
    package static func all(of path: [UInt8]) -> Set<PathReading>? {
        var readings: Set<PathReading> = []
        var states: Set<[UInt8]> = [path]
        for level in 0...self.maxDecodings {
            states.formUnion(states.map(self.withoutParameters))
            for state in states {
                guard !self.hasDotSegment(state), level == 0 || self.isText(state) else { return nil }
                for seen in self.separations(of: state) {
                    readings.insert(PathReading(path: seen, isDecoded: level > 0))
                }
            }
            states = Set(states.compactMap { PercentEncoding.isEscaped($0) ? self.decodedOnce($0) : nil })
            guard !states.isEmpty else { return readings }
        }
        return nil
    }

    /// A prefix or rule of the configuration file as it stands in decoded paths.
    package static func decoded(_ path: String) -> String {
        var bytes = Array(path.utf8)
        for _ in 0..<self.maxDecodings where PercentEncoding.isEscaped(bytes) { bytes = self.decodedOnce(bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A path with its letters folded, as servers do that do not tell upper from lower case.
    ///
    /// Letters outside of ASCII whose other case is an ASCII letter, such as the Kelvin sign, are folded too.
    package static func folded(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(where: { $0 >= 0x80 }) else {
            return path.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }
        }
        return Array(String(decoding: path, as: UTF8.self).uppercased().lowercased().utf8)
    }

    /// Each escape decoded once; what is no escape stays.
    private static func decodedOnce(_ path: [UInt8]) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(path.count)
        var position = 0
        while position < path.count {
            if let value = PercentEncoding.escaped(at: position, in: path) {
                decoded.append(value)
                position += 3
            } else {
                decoded.append(path[position])
                position += 1
            }
        }
        return decoded
    }

    /// RFC 3986 §3.3: from each `;` to the end of its segment.
    private static func withoutParameters(_ path: [UInt8]) -> [UInt8] {
        guard path.contains(UInt8(ascii: ";")) else { return path }
        var kept: [UInt8] = []
        var isParameter = false
        for byte in path {
            if self.isSeparator(byte) { isParameter = false }
            if byte == UInt8(ascii: ";") { isParameter = true }
            if !isParameter { kept.append(byte) }
        }
        return kept
    }

    /// Whether a segment is `.` or `..`, with a backslash as a separator.
    private static func hasDotSegment(_ path: [UInt8]) -> Bool {
        path.split(omittingEmptySubsequences: true, whereSeparator: self.isSeparator).contains { segment in
            segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
        }
    }

    /// A path with backslashes as they are and as slashes, each with slashes as they are and merged.
    private static func separations(of path: [UInt8]) -> [[UInt8]] {
        let slashed = path.map { self.isSeparator($0) ? UInt8(ascii: "/") : $0 }
        return [path, slashed].flatMap { [$0, self.merged($0)] }
    }

    private static func merged(_ path: [UInt8]) -> [UInt8] {
        var merged: [UInt8] = []
        merged.reserveCapacity(path.count)
        for byte in path where byte != UInt8(ascii: "/") || merged.last != byte { merged.append(byte) }
        return merged
    }

    private static func isText(_ path: [UInt8]) -> Bool {
        !path.contains(0) && String(validating: path, as: UTF8.self) != nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }
}
