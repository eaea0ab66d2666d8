// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import GateWire
package import NIOCore

/// The name of a value in log lines, as the bytes that precede the value in both formats.
package struct LogKey: Sendable {
    fileprivate let text: ShortBytes
    fileprivate let json: ShortBytes

    /// A name of letters and `_`.
    package init(_ name: String) {
        self.text = ShortBytes(" \(name)=")
        self.json = ShortBytes(",\"\(name)\":")
    }
}

/// A name with a value that is always the same, as bytes in both formats.
package struct LogFact: Sendable {
    fileprivate let text: ShortBytes
    fileprivate let json: ShortBytes

    /// A name of letters and `_`, and a word that needs no quoting in text.
    package init(_ name: String, _ value: String) {
        self.text = ShortBytes(" \(name)=\(value)")
        self.json = ShortBytes(",\"\(name)\":\"\(value)\"")
    }
}

/// Bytes that are mostly few enough to be written as some words, which costs less than a loop.
private struct ShortBytes: Sendable {
    static let maxWords = 3

    /// Eight bytes each, the first in the lowest byte.
    let words: InlineArray<3, UInt64>
    let count: Int
    /// All of them where they are too many.
    let long: [UInt8]?

    init(_ text: String) {
        var words = InlineArray<3, UInt64>(repeating: 0)
        for (index, byte) in text.utf8.prefix(8 * ShortBytes.maxWords).enumerated() {
            words[index / 8] |= UInt64(byte) << UInt64(index % 8 * 8)
        }
        self.words = words
        self.count = text.utf8.count
        self.long = text.utf8.count > 8 * ShortBytes.maxWords ? Array(text.utf8) : nil
    }
}

/// What lines of one kind have between their time and their values, as bytes in both formats.
package struct LogOpening: Sendable {
    fileprivate let text: [UInt8]
    fileprivate let json: [UInt8]

    /// An opening.
    ///
    /// - Parameters:
    ///   - level: The level, as swift-log names it.
    ///   - stream: The stream.
    ///   - message: What happened, in words of ours.
    package init(level: String, stream: LogStream, message: String) {
        self.text = Array(" \(level) \(PrintableText.escaped(message, limit: LogLine.maxValue))".utf8)
        var line = LogLine(.json)
        line.writeJSON(message)
        let quoted = line.values
        let opening = "\",\"level\":\"\(level)\",\"stream\":\"\(stream.rawValue)\",\"message\":"
        self.json = Array(opening.utf8) + quoted
    }
}

/// The one way in which a log line becomes bytes, as text or as JSON.
///
/// A value is printable text of a bounded length whatever was received (``PrintableText``), so no value begins a line, steers a
/// terminal or ends a string. A line has at most about 64 KiB.
///
/// The bytes are in memory of the line's own. ``reserve(_:)`` leaves ``margin`` bytes after what it was asked for, which the key
/// and the short pieces of one value need without a check: an access line has some sixty pieces, and checks would cost as much as
/// they do.
@safe package struct LogLine: ~Copyable {
    private let isJSON: Bool
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private var count = 0

    /// How many scalars of a value a line has at most.
    static let maxValue = 4096
    /// The size from which on a line takes no more values.
    private static let maxBytes = 16_384
    /// How much there is in the memory for pieces of a known length, such as a key and a number.
    private static let margin = 128

    package init(_ format: LogFormat) {
        self.isJSON = format == .json
        self.capacity = 1024
        unsafe self.memory = .allocate(byteCount: 1024, alignment: 8)
    }

    deinit { unsafe self.memory.deallocate() }

    /// The length so far, in bytes.
    package var length: Int { self.count }

    /// The line, with its line break once it has ended.
    package var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        self.copy(to: &buffer)
        return buffer
    }

    /// Appends the line to what is to be written.
    func copy(to buffer: inout ByteBuffer) {
        unsafe buffer.writeBytes(UnsafeRawBufferPointer(start: self.memory, count: self.count))
    }

    /// Makes the line empty again, for the next one.
    package mutating func clear() { self.count = 0 }

    /// Writes what every line begins with.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - level: The level, as swift-log names it.
    ///   - stream: The stream.
    ///   - message: What happened, in words of ours.
    package mutating func begin(_ time: inout LogTime, level: String, stream: LogStream, message: String) {
        let opening = LogOpening(level: level, stream: stream, message: message)
        self.begin(&time, opening, isExact: stream == .access)
    }

    /// Writes what every line begins with.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - opening: What follows it.
    ///   - isExact: Whether a line of text has milliseconds; JSON always has.
    ///   - deadline: The monotonic time; nil to read the clock.
    package mutating func begin(
        _ time: inout LogTime,
        _ opening: LogOpening,
        isExact: Bool,
        at deadline: NIODeadline? = nil
    ) {
        if self.isJSON { self.copy(LogLine.start.span) }
        let milliseconds = time.refresh(at: deadline)
        self.copy(time.text.span)
        if self.isJSON || isExact {
            self.put(UInt8(ascii: "."))
            self.put(decimals: milliseconds)
        }
        self.put(UInt8(ascii: "Z"))
        self.copy(self.isJSON ? opening.json.span : opening.text.span)
    }

    private static let start = Array("{\"time\":\"".utf8)

    package mutating func add(_ key: LogKey, _ value: String) {
        guard !self.addPlain(key, value.utf8Span.span), self.begins(key) else { return }
        self.writeEscaped(value)
    }

    /// Adds bytes that were received.
    package mutating func add(_ key: LogKey, bytes value: Span<UInt8>) {
        guard !self.addPlain(key, value), self.begins(key) else { return }
        var copy: [UInt8] = []
        for position in value.indices { copy.append(value[position]) }
        let text = String(decoding: copy, as: UTF8.self)
        self.writeEscaped(text)
    }

    package mutating func add(_ key: LogKey, _ id: RequestID) {
        guard case .own(let digits) = id else { return self.add(key, id.text) }
        guard self.begins(key) else { return }
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
        self.put(digits.prefix.first.byteSwapped, length: 8)
        self.put(digits.prefix.last.byteSwapped, length: 8)
        self.put(digits.rest.first.byteSwapped, length: 8)
        self.put(digits.rest.last.byteSwapped, length: 8)
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
    }

    /// Adds a name with a value that is always the same.
    package mutating func add(_ fact: borrowing LogFact) {
        guard self.count < LogLine.maxBytes else { return }
        self.reserve(0)
        if self.isJSON { self.put(fact.json) } else { self.put(fact.text) }
    }

    /// Adds values that ``values`` has returned.
    package mutating func add(_ values: [UInt8]) {
        guard self.count < LogLine.maxBytes else { return }
        self.copy(values.span)
    }

    /// What was added to a line that was not begun, for lines of the same format that have it too.
    var values: [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: self.memory, count: self.count))
    }

    package mutating func add(_ key: LogKey, _ value: Int) {
        guard self.begins(key) else { return }
        self.put(value)
    }

    /// Adds a time in milliseconds, with three decimals.
    package mutating func add(_ key: LogKey, milliseconds time: TimeAmount) {
        let microseconds = UInt64(max(0, time.nanoseconds)) / 1000
        let milliseconds = microseconds / 1000
        let decimals = LogLine.decimals(of: microseconds - 1000 * milliseconds) << 8 | UInt64(UInt8(ascii: "."))
        guard self.begins(key) else { return }
        if milliseconds < 10 {
            self.put((0x30 + milliseconds) | decimals << 8, length: 5)
        } else if let whole = LogLine.digits(of: Int(milliseconds)), whole.length <= 4 {
            self.put(whole.word | decimals << UInt64(8 * whole.length), length: whole.length + 4)
        } else {
            self.put(Int(milliseconds))
            self.put(decimals, length: 4)
        }
    }

    package mutating func end() {
        self.reserve(0)
        if self.isJSON { self.put(UInt8(ascii: "}")) }
        self.put(UInt8(ascii: "\n"))
    }

    private mutating func begins(_ key: LogKey) -> Bool {
        guard self.count < LogLine.maxBytes else { return false }
        self.reserve(0)
        if self.isJSON { self.put(key.json) } else { self.put(key.text) }
        return true
    }
}

// MARK: Bytes

extension LogLine {
    /// Makes sure that there is memory for this many bytes more, and for the margin.
    @inline(__always) private mutating func reserve(_ length: Int) {
        guard self.count + length + LogLine.margin > self.capacity else { return }
        self.grow(by: length)
    }

    private mutating func grow(by length: Int) {
        let capacity = max(self.count + length + LogLine.margin, 2 * self.capacity)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        unsafe memory.copyMemory(from: self.memory, byteCount: self.count)
        unsafe self.memory.deallocate()
        unsafe (self.memory, self.capacity) = (memory, capacity)
    }

    /// Writes a byte; only where the margin is known to be there.
    @inline(__always) private mutating func put(_ byte: UInt8) {
        unsafe self.memory.storeBytes(of: byte, toByteOffset: self.count, as: UInt8.self)
        self.count += 1
    }

    /// Writes some of the bytes of a word, the lowest first; only where the margin is known to be there.
    @inline(__always) private mutating func put(_ word: UInt64, length: Int) {
        unsafe self.memory.storeBytes(of: word.littleEndian, toByteOffset: self.count, as: UInt64.self)
        self.count += length
    }

    /// Writes a key; only where the margin is known to be there.
    private mutating func put(_ bytes: borrowing ShortBytes) {
        // Copying a long one reserves memory for it, and the margin again.
        if let long = bytes.long { return self.copy(long.span) }
        let target = unsafe self.memory + self.count
        unsafe target.storeBytes(of: bytes.words[0].littleEndian, as: UInt64.self)
        unsafe target.storeBytes(of: bytes.words[1].littleEndian, toByteOffset: 8, as: UInt64.self)
        unsafe target.storeBytes(of: bytes.words[2].littleEndian, toByteOffset: 16, as: UInt64.self)
        self.count += bytes.count
    }

    /// Writes the last three digits of a number; only where the margin is known to be there.
    private mutating func put(decimals number: Int) {
        self.put(LogLine.decimals(of: UInt64(number)), length: 3)
    }

    /// Writes a number; only where the margin is known to be there.
    private mutating func put(_ number: Int) {
        guard let digits = LogLine.digits(of: number) else { return self.copy("\(number)") }
        self.put(digits.word, length: digits.length)
    }

    /// The digits of a number in a word, the first in the lowest byte; nil for a negative one and one of more than seven digits.
    private static func digits(of number: Int) -> (word: UInt64, length: Int)? {
        guard number >= 0, number < 10_000_000 else { return nil }
        var (word, length, rest) = (0x30 + UInt64(number % 10), 1, number / 10)
        while rest > 0 {
            word = word << 8 | (0x30 + UInt64(rest % 10))
            length += 1
            rest /= 10
        }
        return (word, length)
    }

    /// The last three digits of a number below 1000 in a word, the first in the lowest byte.
    private static func decimals(of number: UInt64) -> UInt64 {
        // Products in place of divisions, exact for so small numbers.
        let hundreds = (number &* 1311) >> 17
        let rest = number &- 100 &* hundreds
        let tens = (rest &* 205) >> 11
        return (hundreds | tens << 8 | (rest &- 10 &* tens) << 16) &+ 0x30_3030
    }

    private mutating func copy(_ text: String) { self.copy(text.utf8Span.span) }

    private mutating func copy(_ bytes: Span<UInt8>) {
        self.reserve(bytes.count)
        let target = unsafe self.memory + self.count
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { unsafe target.copyMemory(from: start, byteCount: source.count) }
        }
        self.count += bytes.count
    }

    /// Adds a value that is the same in both formats but for the quotation marks; it is copied while it is looked at, eight bytes
    /// at a time, of which those at the end overlap others.
    ///
    /// - Returns: Whether it is such a value; otherwise nothing is written.
    private mutating func addPlain(_ key: LogKey, _ value: Span<UInt8>) -> Bool {
        let (length, before) = (value.count, self.count)
        guard length <= LogLine.maxValue, length > 0, self.begins(key) else { return false }
        // After the key, which may be long.
        self.reserve(length)
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
        let target = unsafe self.memory + self.count
        guard unsafe LogLine.copyPlain(value, to: target) else {
            self.count = before
            return false
        }
        self.count += length
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
        return true
    }

    /// Copies bytes as long as none has a meaning in a format.
    private static func copyPlain(_ value: Span<UInt8>, to target: UnsafeMutableRawPointer) -> Bool {
        let bytes = unsafe value.bytes
        guard value.count >= 8 else {
            var word: UInt64 = 0
            for index in value.indices { word |= UInt64(value[index]) << UInt64(8 * index) }
            // What is not there is taken for letters.
            let rest = 0x4141_4141_4141_4141 << UInt64(8 * value.count) as UInt64
            unsafe target.storeBytes(of: word.littleEndian, as: UInt64.self)
            return LogLine.isPlain(word | rest)
        }
        let last = value.count - 8
        var index = 0
        while index < last {
            let word = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: index, as: UInt64.self)
            guard LogLine.isPlain(word) else { return false }
            unsafe target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        let word = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: last, as: UInt64.self)
        unsafe target.storeBytes(of: word, toByteOffset: last, as: UInt64.self)
        return LogLine.isPlain(word)
    }

    /// Whether all bytes of a word are from `!` to `~`, and none is `"`, `\` or `=`.
    private static func isPlain(_ word: UInt64) -> Bool {
        let (ones, tops) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
        // The top bit of a byte is set where it is less than `!`, or where it is zero after the exclusive or.
        let isLow = (word &- 0x21 &* ones) & ~word
        let delete = word ^ 0x7F &* ones
        let quote = word ^ 0x22 &* ones
        let backslash = word ^ 0x5C &* ones
        let equals = word ^ 0x3D &* ones
        let isOther = (delete &- ones) & ~delete | (quote &- ones) & ~quote
        let isSign = (backslash &- ones) & ~backslash | (equals &- ones) & ~equals
        return (word | isLow | isOther | isSign) & tops == 0
    }

    private mutating func writeEscaped(_ value: String) {
        if self.isJSON { self.writeJSON(value) } else { self.writeText(value) }
    }

    fileprivate mutating func writeJSON(_ value: String) {
        let shown = PrintableText.escaped(value, limit: LogLine.maxValue)
        self.reserve(2 * shown.utf8.count)
        self.put(UInt8(ascii: "\""))
        for byte in shown.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { self.put(UInt8(ascii: "\\")) }
            self.put(byte)
        }
        self.put(UInt8(ascii: "\""))
    }

    private mutating func writeText(_ value: String) {
        let shown = PrintableText.escaped(value, limit: LogLine.maxValue)
        let needsQuotes = shown.utf8.contains { $0 == 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }
        let isQuoted = shown.isEmpty || needsQuotes
        self.copy(isQuoted ? "\"\(shown.replacing("\"", with: "'"))\"" : shown)
    }
}

/// The time of log lines: RFC 3339 in UTC, with milliseconds except in text about the process.
///
/// It keeps the text of the current second, so that not every line formats a date.
package struct LogTime {
    private let clock: WallClock
    /// The last reading of the clock, with its monotonic time.
    private var reading: (at: NIODeadline, milliseconds: Int64) = (.distantPast, 0)
    private var second = Int64.min
    /// The text of the second, without `Z`.
    fileprivate private(set) var text: [UInt8] = []

    /// The time of this clock.
    package init(_ clock: WallClock = .system) {
        self.clock = clock
    }

    /// Reads the clock.
    ///
    /// - Parameter deadline: The monotonic time, which the caller has read already; from it follows the time of day for a
    ///   second after a reading of the clock, so that most access lines read none.
    /// - Returns: The milliseconds within the second of ``text``.
    fileprivate mutating func refresh(at deadline: NIODeadline?) -> Int {
        let milliseconds = deadline.map { self.milliseconds(at: $0) } ?? self.clock.milliseconds
        let second = milliseconds / 1000
        if second != self.second {
            self.second = second
            self.text = Array(Instant(seconds: second).timestamp.utf8.dropLast())
        }
        return max(0, Int(milliseconds % 1000))
    }

    private mutating func milliseconds(at deadline: NIODeadline) -> Int64 {
        let since = (deadline - self.reading.at).nanoseconds
        if since >= 0, since < 1_000_000_000 { return self.reading.milliseconds + since / 1_000_000 }
        self.reading = (deadline, self.clock.milliseconds)
        return self.reading.milliseconds
    }
}
