// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Finds the cookie that holds a whole session: one cookie, or several pieces of a long value.
///
/// A value is accepted in one form only: no piece is missing, doubled or superfluous, and each but the last is as long as
/// it may be. The pieces have one seal in common, so those of different values never open together.
package struct SplitCookie: Sendable {
    /// The maximum length of a piece: with name and attributes it is below 4,000 bytes, which every browser keeps.
    package static let maxPieceBytes = 3900
    /// The maximum length of a value: with the cookies of apps, the `Cookie` field stays below the 8 KiB that servers and
    /// proxies accept by default.
    package static let maxBytes = 7000
    /// The maximum number of pieces.
    static let maxPieces = (maxBytes + maxPieceBytes - 1) / maxPieceBytes

    private let name: [UInt8]

    /// Finds the cookie of a name.
    package init(name: String) {
        self.name = Array(name.utf8)
    }

    /// The value in a `Cookie` field; nil if the cookie is absent, or in another form than ``GatewayCookie`` sets.
    package func value(in field: Span<UInt8>) -> [UInt8]? {
        var pieces = [Range<Int>?](repeating: nil, count: SplitCookie.maxPieces)
        var start = 0
        while start < field.count {
            let end = field.position(of: UInt8(ascii: ";"), from: start)
            switch self.piece(in: field, from: start, to: end) {
            case .foreign: break
            case .malformed: return nil
            case .piece(let index, let range):
                guard pieces[index] == nil else { return nil }
                pieces[index] = range
            }
            start = end + 1
        }
        return SplitCookie.joined(pieces, in: field)
    }

    private static func joined(_ pieces: [Range<Int>?], in field: Span<UInt8>) -> [UInt8]? {
        let ranges = pieces.prefix { $0 != nil }.compactMap(\.self)
        guard !ranges.isEmpty, pieces.dropFirst(ranges.count).allSatisfy({ $0 == nil }) else { return nil }
        guard ranges.dropLast().allSatisfy({ $0.count == self.maxPieceBytes }) else { return nil }
        let count = ranges.reduce(0) { $0 + $1.count }
        guard count <= self.maxBytes else { return nil }
        var value: [UInt8] = []
        value.reserveCapacity(count)
        for range in ranges {
            guard (1...self.maxPieceBytes).contains(range.count) else { return nil }
            for index in range { value.append(field[index]) }
        }
        return value
    }

    private enum Pair {
        /// A cookie of another name.
        case foreign
        /// A piece that cannot belong to a value.
        case malformed
        case piece(Int, Range<Int>)
    }

    private func piece(in field: Span<UInt8>, from start: Int, to end: Int) -> Pair {
        var (start, end) = (start, end)
        while start < end, field[start] == 0x20 || field[start] == 0x09 { start += 1 }
        while end > start, field[end - 1] == 0x20 || field[end - 1] == 0x09 { end -= 1 }
        guard end - start > self.name.count else { return .foreign }
        for offset in 0..<self.name.count where field[start + offset] != self.name[offset] { return .foreign }
        var mark = start + self.name.count
        guard field[mark] == UInt8(ascii: "_") else {
            return field[mark] == UInt8(ascii: "=") ? .piece(0, (mark + 1)..<end) : .foreign
        }
        mark += 1
        // One digit suffices, and nothing is computed from more of them.
        guard mark + 1 < end, field[mark + 1] == UInt8(ascii: "=") else {
            return self.isIndex(field, from: mark, to: end) ? .malformed : .foreign
        }
        let index = Int(field[mark]) - 0x30
        guard (0...9).contains(index) else { return .foreign }
        return (1..<SplitCookie.maxPieces).contains(index) ? .piece(index, (mark + 2)..<end) : .malformed
    }

    /// Whether the rest of a name is digits only, as in the names that only the gateway may set.
    private func isIndex(_ field: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        var end = end
        for index in start..<end where field[index] == UInt8(ascii: "=") {
            end = index
            break
        }
        return (start..<end).allSatisfy { (0x30...0x39).contains(field[$0]) }
    }
}

extension SplitCookie {
    /// A value in pieces; one for a short value.
    static func pieces(of value: String) -> [String] {
        let bytes = Array(value.utf8)
        let starts = stride(from: 0, to: max(1, bytes.count), by: self.maxPieceBytes)
        return starts.map { String(decoding: bytes[$0..<min($0 + self.maxPieceBytes, bytes.count)], as: UTF8.self) }
    }

    /// The name of a piece; the first has that of the cookie.
    static func name(of cookie: String, piece: Int) -> String { piece == 0 ? cookie : "\(cookie)_\(piece)" }
}
