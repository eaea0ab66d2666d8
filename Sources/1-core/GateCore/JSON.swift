// SPDX-License-Identifier: Apache-2.0

/// A JSON value that keeps what providers sent: numbers stay decimal text, so a 21-digit id stays exact.
///
/// RFC 8259.
package enum JSON: Sendable, Hashable {
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, as it was written.
    case number(String)
    case string(String)
    case array([JSON])
    /// Members by name; a document in which one name occurs twice is refused when it is read.
    case object([String: JSON])

    /// A whole number.
    package static func int(_ value: Int64) -> JSON { .number(String(value)) }

    /// The member of an object, or nil.
    package subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The text of a string, or nil.
    package var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The truth value of a boolean, or nil.
    package var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The elements of an array, or nil.
    package var array: [JSON]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members of an object, or nil.
    package var object: [String: JSON]? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// A number as whole seconds within 0 to 2^53; a fraction is cut off, RFC 7519 §2.
    ///
    /// Nil for all else.
    package var numericDate: Instant? {
        guard case .number(let text) = self, let value = Double(text), value >= 0, value <= 9_007_199_254_740_992 else {
            return nil
        }
        return Instant(seconds: Int64(saturating: value))
    }

    /// A number without fraction and exponent that fits 64 bits, or nil.
    package var integer: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }

    /// The value found by a JSON Pointer such as `/a/0/b`, or nil.
    ///
    /// RFC 6901 §4.
    package func value(at pointer: String) -> JSON? {
        guard !pointer.isEmpty else { return self }
        guard pointer.utf8.first == UInt8(ascii: "/") else { return nil }
        // Most pointers name a member of the document itself.
        let rest = pointer.utf8.dropFirst()
        if case .object(let members) = self,
            !rest.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "~") })
        {
            return members[String(Substring(rest))]
        }
        var current = self
        for step in pointer.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            let isEscaped = step.contains(UInt8(ascii: "~"))
            let text = String(Substring(step))
            let name = isEscaped ? text.replacing("~1", with: "/").replacing("~0", with: "~") : text
            switch current {
            case .object(let members):
                guard let member = members[name] else { return nil }
                current = member
            case .array(let elements):
                guard let index = Int(name), String(index) == name, elements.indices.contains(index) else { return nil }
                current = elements[index]
            case .null, .bool, .number, .string:
                return nil
            }
        }
        return current
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object; of repeated names the last counts.
    package init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}
