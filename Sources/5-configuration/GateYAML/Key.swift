// SPDX-License-Identifier: Apache-2.0

package import GateCore

package enum KeyDefault: Sendable, ExpressibleByStringLiteral {
    /// A value that could be written.
    case value(JSON)
    /// A description, as Markdown.
    case words(String)

    /// A text that could be written.
    package init(stringLiteral value: String) {
        self = .value(.string(value))
    }

    /// The value, for a schema.
    package var literal: JSON? {
        guard case .value(let value) = self else { return nil }
        return value
    }

    /// The value or the words, for the reference.
    package var markdown: String {
        switch self {
        case .value(let value): "`\(value.string ?? value.text)`"
        case .words(let words): words
        }
    }
}

/// One key of a mapping: its name, its description, and how its value is stored in the owner.
package struct Key<Owner: Sendable>: Sendable {
    /// Further properties of a key.
    package struct Traits: Sendable {
        /// Whether a mapping without the key is an error.
        package var isRequired: Bool
        /// The default.
        ///
        /// A key that replaces a value needs none here: the value is the default.
        package var `default`: KeyDefault?
        package var example: JSON?
        /// The `type`s of provider that have the key; nil for all.
        package var types: [String]?
        /// The `type`s of provider that need the key.
        package var requiredBy: [String]

        /// Makes properties, by default of an optional key with its own default.
        package init(
            isRequired: Bool = false,
            default: KeyDefault? = nil,
            example: JSON? = nil,
            types: [String]? = nil,
            requiredBy: [String] = []
        ) {
            self.isRequired = isRequired
            self.default = `default`
            self.example = example
            self.types = types
            self.requiredBy = requiredBy
        }
    }

    package let name: String
    /// Its further properties.
    package let traits: Traits
    /// The kind of value, with its article.
    package let kind: String
    /// The description, in the schema and the reference.
    package let summary: String
    /// The mappings that the reference explains in further tables.
    package let sections: [Section]
    private let schema: JSON
    private let body: @Sendable (YAMLNode, inout Owner, inout DecodingContext) -> Void
    private let writeDefault: @Sendable (Owner) -> JSON?

    /// A key whose value is stored in `field`.
    package init<Value: Sendable>(
        _ name: String,
        _ field: any WritableKeyPath<Owner, Value?> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(name, kind: shape.kind, schema: shape.schema, shape.sections, traits, summary) {
            node,
            owner,
            reading in
            guard let value = shape.read(node, &reading) else { return }
            owner[keyPath: field] = value
        }
    }

    /// A key whose value replaces the default.
    package init<Value: Sendable>(
        _ name: String,
        over field: any WritableKeyPath<Owner, Value> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(
            name,
            kind: shape.kind,
            schema: shape.schema,
            shape.sections,
            traits,
            summary,
            writeDefault: { owner in shape.write?(owner[keyPath: field]) },
            body: { node, owner, reading in
                guard let value = shape.read(node, &reading) else { return }
                owner[keyPath: field] = value
            }
        )
    }

    /// A key whose mapping changes parts of a value and leaves the others as they are.
    package init<Value: Sendable>(
        _ name: String,
        into field: any WritableKeyPath<Owner, Value> & Sendable,
        _ mapping: Mapping<Value>,
        _ summary: String
    ) {
        let shape = mapping.shape
        self.init(name, kind: shape.kind, schema: shape.schema, shape.sections, Traits(), summary) {
            node,
            owner,
            reading in
            mapping.read(node, into: &owner[keyPath: field], &reading)
        }
    }

    private init(
        _ name: String,
        kind: String,
        schema: JSON,
        _ sections: [Section],
        _ traits: Traits,
        _ summary: String,
        writeDefault: @escaping @Sendable (Owner) -> JSON? = { _ in nil },
        body: @escaping @Sendable (YAMLNode, inout Owner, inout DecodingContext) -> Void
    ) {
        self.name = name
        self.traits = traits
        self.kind = kind
        self.summary = summary
        self.schema = schema
        self.sections = sections
        self.body = body
        self.writeDefault = writeDefault
    }

    /// A key whose value is stored in `field` together with its location.
    package init<Value: Sendable>(
        _ name: String,
        located field: any WritableKeyPath<Owner, Located<Value>?> & Sendable,
        _ shape: Shape<Value>,
        _ traits: Traits = Traits(),
        _ summary: String
    ) {
        self.init(name, field, shape.located, traits, summary)
    }

    package func read(_ node: YAMLNode, into owner: inout Owner, _ reading: inout DecodingContext) {
        self.body(node, &owner, &reading)
    }

    /// The example as it could be written in the file.
    package var example: String? {
        self.traits.example.map { example in
            guard let list = example.array else { return example.string ?? example.text }
            return "[\(list.map { $0.string ?? $0.text }.joined(separator: ", "))]"
        }
    }

    private var requirement: String {
        guard !self.traits.requiredBy.isEmpty else { return "" }
        return "required by \(self.traits.requiredBy.map { "`\($0)`" }.joined(separator: ", "))"
    }

    /// The default, given an owner that has every default.
    private func `default`(in defaults: Owner) -> KeyDefault? {
        if let written = self.traits.default { return written }
        return self.traits.isRequired ? nil : self.writeDefault(defaults).map { .value($0) }
    }

    /// The key in JSON Schema.
    ///
    /// - Parameter defaults: An owner that has every default.
    /// - Returns: The schema of its value, with its description.
    package func schema(in defaults: Owner) -> JSON {
        Schema.annotated(
            self.schema,
            description: self.summary,
            example: self.traits.example,
            default: self.default(in: defaults)?.literal
        )
    }

    /// The key in the reference.
    ///
    /// - Parameter defaults: An owner that has every default.
    /// - Returns: Its row.
    package func row(in defaults: Owner) -> Section.Row {
        let isRequired = self.traits.isRequired || self.traits.types.map { $0 == self.traits.requiredBy } ?? false
        let otherwise = isRequired ? "(required)" : self.default(in: defaults)?.markdown ?? self.requirement
        let types = self.traits.types.map { " Only for type \($0.map { "`\($0)`" }.joined(separator: ", "))." } ?? ""
        let example = self.example.map { " Example: `\($0)`." } ?? ""
        let summary = self.summary + types + example
        return Section.Row(key: self.name, kind: self.kind, default: otherwise, summary: summary)
    }
}
