// SPDX-License-Identifier: Apache-2.0

/// A single value of the file after references were filled in.
struct Scalar: Sendable {
    /// The source of a value.
    enum Source: Sendable, Hashable {
        case written
        case reference(String)
    }

    let text: String
    let source: Source
    let mark: YAMLMark
    /// The file that a reference names; nil for any other value.
    let file: String?

    init(text: String, source: Source, mark: YAMLMark, file: String? = nil) {
        self.text = text
        self.source = source
        self.mark = mark
        self.file = file
    }

    /// The value as a message may show it: never that of a reference, never more than 60 characters.
    var shown: String {
        guard case .reference(let reference) = self.source else { return Scalar.quoted(self.text) }
        return "the value of \(reference)"
    }

    /// A part of the file in quotes, without control characters for a terminal.
    ///
    /// Paths of files are shown completely, up to the 4096 bytes that a path may have.
    static func quoted(_ text: String, limit: Int = 60) -> String {
        let plain = text.unicodeScalars.prefix(limit + 1).map { scalar -> Character in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : Character(scalar)
        }
        return plain.count > limit ? "'\(String(plain.prefix(limit)))…'" : "'\(String(plain))'"
    }
}

/// Why a value is invalid, in words that follow the value.
struct InvalidValue: Error, Sendable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// A value and its location.
struct Located<Value: Sendable>: Sendable {
    let value: Value
    let mark: YAMLMark
}

/// A value with the name it has in the file.
struct Named<Value: Sendable>: Sendable {
    let name: String
    let mark: YAMLMark
    let value: Value
}
