// SPDX-License-Identifier: Apache-2.0

extension DecodingContext {
    /// The single value of a node, references filled in; nil, and a diagnostic, if there is none.
    mutating func scalar(_ node: YAMLNode, kind: String) -> Scalar? {
        guard case .scalar(let text, let isPlain) = node.content, !node.isNull else {
            self.wrongType(node, kind: kind)
            return nil
        }
        guard !isPlain || (text != "true" && text != "false") else {
            self.error("expected \(kind), found '\(text)'; put it in quotes if it is meant as text", at: node.mark)
            return nil
        }
        guard !DecodingContext.isShellVariable(text) else {
            self.error("a variable after '$' is not expanded; write ${env:NAME}", at: node.mark)
            return nil
        }
        guard text.contains("${") else { return Scalar(text: text, source: .written, mark: node.mark) }
        return self.reference(text, at: node.mark)
    }

    /// Whether a text is `$NAME`, as a shell expands it; `%NAME%` is the same elsewhere.
    private static func isShellVariable(_ text: String) -> Bool {
        let name: Substring
        if text.hasPrefix("$") {
            name = text.dropFirst()
        } else if text.hasPrefix("%"), text.hasSuffix("%"), text.utf8.count > 2 {
            name = text.dropFirst().dropLast()
        } else {
            return false
        }
        guard let first = name.utf8.first, (0x41...0x5A).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
        }
    }

    /// Notes that a node is not of the kind that is wanted.
    mutating func wrongType(_ node: YAMLNode, kind: String) {
        guard !node.isNull else {
            return self.error("expected \(kind), found nothing; write a value or remove the key", at: node.owner)
        }
        self.error("expected \(kind), found \(node.kind)", at: node.mark)
    }

    private mutating func reference(_ text: String, at mark: YAMLMark) -> Scalar? {
        let body = text.dropFirst(2).dropLast()
        let isWhole = text.hasPrefix("${") && text.hasSuffix("}") && !body.contains("${") && !body.contains("}")
        let isKnown = text.contains("${env:") || text.contains("${file:")
        guard isWhole || !isKnown else {
            self.error("a reference must be the whole value; put all of the text into the variable or file", at: mark)
            return nil
        }
        guard isWhole, isKnown, let colon = body.firstIndex(of: ":") else {
            self.error("\(Scalar.quoted(text)) is no reference; write ${env:NAME} or ${file:/path}", at: mark)
            return nil
        }
        let target = String(body[body.index(after: colon)...])
        let shown = "${\(Scalar.quoted(String(body)).dropFirst().dropLast())}"
        let value = body.hasPrefix("env:") ? self.environmentValue(target, at: mark) : self.fileValue(target, at: mark)
        let file = body.hasPrefix("file:") ? self.path(target) : nil
        return value.map { Scalar(text: $0, source: .reference(shown), mark: mark, file: file) }
    }

    private mutating func environmentValue(_ name: String, at mark: YAMLMark) -> String? {
        let isName = name.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
        }
        guard isName, !name.isEmpty else {
            self.error("\(Scalar.quoted(name)) is no name of an environment variable", at: mark)
            return nil
        }
        guard let value = self.variable(name) else {
            self.error("the environment variable \(Scalar.quoted(name)) is not set", at: mark)
            return nil
        }
        guard !value.isEmpty else {
            self.error("the environment variable \(Scalar.quoted(name)) is empty", at: mark)
            return nil
        }
        return value
    }

    private mutating func fileValue(_ path: String, at mark: YAMLMark) -> String? {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            self.error("a path is missing; write ${file:/path}", at: mark)
            return nil
        }
        guard let bytes = self.bytes(of: self.path(path), limit: DecodingContext.referenceLimit, at: mark) else {
            return nil
        }
        let hasMark = bytes.starts(with: ConfigurationFile.byteOrderMark)
        let content = bytes.dropFirst(hasMark ? ConfigurationFile.byteOrderMark.count : 0)
        guard var text = String(validating: content, as: UTF8.self) else {
            self.error("the file \(Scalar.quoted(self.path(path), limit: 4096)) is not UTF-8 text", at: mark)
            return nil
        }
        if text.utf8.last == UInt8(ascii: "\n") { text.unicodeScalars.removeLast() }
        if text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
        guard !text.isEmpty else {
            self.error("the file \(Scalar.quoted(self.path(path))) is empty", at: mark)
            return nil
        }
        return text
    }

    /// The content of a file; nil, and a diagnostic that says why, if it cannot be had.
    mutating func bytes(of path: String, limit: Int, at mark: YAMLMark) -> [UInt8]? {
        let shown = Scalar.quoted(path, limit: 4096)
        switch self.content(of: path, limit: limit) {
        case .bytes(let bytes): return bytes
        case .missing: self.error("there is no file \(shown)", at: mark)
        case .unreadable: self.error("the file \(shown) cannot be read; check its owner and mode", at: mark)
        case .tooLarge: self.error("the file \(shown) is larger than \(limit >> 10) KiB", at: mark)
        }
        return nil
    }
}
