// SPDX-License-Identifier: Apache-2.0

/// A location in a YAML text: line and column in characters, both from 1.
struct YAMLMark: Sendable, Hashable, Comparable {
    var line: Int
    var column: Int

    static let start = YAMLMark(line: 1, column: 1)

    static func < (left: YAMLMark, right: YAMLMark) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// An error of a text as YAML, and its location; nothing after it was read.
struct YAMLFailure: Error, Sendable, Equatable {
    let message: String
    let mark: YAMLMark
}

/// One node of a YAML document, aliases expanded.
struct YAMLNode: Sendable {
    enum Content: Sendable {
        /// A text, and whether it was written without quotes.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        case mapping([YAMLEntry])
    }

    let content: Content
    /// Where the node starts.
    let mark: YAMLMark
    /// The location after the node.
    let end: YAMLMark
    /// The location of messages about the node as a whole: its key, if it has one.
    var owner: YAMLMark
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

    /// Whether it is the null of YAML: nothing at all, `~` or `null` without quotes.
    var isNull: Bool {
        guard case .scalar(let text, isPlain: true) = self.content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The kind of node, for a message about a wrong type.
    var kind: String {
        switch self.content {
        case .scalar: self.isNull ? "nothing" : "a single value"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}

/// A key of a mapping, which is always a scalar, and its value.
struct YAMLEntry: Sendable {
    let name: String
    let key: YAMLNode
    let value: YAMLNode
}
