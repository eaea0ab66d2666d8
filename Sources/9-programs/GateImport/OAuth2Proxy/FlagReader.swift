// SPDX-License-Identifier: Apache-2.0

/// Finds the flags of oauth2-proxy in a shell line, a unit of systemd, a compose file or a manifest of Kubernetes.
///
/// Any word that begins with `-` is a flag; what is neither a flag nor the value of one is skipped.
struct FlagReader {
    private let file: ImportFile

    init(_ file: ImportFile) {
        self.file = file
    }

    struct Flag {
        let name: String
        let value: SourceValue?
        let place: ImportPlace
    }

    /// The flags, in order.
    func flags() throws(ImportFailure) -> [Flag] {
        var words: [(word: ShellWord, place: ImportPlace)] = []
        for line in try self.file.lines() {
            guard let found = ShellWord.words(ofLine: line.text) else {
                throw ImportFailure("a quote that opens here is never closed", at: line.place)
            }
            words += found.map { ($0, line.place) }
        }
        // Options of the program that starts oauth2-proxy, such as docker, come before its name.
        let start = words.firstIndex { $0.word.isProgram } ?? 0
        var flags: [Flag] = []
        var index = 0
        while index < words.count {
            let (word, place) = words[index]
            index += 1
            guard let name = word.flagName, index > start || OAuth2ProxyOption.named(name) != nil else { continue }
            if let value = word.flagValue {
                flags.append(Flag(name: name, value: value, place: place))
                continue
            }
            let takesValue = OAuth2ProxyOption.named(name).map { $0.kind != .flag } ?? false
            guard takesValue, index < words.count, words[index].word.flagName == nil else {
                flags.append(Flag(name: name, value: nil, place: place))
                continue
            }
            flags.append(Flag(name: name, value: words[index].word.value(after: 0), place: place))
            index += 1
        }
        return flags
    }
}

/// A word of a command line: its text, and where variables are in it.
struct ShellWord: Sendable, Hashable {
    private enum Piece: Hashable {
        case text(String)
        case variable(String)
    }

    private var pieces: [Piece] = []

    /// The name of the flag, without its `-`; nil if the word is not a flag.
    var flagName: String? {
        guard case .text(let text)? = self.pieces.first, text.hasPrefix("-") else { return nil }
        let name = text.drop { $0 == "-" }.prefix { $0 != "=" }
        let isName = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "-_".utf8.contains(byte)
        }
        guard isName, let first = name.utf8.first, (0x41...0x5A).contains(first & 0xDF) else { return nil }
        return String(name)
    }

    /// Whether the word names the program or its image.
    var isProgram: Bool {
        guard self.flagName == nil, case .text(let text)? = self.pieces.first else { return false }
        return text.contains("oauth2-proxy") || text.contains("oauth2_proxy")
    }

    /// The value after `=`; nil if there is no `=`.
    var flagValue: SourceValue? {
        guard case .text(let text)? = self.pieces.first, let equals = text.firstIndex(of: "=") else { return nil }
        return self.value(after: text.distance(from: text.startIndex, to: equals) + 1)
    }

    /// The value without its first characters.
    func value(after count: Int) -> SourceValue {
        var pieces = self.pieces
        if case .text(let text)? = pieces.first { pieces[0] = .text(String(text.dropFirst(count))) }
        pieces.removeAll { $0 == .text("") }
        switch pieces.count {
        case 0: return .literal("")
        case 1:
            switch pieces[0] {
            case .text(let text): return .literal(text)
            case .variable(let name): return .variable(name)
            }
        default: return .mixed
        }
    }

    private mutating func append(_ character: Character) {
        if case .text(let text)? = self.pieces.last {
            self.pieces[self.pieces.count - 1] = .text(text + String(character))
        } else {
            self.pieces.append(.text(String(character)))
        }
    }
}

extension ShellWord {
    /// The words of a line; nil if a quote is not closed.
    ///
    /// An element of a list in YAML is one word, whose plain text has no escapes.
    static func words(ofLine line: String) -> [ShellWord]? {
        var rest = line[...].drop { $0 == " " || $0 == "\t" }
        let isElement = rest.hasPrefix("- ")
        if isElement { rest = rest.dropFirst(2).drop { $0 == " " } }
        // A list of YAML in one line; a unit of systemd has the program after `ExecStart=`.
        let isFlow = ["[", "args:", "command:", "entrypoint:", "CMD", "ENTRYPOINT"].contains { rest.hasPrefix($0) }
        var words: [ShellWord] = []
        var word: ShellWord?
        while let character = rest.popFirst() {
            switch character {
            case " ", "\t":
                if isElement, let inner = word {
                    guard !rest.hasPrefix("#") else { return words + [inner] }
                    word?.append(character)
                } else if let done = word {
                    words.append(done)
                    word = nil
                }
            case ",", "[", "]":
                guard isFlow else {
                    word = word ?? ShellWord()
                    word?.append(character)
                    continue
                }
                if let done = word { words.append(done) }
                word = nil
            case "#" where word == nil: return words
            case "'", "\"":
                guard !isElement || word == nil else {
                    word?.append(character)
                    continue
                }
                word = word ?? ShellWord()
                guard word?.takeQuoted(character, from: &rest) == true else { return nil }
            case "\\" where !isElement && !isFlow:
                if let next = rest.popFirst() {
                    word = word ?? ShellWord()
                    word?.append(next)
                }
            default:
                word = word ?? ShellWord()
                word?.take(character, from: &rest)
            }
        }
        if var done = word {
            if isElement { done.trimEnd() }
            words.append(done)
        }
        return words
    }

    /// Takes what is within quotes; in single quotes variables have no meaning.
    private mutating func takeQuoted(_ quote: Character, from rest: inout Substring) -> Bool {
        if self.pieces.isEmpty { self.pieces.append(.text("")) }
        while let character = rest.popFirst() {
            guard character != quote else { return true }
            if quote == "'" {
                self.append(character)
            } else if character == "\\", let next = rest.first, "\"\\$`".contains(next) {
                rest.removeFirst()
                self.append(next)
            } else {
                self.take(character, from: &rest)
            }
        }
        return false
    }

    /// Takes a character, or the variable that begins with it: `$NAME`, `${NAME}` or `$(NAME)`.
    private mutating func take(_ character: Character, from rest: inout Substring) {
        guard character == "$" else { return self.append(character) }
        let isBraced = rest.hasPrefix("{") || rest.hasPrefix("(")
        let inner = isBraced ? rest.dropFirst() : rest
        let name = inner.prefix { $0 == "_" || ($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let after = inner[name.endIndex...]
        guard let first = name.first, !first.isNumber else { return self.append(character) }
        guard isBraced else {
            self.pieces.append(.variable(String(name)))
            rest = after
            return
        }
        let close: Character = rest.hasPrefix("{") ? "}" : ")"
        guard let end = after.firstIndex(of: close) else { return self.append(character) }
        // `${NAME:-default}` has a value that only the shell knows.
        self.pieces.append(.variable(String(name)))
        if end != after.startIndex { self.pieces.append(.variable("")) }
        rest = after[after.index(after: end)...]
    }

    private mutating func trimEnd() {
        guard case .text(var text)? = self.pieces.last else { return }
        while text.hasSuffix(" ") || text.hasSuffix("\t") { text.removeLast() }
        self.pieces[self.pieces.count - 1] = .text(text)
    }
}
