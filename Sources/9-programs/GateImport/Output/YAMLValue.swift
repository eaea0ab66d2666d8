// SPDX-License-Identifier: Apache-2.0

/// A value to be written as YAML.
enum YAMLValue: Sendable, Hashable {
    /// A text, quoted where YAML needs that.
    case text(ConfigText)
    /// A word or number of ours, never of the source.
    case word(String)
    case list([YAMLValue])
    case mapping(YAMLMapping)

    static func flag(_ value: Bool) -> YAMLValue { .word(value ? "true" : "false") }
    static func number(_ value: Int) -> YAMLValue { .word(String(value)) }

    /// A list of texts; nil if it has no elements.
    static func texts(_ texts: [ConfigText]) -> YAMLValue? {
        texts.isEmpty ? nil : .list(texts.map { .text($0) })
    }
}

/// The entries of a mapping, in the order in which they are written.
struct YAMLMapping: Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        let key: String
        let value: YAMLValue
    }

    private(set) var entries: [Entry] = []

    var isEmpty: Bool { self.entries.isEmpty }

    /// Adds an entry; nothing if there is no value.
    mutating func add(_ key: String, _ value: YAMLValue?) {
        guard let value else { return }
        self.entries.append(Entry(key: key, value: value))
    }

    /// Adds a text; nothing for nil.
    mutating func add(_ key: String, _ text: ConfigText?) {
        self.add(key, text.map { .text($0) })
    }

    /// Adds a mapping unless it is empty.
    mutating func add(_ key: String, _ mapping: YAMLMapping) {
        self.add(key, mapping.isEmpty ? nil : .mapping(mapping))
    }

    func has(_ key: String) -> Bool { self.entries.contains { $0.key == key } }
}

extension YAMLMapping {
    func written(indent: Int = 0) -> String {
        self.entries.map { entry in
            let key = String(repeating: " ", count: indent) + YAMLMapping.quoted(entry.key) + ":"
            switch entry.value {
            case .text(let text): return "\(key) \(YAMLMapping.quoted(text.scalar))\n"
            case .word(let word): return "\(key) \(word)\n"
            case .list(let elements) where elements.isEmpty: return "\(key) []\n"
            case .list(let elements):
                return "\(key)\n" + elements.map { YAMLMapping.element($0, indent: indent + 2) }.joined()
            case .mapping(let mapping): return "\(key)\n" + mapping.written(indent: indent + 2)
            }
        }.joined()
    }

    private static func element(_ value: YAMLValue, indent: Int) -> String {
        let dash = String(repeating: " ", count: indent) + "- "
        switch value {
        case .text(let text): return "\(dash)\(self.quoted(text.scalar))\n"
        case .word(let word): return "\(dash)\(word)\n"
        case .list: return ""
        case .mapping(let mapping): return dash + mapping.written(indent: indent + 2).dropFirst(indent + 2)
        }
    }

    private static let reserved: Set<String> = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n",
    ]

    /// A text as a scalar: plain if it starts with a letter and cannot be read as anything but text, else in quotes.
    private static func quoted(_ text: String) -> String {
        func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }
        let isPlain = text.utf8.allSatisfy { byte in
            isLetter(byte) || (0x30...0x39).contains(byte) || "_./@-".utf8.contains(byte)
        }
        let start = text.utf8.first.map { isLetter($0) || $0 == UInt8(ascii: "/") } ?? false
        if isPlain, start, !self.reserved.contains(text.lowercased()) { return text }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
