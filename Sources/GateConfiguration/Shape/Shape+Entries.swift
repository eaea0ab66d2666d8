// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The names that the user may give to entries of one kind.
struct NameRule: Sendable {
    /// What a name belongs to, with an article.
    let subject: String
    /// The regular expression for editors.
    let pattern: String
    /// Why a text is no such name, or nil if it is one.
    let complaint: @Sendable (String) -> String?
    /// What is equal for two names that must not stand beside each other.
    var identity: @Sendable (String) -> String = { $0 }
}

extension Shape {
    /// A mapping from names that the user chooses to values of one shape, in the order of the file.
    static func entries<Element>(of element: Shape<Element>, named kind: String, rule: NameRule) -> Shape
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
                reading.error("there is nothing here; at least one entry is needed", at: node.owner)
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
        guard let complaint = rule.complaint(entry.name) else { return entry }
        reading.error("\(Scalar.quoted(entry.name)) cannot be \(rule.subject); \(complaint)", at: entry.key.mark)
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
            let line = other.key.mark.line
            let message =
                other.name == entry.name
                ? "is here twice; first in line \(line)" : "is the same as \(Scalar.quoted(other.name)) in line \(line)"
            reading.error("\(Scalar.quoted(entry.name)) \(message)", at: entry.key.mark)
            return false
        }
    }
}
