// SPDX-License-Identifier: Apache-2.0

/// The value of a claim of an operator's own: what a provider reports about a user beyond the fields of a ``Profile``.
package enum ClaimValue: Sendable, Hashable {
    case text(String)
    /// A number, as the provider wrote it.
    case number(String)
    /// True or false.
    case flag(Bool)
    /// Texts in the order of the provider.
    case list([String])

    /// The most bytes of one text.
    package static let maxTextBytes = 1024
    /// The most texts of a list, and the most bytes of all of them.
    package static let maxListCount = 5000
    private static let maxListBytes = 32_768
    private static let maxNumberBytes = 64

    /// The value that a provider sent; nil for null, an empty or unprintable text, an object, and what is too large.
    ///
    /// A list of which one element cannot be used is left out as a whole: a rule or an app that got the rest could decide wrongly.
    package init?(_ json: JSON) {
        switch json {
        case .bool(let flag): self = .flag(flag)
        case .number(let text):
            guard text.utf8.count <= ClaimValue.maxNumberBytes else { return nil }
            self = .number(text)
        case .string(let text):
            guard let text = PrintableText.checked(text, limit: ClaimValue.maxTextBytes) else { return nil }
            self = .text(text)
        case .array(let elements):
            guard elements.count <= ClaimValue.maxListCount else { return nil }
            let texts = elements.compactMap(ClaimValue.text(ofElement:))
            let bytes = texts.reduce(0) { $0 + $1.utf8.count }
            guard texts.count == elements.count, bytes <= ClaimValue.maxListBytes else { return nil }
            self = .list(texts)
        case .null, .object: return nil
        }
    }

    /// The value as JSON, of the type that the provider sent.
    package var json: JSON {
        switch self {
        case .text(let text): .string(text)
        case .number(let text): .number(text)
        case .flag(let flag): .bool(flag)
        case .list(let texts): .array(texts.map(JSON.string))
        }
    }

    /// What a rule compares with the values that it names: the text, the digits, `true` or `false`, each text of a list.
    package var texts: [String] {
        switch self {
        case .text(let text), .number(let text): [text]
        case .flag(let flag): [flag ? "true" : "false"]
        case .list(let texts): texts
        }
    }

    /// An element of a list as text: providers mix texts and numbers.
    private static func text(ofElement json: JSON) -> String? {
        switch json {
        case .string(let text): PrintableText.checked(text, limit: self.maxTextBytes)
        case .number(let text): text.utf8.count <= self.maxNumberBytes ? text : nil
        case .null, .bool, .array, .object: nil
        }
    }
}
