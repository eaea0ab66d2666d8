// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A mapping with known keys.
package struct Mapping<Owner: Sendable>: Sendable {
    /// Which keys of a mapping were written, and where.
    package struct Written: Sendable {
        /// The location of messages about the mapping as a whole.
        package let mark: YAMLMark
        /// The keys, those included that were probably meant by unknown ones.
        package let keys: [String: YAMLMark]
        /// Whether nothing at all was written.
        package let isEmpty: Bool
        /// Whether all of its parts are valid.
        package let isSound: Bool

        package func has(_ name: String) -> Bool { self.keys[name] != nil }
    }

    /// What it is, with an article, as messages name it.
    package let subject: String
    /// Its path in the file, as the reference names it.
    package let path: String
    /// Its purpose, in one sentence.
    package let summary: String
    /// Its keys, in the order of the reference.
    package let keys: [Key<Owner>]
    /// The keys of which exactly one must be written; none if there is no such choice.
    package let alternatives: [String]
    private let byName: [String: Int]
    private let make: @Sendable () -> Owner
    private let check: @Sendable (inout Owner, Written, inout DecodingContext) -> Void

    /// Describes a mapping; `check` gets a complete one, and what was written of it, before it is used.
    package init(
        _ subject: String,
        path: String,
        summary: String,
        make: @escaping @Sendable () -> Owner,
        keys: [Key<Owner>],
        alternatives: [String] = [],
        check: @escaping @Sendable (inout Owner, Written, inout DecodingContext) -> Void = { _, _, _ in }
    ) {
        self.subject = subject
        self.path = path
        self.summary = summary
        self.keys = keys
        self.alternatives = alternatives
        self.byName = Dictionary(keys.enumerated().map { ($1.name, $0) }) { first, _ in first }
        self.make = make
        self.check = check
    }

    /// The shape of the mapping as a value.
    package var shape: Shape<Owner> {
        let defaults = self.make()
        let section = Section(path: self.path, summary: self.summary, rows: self.keys.map { $0.row(in: defaults) })
        let sections = [section] + self.keys.flatMap(\.sections)
        return Shape("a mapping", schema: self.schema(defaults), sections: sections) { node, reading in
            var owner = self.make()
            return self.read(node, into: &owner, &reading) ? owner : nil
        }
    }

    private func schema(_ defaults: Owner) -> JSON {
        var properties: [String: JSON] = [:]
        for key in self.keys { properties[key.name] = key.schema(in: defaults) }
        let required = self.keys.filter(\.traits.isRequired).map { JSON.string($0.name) }
        var members: [String: JSON] = [
            "type": "object",
            "additionalProperties": false,
            "properties": .object(properties),
        ]
        if !required.isEmpty { members["required"] = .array(required) }
        if !self.alternatives.isEmpty {
            members["oneOf"] = .array(self.alternatives.map { ["required": [.string($0)]] })
        }
        let rules = self.schemaOfTypes
        if !rules.isEmpty { members["allOf"] = .array(rules) }
        return .object(members)
    }

    /// For keys that only some types have: the others must not have them, and those may need them.
    private var schemaOfTypes: [JSON] {
        self.keys.flatMap { key -> [JSON] in
            let hasKey: JSON = ["required": [.string(key.name)]]
            var rules: [JSON] = []
            if let types = key.traits.types {
                let names = JSON.array(types.map(JSON.string))
                rules.append(
                    ["if": hasKey, "then": ["properties": ["type": ["anyOf": [["enum": names], Schema.reference]]]]]
                )
            }
            if !key.traits.requiredBy.isEmpty {
                let names = JSON.array(key.traits.requiredBy.map(JSON.string))
                rules.append(["if": ["properties": ["type": ["enum": names]]], "then": hasKey])
            }
            return rules
        }
    }

    /// Reads the keys of a node into an owner; what is not written stays as it is.
    ///
    /// - Returns: Whether the node is a mapping at all.
    @discardableResult
    package func read(_ node: YAMLNode, into owner: inout Owner, _ reading: inout DecodingContext) -> Bool {
        guard case .mapping(let entries) = node.content else {
            reading.wrongType(node, kind: "\(self.subject) as a mapping of keys")
            return false
        }
        let before = reading.errors
        var marks: [String: YAMLMark] = [:]
        var guessed: [String: YAMLMark] = [:]
        for entry in entries {
            guard let index = self.byName[entry.name] else {
                for meant in self.reject(unknown: entry, &reading) {
                    guessed[meant] = entry.key.mark
                }
                continue
            }
            let key = self.keys[index]
            if let first = marks[key.name] {
                self.reject(duplicate: entry, first: first, &reading)
            } else {
                marks[key.name] = entry.key.mark
                key.read(entry.value, into: &owner, &reading)
            }
        }
        self.rejectSeveralAlternatives(of: marks, &reading)
        marks.merge(guessed) { written, _ in written }
        for key in self.keys where key.traits.isRequired && marks[key.name] == nil {
            reading.error("\(self.subject) needs '\(key.name)'\(self.example(of: key))", at: node.owner)
        }
        if !self.alternatives.isEmpty, self.alternatives.allSatisfy({ marks[$0] == nil }) {
            reading.error("\(self.subject) needs \(self.choice)", at: node.owner)
        }
        let isSound = reading.errors == before
        let written = Written(mark: node.owner, keys: marks, isEmpty: entries.isEmpty, isSound: isSound)
        self.check(&owner, written, &reading)
        return true
    }

    private func example(of key: Key<Owner>) -> String {
        key.example.map { ", such as '\(key.name): \($0)'" } ?? ""
    }

    /// The first alternative with its example, then the others.
    private var choice: String {
        let example = self.keys.first { $0.name == self.alternatives.first }.map { self.example(of: $0) } ?? ""
        let names = self.alternatives.map { "'\($0)'" }
        return "\(names.prefix(1).joined())\(example); or \(names.dropFirst().joined(separator: " or "))"
    }

    private func rejectSeveralAlternatives(of marks: [String: YAMLMark], _ reading: inout DecodingContext) {
        let written = self.alternatives.compactMap { name in marks[name].map { (name: name, mark: $0) } }
            .sorted { $0.mark < $1.mark }
        for other in written.dropFirst() {
            let first = "'\(written[0].name)' in line \(written[0].mark.line)"
            reading.error("'\(other.name)' excludes \(first); keep one of them", at: other.mark)
        }
    }

    private func reject(duplicate entry: YAMLEntry, first: YAMLMark, _ reading: inout DecodingContext) {
        if SecretMask.covers(key: entry.name) { reading.conceal(entry.value) }
        reading.error("\(Scalar.quoted(entry.name)) is here twice; first in line \(first.line)", at: entry.key.mark)
    }

    /// Rejects an unknown key.
    ///
    /// - Returns: The keys that were probably meant, whose absence is not reported again.
    private func reject(unknown entry: YAMLEntry, _ reading: inout DecodingContext) -> [String] {
        let shown = "unknown key \(Scalar.quoted(entry.name)) in \(self.subject)"
        guard entry.name != "<<" else {
            reading.error("\(shown); merge keys are not supported, write the keys out", at: entry.key.mark)
            return self.keys.map(\.name)
        }
        let nearest = reading.nearest(to: entry.name, in: self.keys.map(\.name))
        if SecretMask.covers(key: nearest ?? entry.name) { reading.conceal(entry.value) }
        let help =
            nearest.map { "did you mean '\($0)'?" }
            ?? "it has the keys \(self.keys.map(\.name).joined(separator: ", "))"
        reading.error("\(shown); \(help)", at: entry.key.mark)
        return nearest.map { [$0] } ?? []
    }
}
