// SPDX-License-Identifier: Apache-2.0

/// A single value of the file after references were filled in.
package struct Scalar: Sendable {
    package enum Source: Sendable, Hashable {
        /// It is written in the file.
        case written
        /// It comes from an environment variable or another file.
        case reference(String)
    }

    /// The value.
    package let text: String
    package let source: Source
    /// Its location.
    package let mark: YAMLMark
    /// The file that a reference names; nil for any other value.
    package let file: String?

    init(text: String, source: Source, mark: YAMLMark, file: String? = nil) {
        self.text = text
        self.source = source
        self.mark = mark
        self.file = file
    }

    /// The value as a message may show it: never that of a reference, never more than 60 characters.
    package var shown: String {
        guard case .reference(let reference) = self.source else { return Scalar.quoted(self.text) }
        return "the value of \(reference)"
    }

    /// A part of the file in quotes, without control characters for a terminal.
    ///
    /// Paths of files are shown completely, up to the 4096 bytes that a path may have.
    package static func quoted(_ text: String, limit: Int = 60) -> String {
        let plain = text.unicodeScalars.prefix(limit + 1).map { scalar -> Character in
            [.control, .format].contains(scalar.properties.generalCategory) ? " " : Character(scalar)
        }
        return plain.count > limit ? "'\(String(plain.prefix(limit)))…'" : "'\(String(plain))'"
    }
}

/// Why a value is invalid, in words that follow the value.
package struct InvalidValue: Error, Sendable {
    /// The reason.
    package let message: String

    /// Makes a failure with a reason.
    package init(_ message: String) {
        self.message = message
    }
}

/// A value and its location.
package struct Located<Value: Sendable>: Sendable {
    /// The value.
    package let value: Value
    /// Its location.
    package let mark: YAMLMark

    /// Pairs a value with a location.
    package init(value: Value, mark: YAMLMark) {
        self.value = value
        self.mark = mark
    }
}

/// A value with the name it has in the file.
package struct Named<Value: Sendable>: Sendable {
    package let name: String
    /// The location of the name.
    package let mark: YAMLMark
    /// The value.
    package let value: Value

    /// The same name with what `change` makes of the value.
    package func map<Other: Sendable>(_ change: (Value) -> Other) -> Named<Other> {
        Named<Other>(name: self.name, mark: self.mark, value: change(self.value))
    }
}
