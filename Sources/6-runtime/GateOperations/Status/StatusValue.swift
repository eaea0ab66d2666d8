// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A value in `/status`: its JSON, and the JSON Schema of all its values.
package protocol StatusValue: Sendable {
    static var schema: [String: JSON] { get }
    var json: JSON { get }
}

/// An object in `/status`: its members are described once, for the JSON and for the schema.
package protocol StatusObject: StatusValue {
    static var members: [StatusMember<Self>] { get }
}

/// A member of an object in `/status`.
package struct StatusMember<Owner: Sendable>: Sendable {
    let name: String
    let schema: [String: JSON]
    /// Whether it is absent where it does not apply.
    let isOptional: Bool
    /// Its JSON; nil if it is absent.
    let json: @Sendable (Owner) -> JSON?

    private init(
        name: String,
        schema: [String: JSON],
        isOptional: Bool = false,
        json: @escaping @Sendable (Owner) -> JSON?
    ) {
        (self.name, self.schema, self.isOptional, self.json) = (name, schema, isOptional, json)
    }

    /// A member with its description; `limits` is what its schema has beside that of the type.
    init<Value: StatusValue>(
        _ name: String,
        _ value: any KeyPath<Owner, Value> & Sendable,
        _ description: String,
        limits: [String: JSON] = [:]
    ) {
        let schema = Value.schema.merging(limits) { $1 }.merging(["description": .string(description)]) { $1 }
        self.init(name: name, schema: schema) { $0[keyPath: value].json }
    }

    /// A member that is the same in every object.
    init(_ name: String, constant: JSON, _ description: String) {
        self.init(name: name, schema: ["const": constant, "description": .string(description)]) { _ in constant }
    }

    /// The members of a part, which are absent without it.
    static func all<Part: StatusObject>(of part: any KeyPath<Owner, Part?> & Sendable) -> [StatusMember] {
        Part.members.map { member in
            StatusMember(name: member.name, schema: member.schema, isOptional: true) { owner in
                owner[keyPath: part].flatMap(member.json)
            }
        }
    }
}

extension StatusObject {
    package static var schema: [String: JSON] {
        let properties = Dictionary(self.members.map { ($0.name, JSON.object($0.schema)) }) { first, _ in first }
        let required = self.members.filter { !$0.isOptional }.map(\.name).sorted()
        return [
            "type": "object", "properties": .object(properties), "required": .array(required.map(JSON.string)),
        ]
    }

    package var json: JSON {
        let members = Self.members.compactMap { member in member.json(self).map { (member.name, $0) } }
        return .object(Dictionary(members) { first, _ in first })
    }
}

// MARK: Values

extension String: StatusValue {
    package static var schema: [String: JSON] { ["type": "string"] }
    package var json: JSON { .string(self) }
}

extension Bool: StatusValue {
    package static var schema: [String: JSON] { ["type": "boolean"] }
    package var json: JSON { .bool(self) }
}

/// A count, never negative.
extension Int: StatusValue {
    package static var schema: [String: JSON] { ["type": "integer", "minimum": 0] }
    package var json: JSON { .int(Int64(self)) }
}

/// A number that may be negative, such as the days that are left.
extension Int64: StatusValue {
    package static var schema: [String: JSON] { ["type": "integer"] }
    package var json: JSON { .int(self) }
}

extension Instant: StatusValue {
    package static var schema: [String: JSON] { ["type": "integer"] }
    package var json: JSON { .int(self.seconds) }
}

extension Optional: StatusValue where Wrapped: StatusValue {
    package static var schema: [String: JSON] {
        var schema = Wrapped.schema
        schema["type"] = [schema["type"] ?? "null", "null"]
        schema["enum"] = schema["enum"]?.array.map { .array($0 + [.null]) }
        return schema
    }

    package var json: JSON { self?.json ?? .null }
}

extension Array: StatusValue where Element: StatusValue {
    package static var schema: [String: JSON] { ["type": "array", "items": .object(Element.schema)] }
    package var json: JSON { .array(self.map(\.json)) }
}

extension StatusValue where Self: RawRepresentable & CaseIterable, RawValue == String {
    package static var schema: [String: JSON] {
        ["type": "string", "enum": .array(Self.allCases.map { .string($0.rawValue) })]
    }

    package var json: JSON { .string(self.rawValue) }
}
