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
        let opening = "\",\"level\":\"\(level)\",\"stream\":\"\(stream.rawValue)\",\"message\":"
        self.json = Array(opening.utf8) + line.written
    }
}

/// The one way in which a log line becomes bytes, as text or as JSON.
///
/// A value is printable text of a bounded length whatever was received (``PrintableText``), so no value begins a line, steers a
/// terminal or ends a string. A line has at most about 64 KiB.
///
/// The bytes are in an array of which only the beginning is in use, since an access line has some sixty pieces: appending each
/// to a buffer would cost several times as much as the pieces.
package struct LogLine {
    private let isJSON: Bool
    private var storage: [UInt8]
    private var count = 0

    /// How many scalars of a value a line has at most.
    static let maxValue = 4096
    /// The size from which on a line takes no more values.
    private static let maxBytes = 16_384
    /// How much there is in the storage for a piece of a known length, such as a number.
    private static let margin = 128

    /// An empty line.
    package init(_ format: LogFormat) {
        self.isJSON = format == .json
        self.storage = [UInt8](repeating: 0, count: 1024)
    }

    /// The length so far, in bytes.
    package var length: Int { self.count }

    /// The line, with its line break once it has ended.
    package var bytes: ByteBuffer { ByteBuffer(bytes: self.written) }

    fileprivate var written: ArraySlice<UInt8> { self.storage[..<self.count] }

    /// Appends the line to what is to be written.
    func copy(to buffer: inout ByteBuffer) { buffer.writeBytes(self.written) }

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
    package mutating func begin(_ time: inout LogTime, _ opening: LogOpening, isExact: Bool) {
        if self.isJSON { self.copy(LogLine.start.span) }
        let milliseconds = time.refresh()
        self.copy(time.text.span)
        if self.isJSON || isExact {
            self.put(UInt8(ascii: "."))
            self.put(decimals: milliseconds)
        }
        self.put(UInt8(ascii: "Z"))
        self.copy(self.isJSON ? opening.json.span : opening.text.span)
    }

    private static let start = Array("{\"time\":\"".utf8)

    /// Adds a text.
    package mutating func add(_ key: LogKey, _ value: String) {
        guard self.begins(key) else { return }
        guard !self.copyPlain(value.utf8Span.span) else { return }
        self.writeEscaped(value)
    }

    /// Adds bytes that were received.
    package mutating func add(_ key: LogKey, bytes value: Span<UInt8>) {
        guard self.begins(key) else { return }
        guard !self.copyPlain(value) else { return }
        var copy: [UInt8] = []
        for position in value.indices { copy.append(value[position]) }
        let text = String(decoding: copy, as: UTF8.self)
        self.writeEscaped(text)
    }

    /// Adds the id of a request.
    package mutating func add(_ key: LogKey, _ id: RequestID) {
        guard case .own(let high, let low) = id else { return self.add(key, id.text) }
        guard self.begins(key) else { return }
        let digits = RequestID.digits(high, low)
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
        for index in digits.indices { self.put(digits[index].byteSwapped, length: 8) }
        if self.isJSON { self.put(UInt8(ascii: "\"")) }
    }

    /// Adds a number.
    package mutating func add(_ key: LogKey, _ value: Int) {
        guard self.begins(key) else { return }
        self.put(value)
    }

    /// Adds a time in milliseconds, with three decimals.
    package mutating func add(_ key: LogKey, milliseconds time: TimeAmount) {
        guard self.begins(key) else { return }
        let microseconds = max(0, Int(time.nanoseconds / 1000))
        self.put(microseconds / 1000)
        self.put(UInt8(ascii: "."))
        self.put(decimals: microseconds % 1000)
    }

    /// Ends the line.
    package mutating func end() {
        self.reserve(LogLine.margin)
        if self.isJSON { self.put(UInt8(ascii: "}")) }
        self.put(UInt8(ascii: "\n"))
    }

    private mutating func begins(_ key: LogKey) -> Bool {
        guard self.count < LogLine.maxBytes else { return false }
        if self.isJSON { self.put(key.json) } else { self.put(key.text) }
        return true
    }
}

// MARK: Bytes

extension LogLine {
    /// Makes sure that there is storage for this many bytes more, and for the margin.
    private mutating func reserve(_ length: Int) {
        let size = self.storage.count
        let missing = self.count + length + LogLine.margin - size
        guard missing > 0 else { return }
        self.storage.append(contentsOf: repeatElement(0, count: max(missing, size)))
    }

    /// Writes a byte; only where the margin is known to be there.
    private mutating func put(_ byte: UInt8) {
        self.storage[self.count] = byte
        self.count += 1
    }

    /// Writes some of the bytes of a word, the lowest first; only where the margin is known to be there.
    private mutating func put(_ word: UInt64, length: Int) {
        let position = self.count
        var span = self.storage.mutableSpan
        var bytes = unsafe span.mutableBytes
        bytes.storeBytes(of: word.littleEndian, toByteOffset: position, as: UInt64.self)
        self.count = position + length
    }

    private mutating func put(_ bytes: borrowing ShortBytes) {
        if let long = bytes.long { return self.copy(long.span) }
        self.reserve(8 * ShortBytes.maxWords)
        let position = self.count
        var span = self.storage.mutableSpan
        var storage = unsafe span.mutableBytes
        for index in bytes.words.indices {
            storage.storeBytes(of: bytes.words[index].littleEndian, toByteOffset: position + 8 * index, as: UInt64.self)
        }
        self.count = position + bytes.count
    }

    /// Writes the last three digits of a number; only where the margin is known to be there.
    private mutating func put(decimals number: Int) {
        self.put(UInt8(truncatingIfNeeded: 0x30 + number / 100 % 10))
        self.put(UInt8(truncatingIfNeeded: 0x30 + number / 10 % 10))
        self.put(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }

    /// Writes a number; only where the margin is known to be there.
    private mutating func put(_ number: Int) {
        guard number >= 10 else {
            if number >= 0 { self.put(UInt8(truncatingIfNeeded: 0x30 + number)) } else { self.copy("\(number)") }
            return
        }
        var (length, rest) = (0, number)
        while rest > 0 { (length, rest) = (length + 1, rest / 10) }
        self.count += length
        var position = self.count
        rest = number
        while rest > 0 {
            position -= 1
            self.storage[position] = UInt8(truncatingIfNeeded: 0x30 + rest % 10)
            rest /= 10
        }
    }

    private mutating func copy(_ text: String) { self.copy(text.utf8Span.span) }

    private mutating func copy(_ bytes: Span<UInt8>) {
        self.reserve(bytes.count)
        let begin = self.count
        self.count += bytes.count
        var storage = self.storage.mutableSpan
        for position in bytes.indices { storage[begin + position] = bytes[position] }
    }

    /// Writes a value that is the same in both formats but for the quotation marks.
    ///
    /// - Returns: Whether it is such a value; otherwise nothing is written.
    private mutating func copyPlain(_ value: Span<UInt8>) -> Bool {
        guard !value.isEmpty, value.count <= LogLine.maxValue else { return false }
        self.reserve(value.count)
        let isQuoted = self.isJSON
        var end = self.count
        var storage = self.storage.mutableSpan
        if isQuoted {
            storage[end] = UInt8(ascii: "\"")
            end += 1
        }
        for position in value.indices {
            let byte = value[position]
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"),
                byte != UInt8(ascii: "=")
            else { return false }
            storage[end] = byte
            end += 1
        }
        if isQuoted {
            storage[end] = UInt8(ascii: "\"")
            end += 1
        }
        self.count = end
        return true
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
    private var second = Int64.min
    /// The text of the second, without `Z`.
    fileprivate private(set) var text: [UInt8] = []

    /// The time of this clock.
    package init(_ clock: WallClock = .system) {
        self.clock = clock
    }

    /// Reads the clock.
    ///
    /// - Returns: The milliseconds within the second of ``text``.
    fileprivate mutating func refresh() -> Int {
        let milliseconds = self.clock.milliseconds
        let second = milliseconds / 1000
        if second != self.second {
            self.second = second
            self.text = Array(Instant(seconds: second).timestamp.utf8.dropLast())
        }
        return max(0, Int(milliseconds % 1000))
    }
}
