// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A line of the log, read back: JSON or text, as `docs/logs.md` defines both.
///
/// What is before the line is ignored, such as the prefix of `journalctl` or of syslog. All values are printable.
struct LogEntry: Sendable, Equatable {
    /// The time as the line has it.
    let time: String
    /// What happened.
    let message: String
    /// The stream; nil in text, which does not name it.
    let stream: String?
    /// The values by name.
    let values: [String: String]

    /// How many values are read, which is more than any line has.
    private static let maxValues = 64
    private static let levels: Set<String> = [
        "trace", "debug", "info", "notice", "warning", "error", "critical",
    ]

    /// An entry that was not read from a file.
    init(time: String, message: String, stream: String?, values: [String: String]) {
        self.time = time
        self.message = message
        self.stream = stream
        self.values = values
    }

    /// The entry of a line; nil if it is not one of the gateway.
    init?(_ line: [UInt8]) {
        let text = String(decoding: line, as: UTF8.self)
        guard let entry = LogEntry(json: text) ?? LogEntry(text: text) else { return nil }
        self = entry
    }

    private init?(json text: String) {
        guard let start = text.firstRange(of: "{\"time\":") else { return nil }
        let object = text[start.lowerBound...].utf8
        guard let members = (try? JSON(parsing: object, depth: 1))?.object, members.count <= LogEntry.maxValues,
            let time = members["time"]?.string, LogEntry.isTime(time), let message = members["message"]?.string
        else { return nil }
        self.time = time
        self.message = LogEntry.printable(message)
        self.stream = members["stream"]?.string.map { LogEntry.printable($0) }
        var values: [String: String] = [:]
        for (name, value) in members where !["time", "level", "stream", "message"].contains(name) {
            switch value {
            case .string(let text), .number(let text): values[LogEntry.printable(name)] = LogEntry.printable(text)
            default: break
            }
        }
        self.values = values
    }

    private init?(text: String) {
        let words = LogEntry.words(of: text)
        let place = words.indices.dropLast().first { index in
            LogEntry.isTime(words[index]) && LogEntry.levels.contains(words[index + 1])
        }
        guard let place else { return nil }
        let rest = words[(place + 2)...]
        let message = rest.prefix { LogEntry.value($0) == nil }
        guard !message.isEmpty else { return nil }
        var values: [String: String] = [:]
        for word in rest.dropFirst(message.count).prefix(LogEntry.maxValues) {
            guard let (name, value) = LogEntry.value(word) else { continue }
            values[name] = LogEntry.printable(value)
        }
        self.time = words[place]
        self.message = LogEntry.printable(message.joined(separator: " "))
        self.stream = nil
        self.values = values
    }

    /// The words of a line; spaces between quotation marks, which begin a value, separate nothing.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var isQuoted = false
        for byte in text.utf8 {
            switch byte {
            case 0x20 where !isQuoted, 0x0A, 0x0D:
                if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
                word = []
                continue
            case UInt8(ascii: "\"") where isQuoted: isQuoted = false
            case UInt8(ascii: "\""): isQuoted = word.last == UInt8(ascii: "=")
            default: break
            }
            word.append(byte)
        }
        if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
        return words
    }

    /// The name and the value of `name=value`; nil for any other word.
    private static func value(_ word: String) -> (name: String, value: String)? {
        guard let mark = word.utf8.firstIndex(of: UInt8(ascii: "=")), mark > word.startIndex else { return nil }
        let name = word[..<mark]
        let isName = name.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "_") }
        guard isName else { return nil }
        var value = word[word.utf8.index(after: mark)...]
        if value.utf8.count >= 2, value.utf8.first == UInt8(ascii: "\""), value.utf8.last == UInt8(ascii: "\"") {
            value = value.dropFirst().dropLast()
        }
        return (String(name), String(value))
    }

    /// Whether a word is a time as lines begin with one: `2026-11-23T12:00:00Z`, with milliseconds or without.
    private static func isTime(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard [20, 24].contains(bytes.count), bytes[10] == UInt8(ascii: "T"), bytes.last == UInt8(ascii: "Z") else {
            return false
        }
        return bytes.allSatisfy { (0x2D...0x3A).contains($0) || $0 == UInt8(ascii: "T") || $0 == UInt8(ascii: "Z") }
    }

    private static func printable(_ text: String) -> String { PrintableText.escaped(text, limit: 4096) }
}
