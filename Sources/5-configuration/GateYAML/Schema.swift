// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The pieces of JSON Schema that shapes share.
package enum Schema {
    /// `${env:NAME}` or `${file:/path}`, which may replace any single value.
    package static let reference: JSON = ["$ref": "#/$defs/reference"]

    /// The regular expression of a reference.
    package static let referencePattern = #"^\$\{(env|file):[^${}]+\}$"#

    /// A single value: any text, or a text that matches a regular expression or is a reference.
    package static func text(pattern: String?) -> JSON {
        guard let pattern else { return ["type": ["string", "number"]] }
        return ["anyOf": [["type": ["string", "number"], "pattern": .string(pattern)], self.reference]]
    }

    /// A whole number within bounds.
    package static func integer(_ bounds: ClosedRange<Int>) -> JSON {
        let number: JSON = [
            "type": "integer", "minimum": .int(Int64(bounds.lowerBound)), "maximum": .int(Int64(bounds.upperBound)),
        ]
        return ["anyOf": [number, self.reference]]
    }

    package static func annotated(_ schema: JSON, description: String, example: JSON?, default value: JSON?) -> JSON {
        guard var members = schema.object else { return schema }
        members["description"] = .string(description)
        if let example { members["examples"] = [example] }
        if let value { members["default"] = value }
        return .object(members)
    }
}
