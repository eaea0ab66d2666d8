// SPDX-License-Identifier: Apache-2.0

/// A directive of Apache, or a section with directives.
struct ApacheNode: Sendable {
    /// In lower case, without the `<` of a section.
    let name: String
    let arguments: [String]
    let place: ImportPlace
    /// The directives of a section; nil for a directive.
    var children: [ApacheNode]?
    /// The section on whose condition it depends, such as `<IfModule mod_x.c>`; nil if it always applies.
    var condition: String?

    /// The directives of a section with a name in lower case.
    func all(_ name: String) -> [ApacheNode] { (self.children ?? []).filter { $0.name == name } }

    /// The directive as it is written.
    var text: String { ([self.name] + self.arguments).joined(separator: " ") }
}

/// Reads a configuration of Apache: directives, sections, quotes and continued lines.
struct ApacheReader {
    private static let maxDepth = 32

    private var lines: ArraySlice<SourceLine>

    init(_ file: ImportFile) throws(ImportFailure) {
        self.lines = try file.lines()[...]
    }

    static func nodes(of file: ImportFile) throws(ImportFailure) -> [ApacheNode] {
        var reader = try ApacheReader(file)
        return try reader.nodes(until: nil, depth: 0, opened: ImportPlace(file: file.name, line: 1))
    }

    private mutating func nodes(
        until end: String?,
        depth: Int,
        opened: ImportPlace
    ) throws(ImportFailure) -> [ApacheNode] {
        guard depth <= ApacheReader.maxDepth else {
            throw ImportFailure("more than \(ApacheReader.maxDepth) sections inside one another", at: opened)
        }
        var nodes: [ApacheNode] = []
        while let line = self.lines.popFirst() {
            let text = try self.continued(line)
            guard let first = text.first, first != "#" else { continue }
            if text.hasPrefix("</") {
                let name = text.dropFirst(2).prefix { $0 != ">" }.lowercased()
                guard name == end else {
                    throw ImportFailure("this closes a section that is not open", at: line.place)
                }
                return nodes
            }
            guard
                let words = ApacheReader.words(
                    text.hasPrefix("<") ? text.dropFirst().dropLast(text.hasSuffix(">") ? 1 : 0) : text[...]
                ),
                let name = words.first?.lowercased()
            else { throw ImportFailure("a quote that opens here is never closed", at: line.place) }
            let arguments = Array(words.dropFirst())
            guard text.hasPrefix("<") else {
                nodes.append(ApacheNode(name: name, arguments: arguments, place: line.place))
                continue
            }
            guard text.hasSuffix(">") else { throw ImportFailure("the section has no '>'", at: line.place) }
            let children = try self.nodes(until: name, depth: depth + 1, opened: line.place)
            nodes.append(ApacheNode(name: name, arguments: arguments, place: line.place, children: children))
        }
        guard end == nil else { throw ImportFailure("the section that opens here is never closed", at: opened) }
        return nodes
    }

    /// A line without white space around it, with those that continue it.
    private mutating func continued(_ line: SourceLine) throws(ImportFailure) -> String {
        var text = line.text
        while text.hasSuffix("\\"), let next = self.lines.popFirst() {
            text = text.dropLast() + next.text
            guard text.utf8.count <= ImportFile.maxLine else {
                throw ImportFailure(
                    "the line with its continuation is longer than \(ImportFile.maxLine >> 10) KiB",
                    at: line.place
                )
            }
        }
        let start = text.drop { $0 == " " || $0 == "\t" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }

    /// The words of a line, in quotes or not; nil if a quote is not closed.
    private static func words(_ text: Substring) -> [String]? {
        var words: [String] = []
        var rest = text.drop { $0 == " " || $0 == "\t" }
        while let first = rest.first {
            if first == "\"" || first == "'" {
                rest.removeFirst()
                var word = ""
                while let character = rest.popFirst(), character != first {
                    if character == "\\", rest.first == first || rest.first == "\\", let next = rest.popFirst() {
                        word.append(next)
                    } else {
                        word.append(character)
                    }
                    if rest.isEmpty { return nil }
                }
                words.append(word)
            } else {
                let word = rest.prefix { $0 != " " && $0 != "\t" }
                words.append(String(word))
                rest = rest[word.endIndex...]
            }
            rest = rest.drop { $0 == " " || $0 == "\t" }
        }
        return words
    }
}
