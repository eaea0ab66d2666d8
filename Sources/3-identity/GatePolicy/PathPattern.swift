// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The paths that a rule covers: one path, all paths below one, or a pattern with wildcards.
///
/// - `/admin` is that path only.
/// - `/admin/` is that path and all paths below it.
/// - `*` is any number of characters within a segment, `**` any number of whole segments, also none: `/admin/**` is
///   `/admin` and all paths below it.
///
/// A pattern is kept in the spellings that app servers may see in a path. A look at a path takes time in proportion to its
/// length and that of the pattern at most.
package struct PathPattern: Sendable, Hashable {
    /// How a path is spelled that is compared with a pattern.
    package enum Spelling: Sendable, Hashable {
        /// As requests are matched.
        case canonical
        /// With all escapes decoded.
        case decoded
        /// The same with letters folded.
        case folded
    }

    /// The pattern as the file has it.
    package let text: String
    private let canonical: Segments
    private let decoded: Segments
    private let folded: Segments

    /// Reads a pattern; it starts with `/`, and every segment with `**` has nothing else.
    package init(_ text: String) {
        self.text = text
        self.canonical = Segments(Array(text.utf8))
        let decoded = Array(PathNormalization.decoded(text).utf8)
        self.decoded = Segments(decoded)
        self.folded = Segments(PathNormalization.folded(decoded))
    }

    /// Whether letter case decides about some path.
    package var hasCapitals: Bool { self.decoded != self.folded }

    /// Whether the pattern is one path only.
    package var isExact: Bool { self.canonical.isExact }

    /// Whether the pattern covers a path.
    ///
    /// - Parameters:
    ///   - path: The path without query.
    ///   - spelling: How the path is spelled.
    /// - Returns: Whether it does.
    package func covers(_ path: Span<UInt8>, as spelling: Spelling = .canonical) -> Bool {
        switch spelling {
        case .canonical: self.canonical.cover(path)
        case .decoded: self.decoded.cover(path)
        case .folded: self.folded.cover(path)
        }
    }

    /// Whether the pattern can cover a path of an app with a path prefix.
    package func mayCoverPath(below prefix: String) -> Bool {
        let fixed = self.text.prefix { $0 != "*" }
        let isCovered = fixed == prefix || fixed.hasPrefix("\(prefix)/")
        return prefix == "/" || isCovered || (fixed.count < self.text.count && "\(prefix)/".hasPrefix(fixed))
    }

    /// Whether the pattern covers all paths that another one covers; false if that is not known.
    package func includes(_ other: PathPattern) -> Bool {
        guard self != other else { return true }
        return other.isExact ? self.covers(Array(other.text.utf8).span) : self.canonical.isAllBelow(other.canonical)
    }
}

/// One spelling of a pattern.
private struct Segments: Sendable, Hashable {
    private enum Segment: Sendable, Hashable {
        case literal([UInt8])
        case wildcard([UInt8])
        case anySegments
    }

    private let bytes: [UInt8]
    private let segments: [Segment]
    private let hasWildcards: Bool

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        self.hasWildcards = bytes.contains(UInt8(ascii: "*"))
        let texts = bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var segments = texts.map { text -> Segment in
            if text.elementsEqual("**".utf8) { return .anySegments }
            return text.contains(UInt8(ascii: "*")) ? .wildcard(Array(text)) : .literal(Array(text))
        }
        if segments.last == .literal([]) {
            // A slash at the end means at least one further segment, which may be empty.
            segments.removeLast()
            segments += [.wildcard([UInt8(ascii: "*")]), .anySegments]
        }
        self.segments = segments
    }

    private var isPrefix: Bool { !self.hasWildcards && self.bytes.last == UInt8(ascii: "/") }
    var isExact: Bool { !self.hasWildcards && !self.isPrefix }

    func cover(_ path: Span<UInt8>) -> Bool {
        guard self.hasWildcards else { return self.coverPlainly(path) }
        guard !path.isEmpty, path[0] == UInt8(ascii: "/") else { return false }
        var (segment, position) = (0, 1)
        // Where the last `**` is, and which segment of the path it ends before.
        var (last, resume) = (-1, 0)
        while position <= path.count {
            let end = Segments.end(of: path, from: position)
            if segment < self.segments.count, self.segments[segment] == .anySegments {
                (last, resume) = (segment, position)
                segment += 1
            } else if segment < self.segments.count, Segments.match(self.segments[segment], path, position..<end) {
                (segment, position) = (segment + 1, end + 1)
            } else {
                guard last >= 0 else { return false }
                resume = Segments.end(of: path, from: resume) + 1
                (segment, position) = (last + 1, resume)
            }
        }
        while segment < self.segments.count, self.segments[segment] == .anySegments { segment += 1 }
        return segment == self.segments.count
    }

    /// Whether the pattern is `/x/**` or `/x/`, and the other one has no path that is not below `/x`.
    func isAllBelow(_ other: Segments) -> Bool {
        guard self.segments.last == .anySegments else { return false }
        let prefix = self.segments.dropLast(self.isPrefix ? 2 : 1)
        guard prefix.allSatisfy({ if case .literal = $0 { true } else { false } }) else { return false }
        return other.segments.count >= prefix.count + (self.isPrefix ? 1 : 0)
            && other.segments.prefix(prefix.count).elementsEqual(prefix)
            && !(self.isPrefix && other.segments.count == prefix.count + 1 && other.segments.last == .anySegments)
    }

    private func coverPlainly(_ path: Span<UInt8>) -> Bool {
        guard self.isPrefix ? path.count >= self.bytes.count : path.count == self.bytes.count else { return false }
        for index in self.bytes.indices where path[index] != self.bytes[index] { return false }
        return true
    }

    private static func end(of path: Span<UInt8>, from start: Int) -> Int {
        var end = start
        while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
        return end
    }

    private static func match(_ segment: Segment, _ path: Span<UInt8>, _ range: Range<Int>) -> Bool {
        switch segment {
        case .anySegments: return true
        case .literal(let bytes):
            guard bytes.count == range.count else { return false }
            for index in bytes.indices where path[range.lowerBound + index] != bytes[index] { return false }
            return true
        case .wildcard(let bytes): return self.match(bytes, path, range)
        }
    }

    /// Compares a segment with `*` in it: after a mismatch, the last `*` covers one byte more.
    private static func match(_ wildcard: [UInt8], _ path: Span<UInt8>, _ range: Range<Int>) -> Bool {
        var (index, position) = (0, range.lowerBound)
        var (last, resume) = (-1, 0)
        while position < range.upperBound {
            if index < wildcard.count, wildcard[index] == UInt8(ascii: "*") {
                (last, resume) = (index, position)
                index += 1
            } else if index < wildcard.count, wildcard[index] == path[position] {
                (index, position) = (index + 1, position + 1)
            } else {
                guard last >= 0 else { return false }
                resume += 1
                (index, position) = (last + 1, resume)
            }
        }
        while index < wildcard.count, wildcard[index] == UInt8(ascii: "*") { index += 1 }
        return index == wildcard.count
    }
}
