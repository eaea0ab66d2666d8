// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A path as an app server may see it.
package struct PathReading: Hashable, Sendable {
    /// The path in the server.
    package let path: [UInt8]
    /// Whether escapes were decoded, so that it is compared with decoded prefixes.
    package let isDecoded: Bool
}

/// The paths that app servers may see in a canonical path.
///
/// Servers decode a path once or several times, drop `;parameters` before or after that, end it at a `?` or `#` that
/// was escaped, take a backslash for a separator, merge slashes or take what follows two for a host, and resolve dot
/// segments again, in any order. A path is safe to forward where all its readings belong to the same app and the same
/// rule. Pure.
package enum PathReadings {
    /// The maximum number of readings; no client in use sends a path with more than a dozen.
    private static let maxReadings = 256
    /// The maximum number of paths that are derived from one path before it is decoded once more.
    private static let maxStates = 64

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

    /// The readings of a canonical path; at most 256.
    ///
    /// - Parameter path: The path as routes are matched by it.
    /// - Returns: The readings, the path itself among them; nil if some server sees a dot segment in it, a control
    ///   character or bytes that are not UTF-8, or if it is escaped more often or in more ways than any client does.
    ///   Where such a path leads depends on what the server does first, so no list of readings would be complete.
    package static func all(of path: [UInt8]) -> Set<PathReading>? {
        var readings: Set<PathReading> = []
        var states: Set<[UInt8]> = [path]
        for level in 0...PathNormalization.maxDecodings {
            if level > 0 { guard self.extend(&states, by: self.upToQuery) else { return nil } }
            for isSeparator in [self.isSlash, self.isSeparator] {
                guard self.extend(&states, by: { self.withoutParameters($0, upTo: isSeparator) }) else { return nil }
            }
            for state in states {
                guard !self.hasDotSegment(state), level == 0 || self.isText(state) else { return nil }
                for seen in self.separations(of: state) {
                    readings.insert(PathReading(path: seen, isDecoded: level > 0))
                    guard readings.count <= self.maxReadings else { return nil }
                }
            }
            states = Set(states.compactMap { PercentEncoding.isEscaped($0) ? PathNormalization.decodedOnce($0) : nil })
            guard !states.isEmpty else { return readings }
        }
        return nil
    }

    /// Whether app servers see in a canonical path nothing but the path itself, or the same with every escape decoded.
    ///
    /// On a route for any other path each request would be rejected, since a server could read it as one of no route.
    package static func isUnambiguous(_ path: String) -> Bool {
        guard let readings = self.all(of: Array(path.utf8)) else { return false }
        let decoded = Array(PathNormalization.decoded(path).utf8)
        return readings.allSatisfy { reading in
            reading.isDecoded ? reading.path == decoded : reading.path.elementsEqual(path.utf8)
        }
    }

    /// Adds what a step makes of each path; false when there are too many.
    private static func extend(_ states: inout Set<[UInt8]>, by step: ([UInt8]) -> [UInt8]) -> Bool {
        for state in states {
            states.insert(step(state))
            guard states.count <= self.maxStates else { return false }
        }
        return true
    }

    /// A path up to the first `?` or `#`, which was escaped.
    private static func upToQuery(_ path: [UInt8]) -> [UInt8] {
        Array(path.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
    }

    /// RFC 3986 §3.3: from each `;` to the end of its segment.
    private static func withoutParameters(_ path: [UInt8], upTo isEnd: (UInt8) -> Bool) -> [UInt8] {
        guard path.contains(UInt8(ascii: ";")) else { return path }
        var kept: [UInt8] = []
        var isParameter = false
        for byte in path {
            if isEnd(byte) { isParameter = false }
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

    /// A path with backslashes as they are and as slashes, each with slashes as they are and merged, and without the
    /// segment that a URL parser takes for a host after two slashes.
    private static func separations(of path: [UInt8]) -> [[UInt8]] {
        let slashed = path.map { self.isSeparator($0) ? UInt8(ascii: "/") : $0 }
        let seen = [path, slashed].flatMap { [$0, self.merged($0)] }
        guard slashed.starts(with: "//".utf8) else { return seen }
        let rest = slashed.dropFirst(2).drop { $0 != UInt8(ascii: "/") }
        return seen + [rest.isEmpty ? [UInt8(ascii: "/")] : Array(rest)]
    }

    private static func merged(_ path: [UInt8]) -> [UInt8] {
        var merged: [UInt8] = []
        merged.reserveCapacity(path.count)
        for byte in path where byte != UInt8(ascii: "/") || merged.last != byte { merged.append(byte) }
        return merged
    }

    private static func isText(_ path: [UInt8]) -> Bool {
        !path.contains { $0 < 0x20 || $0 == 0x7F } && String(validating: path, as: UTF8.self) != nil
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }
}
