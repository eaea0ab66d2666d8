// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// How one kind of value is read from the file, drawn up in the JSON Schema and named in the reference table.
///
/// The decoder, the schema and the reference are all made from the same shapes, so they cannot say different things.
struct Shape<Value: Sendable>: Sendable {
    /// The kind of value, with its article, as a message and the reference name it.
    let kind: String
    /// The value in JSON Schema.
    let schema: JSON
    /// What the reference has to explain in tables of their own.
    let sections: [Section]
    private let body: @Sendable (YAMLNode, inout DecodingContext) -> Value?

    init(
        _ kind: String,
        schema: JSON,
        sections: [Section] = [],
        read: @escaping @Sendable (YAMLNode, inout DecodingContext) -> Value?
    ) {
        self.kind = kind
        self.schema = schema
        self.sections = sections
        self.body = read
    }

    /// The value of a node; nil, and a diagnostic, if it is none.
    func read(_ node: YAMLNode, _ reading: inout DecodingContext) -> Value? {
        self.body(node, &reading)
    }

    /// What `change` makes of the value.
    func map<Other: Sendable>(_ change: @escaping @Sendable (Value) -> Other) -> Shape<Other> {
        Shape<Other>(self.kind, schema: self.schema, sections: self.sections) { node, reading in
            self.read(node, &reading).map(change)
        }
    }

    /// The same value only if there is nothing wrong with any part of it.
    var whole: Shape {
        Shape(self.kind, schema: self.schema, sections: self.sections) { node, reading in
            let before = reading.errors
            let value = self.read(node, &reading)
            return reading.errors == before ? value : nil
        }
    }

    /// The same value with its place.
    var located: Shape<Located<Value>> {
        Shape<Located<Value>>(self.kind, schema: self.schema, sections: self.sections) { node, reading in
            self.read(node, &reading).map { Located(value: $0, mark: node.mark) }
        }
    }
}

/// A table of the reference: a mapping and its keys.
struct Section: Sendable {
    struct Row: Sendable {
        let key: String
        let kind: String
        let standard: String
        let summary: String
    }

    let path: String
    let summary: String
    let rows: [Row]
}

extension Shape {
    /// A single value that `parse` makes from its text, or refuses in words that follow the value's own.
    ///
    /// - Parameters:
    ///   - kind: What it is, with an article.
    ///   - pattern: A regular expression that every legal text fits, for editors; nil for any text.
    ///   - parse: Makes the value.
    /// - Returns: The shape of such a value.
    static func single(
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

    /// A list of values; what is wrong with one does not hide what is wrong with the next.
    static func list<Element>(of element: Shape<Element>, named kind: String) -> Shape where Value == [Element] {
        let schema: JSON = ["type": "array", "items": element.schema]
        return Shape(kind, schema: schema, sections: element.sections) { node, reading in
            guard case .sequence(let nodes) = node.content else {
                reading.wrongType(node, kind: kind)
                return nil
            }
            return nodes.compactMap { element.read($0, &reading) }
        }
    }

    /// One value or a list of them, at least one.
    static func oneOrMany<Element>(of element: Shape<Element>, named kind: String) -> Shape where Value == [Element] {
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
    static func oneOf(_ kind: String, otherwise known: [String: String] = [:]) -> Shape
    where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
        self.oneOf(kind, among: Array(Value.allCases), otherwise: known)
    }

    /// One of some names of an enumeration; `known` leads from other words in lower case to the name that is meant.
    static func oneOf(_ kind: String, among values: [Value], otherwise known: [String: String] = [:]) -> Shape
    where Value: RawRepresentable, Value.RawValue == String {
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
    }
}
