// SPDX-License-Identifier: Apache-2.0

/// A location in a YAML text: line and column in characters, both from 1.
package struct YAMLMark: Sendable, Hashable, Comparable {
    package var line: Int
    package var column: Int
    /// The number of the file: 0 for the configuration file, then those that it includes.
    package var file = 0

    /// The start of the text.
    package static let start = YAMLMark(line: 1, column: 1)

    /// Whether a location is before another.
    package static func < (left: YAMLMark, right: YAMLMark) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// An error of a text as YAML, and its location; nothing after it was read.
struct YAMLFailure: Error, Sendable, Equatable {
    let message: String
    let mark: YAMLMark
}

/// One node of a YAML document, aliases expanded.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        /// A text, and whether it was written without quotes.
        case scalar(String, isPlain: Bool)
        /// The elements of a list.
        case sequence([YAMLNode])
        /// The entries of a mapping, in the order of the text.
        case mapping([YAMLEntry])
    }

    package let content: Content
    /// Where the node starts.
    package let mark: YAMLMark
    /// The location after the node.
    package let end: YAMLMark
    /// The location of messages about the node as a whole: its key, if it has one.
    package internal(set) var owner: YAMLMark
    /// The number of its nodes, itself included.
    let count: Int
    /// The number of its levels, itself included.
    let depth: Int

    init(_ content: Content, from mark: YAMLMark, to end: YAMLMark) {
        self.content = content
        self.mark = mark
        self.end = end
        self.owner = mark
        let parts: [YAMLNode] =
            switch content {
            case .scalar: []
            case .sequence(let elements): elements
            case .mapping(let entries): entries.flatMap { [$0.key, $0.value] }
            }
        self.count = parts.reduce(1) { $0 + $1.count }
        self.depth = 1 + parts.reduce(0) { max($0, $1.depth) }
    }

    /// The same node of another file.
    func inFile(_ file: Int) -> YAMLNode {
        func moved(_ mark: YAMLMark) -> YAMLMark { YAMLMark(line: mark.line, column: mark.column, file: file) }
        let content: Content =
            switch self.content {
            case .scalar: self.content
            case .sequence(let elements): .sequence(elements.map { $0.inFile(file) })
            case .mapping(let entries):
                .mapping(
                    entries.map {
                        YAMLEntry(name: $0.name, key: $0.key.inFile(file), value: $0.value.inFile(file))
                    }
                )
            }
        var node = YAMLNode(content, from: moved(self.mark), to: moved(self.end))
        node.owner = moved(self.owner)
        return node
    }

    /// The same node with other content.
    package func with(_ content: Content) -> YAMLNode {
        var node = YAMLNode(content, from: self.mark, to: self.end)
        node.owner = self.owner
        return node
    }

    /// The entries, if it is a mapping.
    package var entries: [YAMLEntry]? {
        guard case .mapping(let entries) = self.content else { return nil }
        return entries
    }

    /// The elements, if it is a list.
    package var elements: [YAMLNode]? {
        guard case .sequence(let elements) = self.content else { return nil }
        return elements
    }

    /// Whether it is the null of YAML: nothing at all, `~` or `null` without quotes.
    package var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = self.content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The kind of node, for a message about a wrong type.
    package var kind: String {
        switch self.content {
        case .scalar: self.isNull ? "nothing" : "a single value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// A key of a mapping, which is always a scalar, and its value.
package struct YAMLEntry: Sendable {
    /// The text of the key.
    package let name: String
    package let key: YAMLNode
    /// The value.
    package let value: YAMLNode

    /// Pairs a key with a value.
    package init(name: String, key: YAMLNode, value: YAMLNode) {
        self.name = name
        self.key = key
        self.value = value
    }
}
