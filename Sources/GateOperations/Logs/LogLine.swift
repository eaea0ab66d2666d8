// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import NIOCore

/// The name of a value in log lines, as the bytes that precede the value in both formats.
package struct LogKey: Sendable {
    fileprivate let text: ByteBuffer
    fileprivate let json: ByteBuffer

    /// A name of letters and `_`.
    package init(_ name: String) {
        self.text = ByteBuffer(string: " \(name)=")
        self.json = ByteBuffer(string: ",\"\(name)\":")
    }
}

/// What lines of one kind have between their time and their values, as bytes in both formats.
package struct LogOpening: Sendable {
    fileprivate let text: ByteBuffer
    fileprivate let json: ByteBuffer

    /// An opening.
    ///
    /// - Parameters:
    ///   - level: The level, as swift-log names it.
    ///   - stream: The stream.
    ///   - message: What happened, in words of ours.
    package init(level: String, stream: LogStream, message: String) {
        self.text = ByteBuffer(string: " \(level) \(PrintableText.escaped(message, limit: LogLine.maxValue))")
        var line = LogLine(.json)
        line.writeJSON(message)
        self.json = ByteBuffer(
            string:
                "\",\"level\":\"\(level)\",\"stream\":\"\(stream.rawValue)\",\"message\":\(String(buffer: line.bytes))"
        )
    }
}

/// The one way in which a log line becomes bytes, as text or as JSON.
///
/// A value is printable text of a bounded length whatever was received (``PrintableText``), so no value begins a line, steers a
/// terminal or ends a string. A line has at most about 64 KiB.
package struct LogLine {
    /// The line, with its line break once it has ended.
    package private(set) var bytes: ByteBuffer
    private let isJSON: Bool

    /// How many scalars of a value a line has at most.
    static let maxValue = 4096
    /// The size from which on a line takes no more values.
    private static let maxBytes = 16_384

    /// An empty line; the buffer is written over.
    package init(_ format: LogFormat, into buffer: consuming ByteBuffer = ByteBuffer()) {
        self.isJSON = format == .json
        self.bytes = buffer
        self.bytes.clear()
    }

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
        if self.isJSON { self.bytes.writeStaticString("{\"time\":\"") }
        time.write(to: &self.bytes, isExact: self.isJSON || isExact)
        self.bytes.writeImmutableBuffer(self.isJSON ? opening.json : opening.text)
    }

    /// Adds a text.
    package mutating func add(_ key: LogKey, _ value: String) {
        guard self.begins(key) else { return }
        guard !LogLine.isPlain(value.utf8Span.span) else {
            if self.isJSON { self.bytes.writeStaticString("\"") }
            self.bytes.writeString(value)
            if self.isJSON { self.bytes.writeStaticString("\"") }
            return
        }
        self.writeEscaped(value)
    }

    /// Adds bytes that were received.
    package mutating func add(_ key: LogKey, bytes value: Span<UInt8>) {
        guard self.begins(key) else { return }
        guard !LogLine.isPlain(value) else {
            if self.isJSON { self.bytes.writeStaticString("\"") }
            for position in value.indices { self.bytes.writeInteger(value[position]) }
            if self.isJSON { self.bytes.writeStaticString("\"") }
            return
        }
        var copy: [UInt8] = []
        for position in value.indices { copy.append(value[position]) }
        let text = String(decoding: copy, as: UTF8.self)
        self.writeEscaped(text)
    }

    /// Adds a number.
    package mutating func add(_ key: LogKey, _ value: Int) {
        guard self.begins(key) else { return }
        self.write(value)
    }

    /// Adds a time in milliseconds, with three decimals.
    package mutating func add(_ key: LogKey, milliseconds time: TimeAmount) {
        guard self.begins(key) else { return }
        let microseconds = max(0, Int(time.nanoseconds / 1000))
        self.write(microseconds / 1000)
        self.bytes.writeStaticString(".")
        let rest = microseconds % 1000
        self.bytes.writeInteger(UInt8(0x30 + rest / 100))
        self.bytes.writeInteger(UInt8(0x30 + rest / 10 % 10))
        self.bytes.writeInteger(UInt8(0x30 + rest % 10))
    }

    /// Ends the line.
    package mutating func end() {
        if self.isJSON { self.bytes.writeStaticString("}") }
        self.bytes.writeStaticString("\n")
    }

    private mutating func begins(_ key: LogKey) -> Bool {
        guard self.bytes.readableBytes < LogLine.maxBytes else { return false }
        self.bytes.writeImmutableBuffer(self.isJSON ? key.json : key.text)
        return true
    }

    private mutating func write(_ number: Int) {
        if (0...9).contains(number) {
            self.bytes.writeInteger(UInt8(0x30 + number))
        } else {
            self.bytes.writeString(String(number))
        }
    }

    /// Whether a value is the same in both formats but for the quotation marks.
    private static func isPlain(_ value: Span<UInt8>) -> Bool {
        guard !value.isEmpty, value.count <= LogLine.maxValue else { return false }
        for position in value.indices {
            let byte = value[position]
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"),
                byte != UInt8(ascii: "=")
            else { return false }
        }
        return true
    }

    private mutating func writeEscaped(_ value: String) {
        if self.isJSON { self.writeJSON(value) } else { self.writeText(value) }
    }

    fileprivate mutating func writeJSON(_ value: String) {
        let shown = PrintableText.escaped(value, limit: LogLine.maxValue)
        self.bytes.writeStaticString("\"")
        for byte in shown.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { self.bytes.writeStaticString("\\") }
            self.bytes.writeInteger(byte)
        }
        self.bytes.writeStaticString("\"")
    }

    private mutating func writeText(_ value: String) {
        let shown = PrintableText.escaped(value, limit: LogLine.maxValue)
        let needsQuotes = shown.utf8.contains { $0 == 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }
        let isQuoted = shown.isEmpty || needsQuotes
        self.bytes.writeString(isQuoted ? "\"\(shown.replacing("\"", with: "'"))\"" : shown)
    }
}

/// The time of log lines: RFC 3339 in UTC, with milliseconds except in text about the process.
///
/// It keeps the text of the current second, so that not every line formats a date.
package struct LogTime {
    private let clock: WallClock
    private var second = Int64.min
    private var text = ByteBuffer()

    /// The time of this clock.
    package init(_ clock: WallClock = .system) {
        self.clock = clock
    }

    fileprivate mutating func write(to buffer: inout ByteBuffer, isExact: Bool) {
        let milliseconds = self.clock.milliseconds
        let (second, rest) = (milliseconds / 1000, milliseconds % 1000)
        if second != self.second {
            self.second = second
            self.text = ByteBuffer(string: String(Instant(seconds: second).timestamp.dropLast()))
        }
        buffer.writeImmutableBuffer(self.text)
        if isExact {
            buffer.writeStaticString(".")
            buffer.writeInteger(UInt8(0x30 + max(0, rest) / 100 % 10))
            buffer.writeInteger(UInt8(0x30 + max(0, rest) / 10 % 10))
            buffer.writeInteger(UInt8(0x30 + max(0, rest) % 10))
        }
        buffer.writeStaticString("Z")
    }
}
