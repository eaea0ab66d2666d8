// SPDX-License-Identifier: Apache-2.0

/// An error or warning about a file, with its location and what to do.
package struct Diagnostic: Sendable, Hashable {
    /// How bad it is.
    package enum Severity: String, Sendable {
        /// The file cannot be used.
        case error
        /// The file can be used, but something is likely not meant.
        case warning
    }

    /// A place in a file.
    package struct Location: Sendable, Hashable, Comparable {
        /// The file as the user named it.
        package let file: String
        /// The line, from 1.
        package let line: Int
        /// The column in characters, from 1.
        package let column: Int

        /// Makes a place; lines and columns count from 1.
        package init(file: String, line: Int, column: Int) {
            self.file = file
            self.line = line
            self.column = column
        }

        /// Earlier lines come first, then earlier columns.
        package static func < (left: Location, right: Location) -> Bool {
            (left.line, left.column) < (right.line, right.column)
        }
    }

    /// How bad it is.
    package let severity: Severity
    /// Where it is; nil for what concerns the file as a whole.
    package let location: Location?
    /// What is wrong and what to do.
    package let message: String
    /// The line of the file that ``location`` points into, if it can be shown.
    package let source: String?

    package init(_ severity: Severity, _ message: String, at location: Location?, source: String? = nil) {
        self.severity = severity
        self.location = location
        self.message = message
        self.source = source
    }

    /// `file:line:column: severity: message`, then the source line and a caret.
    package var rendered: String {
        let place = self.location.map { "\($0.file):\($0.line):\($0.column): " } ?? ""
        let head = "\(place)\(self.severity.rawValue): \(self.message)"
        guard let source, let location else { return head }
        let shown = Diagnostic.excerpt(of: source, around: location.column)
        return "\(head)\n    \(shown.text)\n    \(String(repeating: " ", count: shown.caret))^"
    }

    /// At most 100 printable characters of the line, so that a hostile file cannot flood or steer a terminal.
    private static func excerpt(of line: String, around column: Int) -> (text: String, caret: Int) {
        let plain = line.map { $0.unicodeScalars.allSatisfy(PrintableText.isPrintable) ? $0 : " " }
        let first = plain.count <= 100 ? 0 : max(0, min(column - 1, plain.count) - 60)
        let text = String(plain.dropFirst(first).prefix(100))
        return (text, max(0, min(column - 1, plain.count) - first))
    }
}
