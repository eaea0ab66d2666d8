// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What holds where a key is not written.
enum KeyDefault: Sendable, ExpressibleByStringLiteral {
    /// A value that could as well be written.
    case value(JSON)
    /// Something that words must say, as Markdown.
    case words(String)

    init(stringLiteral value: String) {
        self = .value(.string(value))
    }

    /// The value, for a schema.
    var literal: JSON? {
        guard case .value(let value) = self else { return nil }
        return value
    }

    /// The value or the words, for the reference.
    var markdown: String {
        switch self {
        case .value(let value): "`\(value.string ?? value.text)`"
        case .words(let words): words
        }
    }
}

/// One key of a mapping: its name, its words, and how its value gets into what owns it.
struct Key<Owner: Sendable>: Sendable {
    /// What else there is to know of a key.
    struct Traits: Sendable {
        /// Whether the mapping is an error without it.
        var isRequired = false
        /// What holds without the key.
        var standard: KeyDefault?
        /// A value that could stand in the file.
        var example: JSON?
        /// The `type`s of provider that have the key; nil for all.
        var types: [String]?
        /// The `type`s of provider that cannot do without it.
        var requiredBy: [String] = []
    }

    let name: String
    let traits: Traits
    let kind: String
    let summary: String
    let schema: JSON
    let sections: [Section]
    private let body: @Sendable (YAMLNode, inout Owner, inout DecodingContext) -> Void

    /// A key whose value goes to `field`.
    init<Value: Sendable>(
        _ name: String,
        _ field: any WritableKeyPath<Owner, Value?> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(name, shape, traits, summary) { owner, value in owner[keyPath: field] = value }
    }

    /// A key whose value takes the place of the one that holds without it.
    init<Value: Sendable>(
        _ name: String,
        over field: any WritableKeyPath<Owner, Value> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(name, shape, traits, summary) { owner, value in owner[keyPath: field] = value }
    }

    private init<Value: Sendable>(
        _ name: String,
        _ shape: Shape<Value>,
        _ traits: Traits,
        _ summary: String,
        store: @escaping @Sendable (inout Owner, Value) -> Void
    ) {
        self.name = name
        self.traits = traits
        self.kind = shape.kind
        self.summary = summary
        self.schema = Schema.annotated(
            shape.schema,
            description: summary,
            example: traits.example,
            standard: traits.standard?.literal
        )
        self.sections = shape.sections
        self.body = { node, owner, reading in
            guard let value = shape.read(node, &reading) else { return }
            store(&owner, value)
        }
    }

    /// A key whose value goes to `field` together with its place.
    init<Value: Sendable>(
        _ name: String,
        located field: any WritableKeyPath<Owner, Located<Value>?> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(name, field, shape.located, traits, summary)
    }

    /// A key that is known and does nothing yet, and therefore may not be used.
    init(unsupported name: String, _ summary: String) {
        self.name = name
        self.traits = Traits()
        self.kind = "not supported yet"
        self.summary = summary
        self.schema = ["not": [:], "description": .string("Not supported yet: \(summary)")]
        self.sections = []
        self.body = { node, _, reading in
            reading.error("'\(name)' is not supported yet; remove it", at: node.owner)
        }
    }

    /// Reads the value into what owns it.
    func read(_ node: YAMLNode, into owner: inout Owner, _ reading: inout DecodingContext) {
        self.body(node, &owner, &reading)
    }

    /// The example as it could stand in the file.
    var example: String? {
        self.traits.example.map { example in
            guard let list = example.array else { return example.string ?? example.text }
            return "[\(list.map { $0.string ?? $0.text }.joined(separator: ", "))]"
        }
    }

    private var requirement: String {
        guard !self.traits.requiredBy.isEmpty else { return "" }
        return "required by \(self.traits.requiredBy.map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// The key in the reference.
    var row: Section.Row {
        let standard =
            self.traits.isRequired || self.traits.types.map { $0 == self.traits.requiredBy } ?? false
            ? "(required)" : self.traits.standard?.markdown ?? self.requirement
        let types = self.traits.types.map { " Only for type \($0.map { "`\($0)`" }.joined(separator: ", "))." } ?? ""
        let example = self.example.map { " Example: `\($0)`." } ?? ""
        return Section.Row(key: self.name, kind: self.kind, standard: standard, summary: self.summary + types + example)
    }
}
