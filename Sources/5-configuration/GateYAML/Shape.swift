// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// How one kind of value is read from the file, described in the JSON Schema and named in the reference.
///
/// Decoder, schema and reference are built from the same shapes, so they cannot differ.
package struct Shape<Value: Sendable>: Sendable {
    /// The kind of value, with its article, as a message and the reference name it.
    package let kind: String
    package let schema: JSON
    /// The mappings that the reference explains in further tables.
    package let sections: [Section]
    /// A value as the file writes it, for the defaults that the documents list; nil where only words can.
    package private(set) var write: (@Sendable (Value) -> JSON)?
    private let body: @Sendable (YAMLNode, inout DecodingContext) -> Value?

    /// Describes a kind of value that `read` makes from a node.
    package init(
        _ kind: String,
        schema: JSON,
        sections: [Section] = [],
        write: (@Sendable (Value) -> JSON)? = nil,
        read: @escaping @Sendable (YAMLNode, inout DecodingContext) -> Value?
    ) {
        self.kind = kind
        self.schema = schema
        self.sections = sections
        self.write = write
        self.body = read
    }

    /// The value of a node; nil, and a diagnostic, if it is invalid.
    package func read(_ node: YAMLNode, _ reading: inout DecodingContext) -> Value? {
        self.body(node, &reading)
    }

    /// The same value, with a way to write it for the documents.
    package func written(_ write: @escaping @Sendable (Value) -> JSON) -> Shape {
        var shape = self
        shape.write = write
        return shape
    }

    /// What `change` makes of the value.
    ///
    /// - Parameters:
    ///   - write: The other value as the file writes it.
    ///   - change: Makes the other value.
    /// - Returns: The shape of the other value.
    package func map<Other: Sendable>(
        write: (@Sendable (Other) -> JSON)? = nil,
        _ change: @escaping @Sendable (Value) -> Other
    ) -> Shape<Other> {
        Shape<Other>(self.kind, schema: self.schema, sections: self.sections, write: write) { node, reading in
            self.read(node, &reading).map(change)
        }
    }

    /// The same value, only if all of its parts are valid.
    package var whole: Shape {
        Shape(self.kind, schema: self.schema, sections: self.sections, write: self.write) { node, reading in
            let before = reading.errors
            let value = self.read(node, &reading)
            return reading.errors == before ? value : nil
        }
    }

    /// The same value with its location.
    package var located: Shape<Located<Value>> {
        Shape<Located<Value>>(self.kind, schema: self.schema, sections: self.sections) { node, reading in
            self.read(node, &reading).map { Located(value: $0, mark: node.mark) }
        }
    }
}

/// A table of the reference: a mapping and its keys.
package struct Section: Sendable {
    /// A row: one key.
    package struct Row: Sendable {
        /// The name of the key.
        package let key: String
        package let kind: String
        /// The default, as Markdown.
        package let `default`: String
        /// The description.
        package let summary: String
    }

    /// The path of the mapping in the file.
    package let path: String
    /// Its purpose, in one sentence.
    package let summary: String
    /// Its keys.
    package let rows: [Row]
}

extension Shape {
    /// A single value that `parse` makes from its text, or rejects in words that follow the value.
    ///
    /// - Parameters:
    ///   - kind: What it is, with an article.
    ///   - pattern: A regular expression that every valid text matches, for editors; nil for any text.
    ///   - parse: Makes the value.
    /// - Returns: The shape of such a value.
    package static func single(
        _ kind: String,
        pattern: String? = nil,
        parse: @escaping @Sendable (String) throws(InvalidValue) -> Value
    ) -> Shape {
        Shape(kind, schema: Schema.text(pattern: pattern)) { node, reading in
            guard let scalar = reading.scalar(node, kind: kind) else { return nil }
            do throws(InvalidValue) {
                return try parse(scalar.text)
            } catch {
                reading.error("\(scalar.shown) \(error.message)", at: scalar.mark)
                return nil
            }
        }
    }

    /// A list of values; an invalid one does not hide others.
    package static func list<Element>(of element: Shape<Element>, named kind: String) -> Shape
    where Value == [Element] {
        let schema: JSON = ["type": "array", "items": element.schema]
        let write = element.write.map { write in
            { @Sendable (elements: [Element]) -> JSON in .array(elements.map(write)) }
        }
        return Shape(kind, schema: schema, sections: element.sections, write: write) { node, reading in
            guard case .sequence(let nodes) = node.content else {
                reading.wrongType(node, kind: kind)
                return nil
            }
            return nodes.compactMap { element.read($0, &reading) }
        }
    }

    /// One value or a list of them, at least one.
    package static func oneOrMany<Element>(of element: Shape<Element>, named kind: String) -> Shape
    where Value == [Element] {
        let list = Shape.list(of: element, named: kind)
        let several: JSON = ["type": "array", "items": element.schema, "minItems": 1]
        return Shape(kind, schema: ["anyOf": [element.schema, several]]) { node, reading in
            guard case .sequence(let nodes) = node.content else { return element.read(node, &reading).map { [$0] } }
            guard !nodes.isEmpty else {
                reading.error("the list is empty; it needs at least one entry", at: node.mark)
                return nil
            }
            return list.read(node, &reading)
        }
    }

    /// One of the names of an enumeration.
    ///
    /// - Parameters:
    ///   - kind: What it is, with an article.
    ///   - known: The name that is meant by other words, in lower case.
    /// - Returns: The shape of such a value.
    package static func oneOf(
        _ kind: String,
        otherwise known: [String: String] = [:]
    )
        -> Shape
    where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
        self.oneOf(kind, among: Array(Value.allCases), otherwise: known)
    }

    /// One of some names of an enumeration.
    package static func oneOf(
        _ kind: String,
        among values: [Value],
        otherwise known: [String: String] = [:]
    ) -> Shape where Value: RawRepresentable, Value.RawValue == String {
        let names = values.map(\.rawValue)
        let schema: JSON = ["anyOf": [["enum": .array(names.map(JSON.string))], Schema.reference]]
        return Shape(kind, schema: schema) { node, reading in
            guard let scalar = reading.scalar(node, kind: kind) else { return nil }
            if let value = values.first(where: { $0.rawValue == scalar.text }) { return value }
            let meant = known[scalar.text.lowercased()] ?? reading.nearest(to: scalar.text, in: names)
            let hint = meant.map { "did you mean '\($0)'?" }
            let help = hint ?? "write one of \(names.joined(separator: ", "))"
            reading.error("\(scalar.shown) is not \(kind); \(help)", at: scalar.mark)
            return nil
        }
        .written { .string($0.rawValue) }
    }
}

/// The names that the operator may give to entries of one kind.
package struct NameRule: Sendable {
    /// What a name belongs to, with an article.
    package let subject: String
    /// The regular expression for editors.
    package let pattern: String
    /// Why a text is not such a name, or nil if it is one.
    package let reason: @Sendable (String) -> String?
    /// A text that is equal for two names that must not both occur.
    package let identity: @Sendable (String) -> String

    /// Makes a rule; two names are the same, by default, if their texts are.
    package init(
        subject: String,
        pattern: String,
        reason: @escaping @Sendable (String) -> String?,
        identity: @escaping @Sendable (String) -> String = { $0 }
    ) {
        self.subject = subject
        self.pattern = pattern
        self.reason = reason
        self.identity = identity
    }
}

extension Shape {
    /// A mapping from names that the operator chooses to values of one shape, in the order of the file.
    package static func entries<Element>(of element: Shape<Element>, named kind: String, rule: NameRule) -> Shape
    where Value == [Named<Element>] {
        let schema: JSON = [
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "patternProperties": [rule.pattern: element.schema],
        ]
        return Shape(kind, schema: schema, sections: element.sections) { node, reading in
            guard case .mapping(let entries) = node.content else {
                reading.wrongType(node, kind: kind)
                return nil
            }
            guard !entries.isEmpty else {
                reading.error("the mapping is empty; it needs at least one entry", at: node.owner)
                return nil
            }
            return entries.compactMap { DecodingContext.named($0, rule, &reading) }.unique(by: rule, &reading)
                .compactMap {
                    entry in
                    element.read(entry.value, &reading).map {
                        Named(name: entry.name, mark: entry.key.mark, value: $0)
                    }
                }
        }
    }
}

extension DecodingContext {
    fileprivate static func named(_ entry: YAMLEntry, _ rule: NameRule, _ reading: inout DecodingContext) -> YAMLEntry?
    {
        guard let reason = rule.reason(entry.name) else { return entry }
        reading.error("\(Scalar.quoted(entry.name)) cannot be \(rule.subject); \(reason)", at: entry.key.mark)
        return nil
    }
}

extension [YAMLEntry] {
    fileprivate func unique(by rule: NameRule, _ reading: inout DecodingContext) -> [YAMLEntry] {
        var first: [String: YAMLEntry] = [:]
        return self.filter { entry in
            let identity = rule.identity(entry.name)
            guard let other = first[identity] else {
                first[identity] = entry
                return true
            }
            let line = reading.line(other.key.mark, from: entry.key.mark)
            let message =
                other.name == entry.name
                ? "is here twice; first in \(line)" : "is the same as \(Scalar.quoted(other.name)) in \(line)"
            reading.error("\(Scalar.quoted(entry.name)) \(message)", at: entry.key.mark)
            return false
        }
    }
}

extension Shape {
    /// A list without duplicates, of limited length.
    package static func set<Element: Hashable & Sendable>(
        of element: Shape<Element>,
        named kind: String,
        limit: Int
    ) -> Shape
    where Value == [Element] {
        let list = Shape<[Located<Element>]>.list(of: element.located, named: kind)
        let schema: JSON = [
            "type": "array", "items": element.schema, "maxItems": .int(Int64(limit)), "uniqueItems": true,
        ]
        return Shape(kind, schema: schema) { node, reading in
            guard let elements = list.read(node, &reading) else { return nil }
            if elements.count > limit { reading.error("more than \(limit) entries", at: node.mark) }
            var lines: [Element: Int] = [:]
            for element in elements {
                guard let line = lines.updateValue(element.mark.line, forKey: element.value) else { continue }
                reading.error("'\(element.value)' is here twice; first in line \(line)", at: element.mark)
            }
            return elements.map(\.value)
        }
    }
}
