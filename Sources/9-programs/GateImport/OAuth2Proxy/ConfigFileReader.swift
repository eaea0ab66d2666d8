// SPDX-License-Identifier: Apache-2.0

/// Reads the `.cfg` of oauth2-proxy: the part of TOML that it uses, which is `key = value` with texts, numbers, `true`,
/// `false` and lists of texts.
///
/// Anything else ends the import, since a line that is skipped could be a restriction.
struct ConfigFileReader {
    private let file: ImportFile

    init(_ file: ImportFile) {
        self.file = file
    }

    func entries() throws(ImportFailure) -> [(key: String, values: [String], isList: Bool, place: ImportPlace)] {
        var entries: [(key: String, values: [String], isList: Bool, place: ImportPlace)] = []
        var lines = try self.file.lines()[...]
        while let line = lines.popFirst() {
            var scanner = Scanner(rest: line.text[...])
            scanner.skipSpace()
            guard !scanner.isAtEnd else { continue }
            guard let key = scanner.key() else {
                throw ImportFailure("this is neither 'key = value' nor a comment", at: line.place)
            }
            guard scanner.take("[") else {
                guard let value = scanner.value(), scanner.endsLine() else {
                    throw ImportFailure(
                        "the value of '\(key)' is not a text in quotes, a number, true or false",
                        at: line.place
                    )
                }
                entries.append((key, [value], false, line.place))
                continue
            }
            var values: [String] = []
            while !scanner.take("]") {
                if scanner.isAtEnd {
                    guard let next = lines.popFirst() else {
                        throw ImportFailure("the list that begins here has no ']'", at: line.place)
                    }
                    scanner = Scanner(rest: next.text[...])
                    scanner.skipSpace()
                    continue
                }
                guard let value = scanner.value() else {
                    throw ImportFailure("an element of the list '\(key)' is not a text in quotes", at: line.place)
                }
                values.append(value)
                scanner.skipSpace()
                _ = scanner.take(",")
            }
            guard scanner.endsLine() else { throw ImportFailure("text after the list '\(key)'", at: line.place) }
            entries.append((key, values, true, line.place))
        }
        return entries
    }

    /// A position in a line.
    private struct Scanner {
        var rest: Substring

        /// Whether only a comment is left.
        var isAtEnd: Bool { self.rest.isEmpty || self.rest.hasPrefix("#") }

        mutating func skipSpace() {
            self.rest = self.rest.drop { $0 == " " || $0 == "\t" }
        }

        mutating func endsLine() -> Bool {
            self.skipSpace()
            return self.isAtEnd
        }

        mutating func take(_ character: Character) -> Bool {
            guard self.rest.first == character else { return false }
            self.rest.removeFirst()
            self.skipSpace()
            return true
        }

        mutating func key() -> String? {
            let key = self.rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
            self.rest = self.rest[key.endIndex...]
            self.skipSpace()
            guard !key.isEmpty, self.take("=") else { return nil }
            return String(key)
        }

        /// A text, a number, `true` or `false`.
        mutating func value() -> String? {
            switch self.rest.first {
            case "'":
                self.rest.removeFirst()
                guard let end = self.rest.firstIndex(of: "'") else { return nil }
                defer { self.rest = self.rest[self.rest.index(after: end)...] }
                return String(self.rest[..<end])
            case "\"": return self.basicText()
            default:
                let word = self.rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-._:".contains($0)) }
                self.rest = self.rest[word.endIndex...]
                let isNumber = !word.isEmpty && word.allSatisfy { $0.isNumber || "+-._".contains($0) }
                return isNumber || word == "true" || word == "false" ? String(word) : nil
            }
        }

        /// A text in double quotes with the escapes of TOML.
        private mutating func basicText() -> String? {
            self.rest.removeFirst()
            guard !self.rest.hasPrefix("\"\"") else { return nil }
            var text = ""
            while let character = self.rest.popFirst() {
                guard character != "\"" else { return text }
                guard character == "\\" else {
                    text.append(character)
                    continue
                }
                switch self.rest.popFirst() {
                case "\"": text.append("\"")
                case "\\": text.append("\\")
                case "n": text.append("\n")
                case "t": text.append("\t")
                case "r": text.append("\r")
                default: return nil
                }
            }
            return nil
        }
    }
}
