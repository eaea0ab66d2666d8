// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// How large a reply may be; a larger one is skipped, so that it fails its own command only.
struct RESPLimits: Equatable {
    /// The maximum size of a reply, in bytes.
    let bytes: Int
    /// The maximum number of values in a reply, lists included.
    let values: Int

    /// Those of nearly all commands: a session record has less than 10 KiB.
    static let standard = RESPLimits(bytes: 1 << 20, values: 10_000)
    /// Those of the map of a cluster, which may have a range for each slot, and some nodes in each range.
    static let clusterMap = RESPLimits(bytes: 32 << 20, values: 1 << 20)
}

/// Reads RESP3 values from the bytes of a connection, however they are divided.
///
/// The types of values and their first bytes: the RESP specification of Redis. Streamed values and attributes are
/// rejected: the commands that are used have neither. Memory is bounded by the limits of the reply, whatever its size is.
struct RESPReader {
    /// The maximum depth of lists in lists.
    static let maxDepth = 4
    /// The maximum size of a text or list that is skipped: one beyond is not a reply of Redis.
    private static let maxCount = Int64(UInt32.max)

    /// A list whose values are not all there.
    private struct OpenList {
        let isPush: Bool
        var left: Int64
        var values: [RESPValue] = []
    }

    private var buffer = ByteBuffer()
    private var lists: [OpenList] = []
    /// What was read of the reply in progress.
    private var bytes = 0
    private var values = 0
    /// How many bytes of a text are still to be skipped, with its end.
    private var left = 0
    /// Whether the reply in progress is over its limits, so that none of it is kept.
    private var isTooLarge = false

    /// Whether what comes next belongs to a reply over its limits.
    var isSkipping: Bool { self.isTooLarge || self.left > 0 }

    /// Adds what was received.
    mutating func append(_ bytes: ByteBuffer) {
        self.buffer.discardReadBytes()
        self.buffer.writeImmutableBuffer(bytes)
    }

    /// The next value; nil if more bytes are needed.
    ///
    /// - Parameter limits: How large the value may be.
    /// - Returns: The value, ``RESPValue/tooLarge`` for one over the limits.
    /// - Throws: If the bytes are not RESP.
    mutating func next(_ limits: RESPLimits = .standard) throws(RESPViolation) -> RESPValue? {
        while self.skipText() {
            let before = self.buffer.readerIndex
            guard let item = try self.item(limits) else { return nil }
            self.bytes += self.buffer.readerIndex - before
            if self.bytes > limits.bytes || self.values > limits.values { self.skip() }
            guard let reply = self.add(item) else { continue }
            defer { (self.bytes, self.values, self.isTooLarge) = (0, 0, false) }
            guard self.isTooLarge else { return reply }
            // A message that is pushed belongs to no command, so none fails with it.
            if case .push = reply { return .push([]) }
            return .tooLarge
        }
        return nil
    }

    /// A part of a reply.
    private enum Item {
        case value(RESPValue)
        case list(count: Int64, isPush: Bool)
    }

    /// Adds a part to the reply in progress; returns the reply if that was its last one.
    private mutating func add(_ item: Item) -> RESPValue? {
        var complete: RESPValue
        switch item {
        case .value(let value): complete = value
        case .list(0, let isPush): complete = isPush ? .push([]) : .list([])
        case .list(let count, let isPush):
            self.lists.append(OpenList(isPush: isPush, left: count))
            return nil
        }
        while var list = self.lists.popLast() {
            if !self.isTooLarge { list.values.append(complete) }
            list.left -= 1
            guard list.left == 0 else {
                self.lists.append(list)
                return nil
            }
            complete = list.isPush ? .push(list.values) : .list(list.values)
        }
        return complete
    }

    /// Drops what is known of the reply in progress, and what comes of it.
    private mutating func skip() {
        guard !self.isTooLarge else { return }
        self.isTooLarge = true
        for index in self.lists.indices { self.lists[index].values = [] }
    }

    /// Skips the rest of a text; false if more bytes are needed.
    private mutating func skipText() -> Bool {
        let count = min(self.left, self.buffer.readableBytes)
        self.buffer.moveReaderIndex(forwardBy: count)
        self.left -= count
        return self.left == 0
    }
}

// MARK: Parts

extension RESPReader {
    /// The next part; nil if more bytes are needed, and then none is taken.
    private mutating func item(_ limits: RESPLimits) throws(RESPViolation) -> Item? {
        let start = self.buffer.readerIndex
        guard let line = try self.line(limits) else { return nil }
        let rest = line.dropFirst()
        self.values += 1
        switch line[line.startIndex] {
        case UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: "("): return .value(.text(Array(rest)))
        case UInt8(ascii: "-"): return .value(.error(String(decoding: rest, as: UTF8.self)))
        case UInt8(ascii: ":"): return .value(.integer(try self.number(rest)))
        case UInt8(ascii: "#"): return .value(.integer(rest.first == UInt8(ascii: "t") ? 1 : 0))
        case UInt8(ascii: "_"): return .value(.null)
        case UInt8(ascii: "*"), UInt8(ascii: "~"): return try self.list(rest, of: 1)
        case UInt8(ascii: "%"): return try self.list(rest, of: 2)
        case UInt8(ascii: ">"):
            guard self.lists.isEmpty, case .list(let count, _) = try self.list(rest, of: 1) else {
                throw RESPViolation(reason: "a push without values")
            }
            return .list(count: count, isPush: true)
        case UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "!"):
            if let value = try self.text(rest, kind: line[line.startIndex], limits) { return .value(value) }
            self.buffer.moveReaderIndex(to: start)
            self.values -= 1
            return nil
        default: throw RESPViolation(reason: "a reply starts with the byte \(line[line.startIndex])")
        }
    }

    /// A line without its end; never empty.
    private mutating func line(_ limits: RESPLimits) throws(RESPViolation) -> ByteBufferView.SubSequence? {
        let view = self.buffer.readableBytesView
        guard let end = view.firstIndex(of: UInt8(ascii: "\r")), end + 1 < view.endIndex else {
            guard view.count <= limits.bytes else { throw RESPViolation(reason: "a line of a reply is too long") }
            return nil
        }
        guard view[end + 1] == UInt8(ascii: "\n"), end > view.startIndex else {
            throw RESPViolation(reason: "a line of a reply is malformed")
        }
        self.buffer.moveReaderIndex(to: end + 2)
        return view[view.startIndex..<end]
    }

    private func number(_ text: ByteBufferView.SubSequence) throws(RESPViolation) -> Int64 {
        guard let number = Int64(String(decoding: text, as: UTF8.self)) else {
            throw RESPViolation(reason: "a number of a reply is malformed")
        }
        return number
    }

    /// A number of bytes or values; nil for -1.
    private func count(_ text: ByteBufferView.SubSequence) throws(RESPViolation) -> Int64? {
        let count = try self.number(text)
        guard count != -1 else { return nil }
        guard (0...Self.maxCount).contains(count) else {
            throw RESPViolation(reason: "a part of a reply has the size \(count)")
        }
        return count
    }

    /// A text after its length, null for -1; nil if more bytes are needed.
    ///
    /// One over the limits is skipped as it arrives.
    private mutating func text(
        _ text: ByteBufferView.SubSequence,
        kind: UInt8,
        _ limits: RESPLimits
    ) throws(RESPViolation) -> RESPValue? {
        guard let size = try self.count(text) else { return .null }
        let count = Int(size)
        guard !self.isTooLarge, count <= limits.bytes - self.bytes else {
            self.skip()
            self.left = count + 2
            return .null
        }
        let view = self.buffer.readableBytesView
        guard count + 2 <= view.count else { return nil }
        let end = view.startIndex + count
        guard view[end] == UInt8(ascii: "\r"), view[end + 1] == UInt8(ascii: "\n") else {
            throw RESPViolation(reason: "a text is longer than its length")
        }
        let found = Array(view[view.startIndex..<end])
        self.buffer.moveReaderIndex(forwardBy: count + 2)
        switch kind {
        case UInt8(ascii: "!"): return .error(String(decoding: found, as: UTF8.self))
        // A verbatim text begins with its format and a colon: `txt:`.
        case UInt8(ascii: "="): return .text(Array(found.dropFirst(4)))
        default: return .text(found)
        }
    }

    private mutating func list(_ text: ByteBufferView.SubSequence, of size: Int64) throws(RESPViolation) -> Item {
        guard let count = try self.count(text) else { return .value(.null) }
        guard self.lists.count < Self.maxDepth else { throw RESPViolation(reason: "a reply is too deep") }
        return .list(count: count * size, isPush: false)
    }
}
