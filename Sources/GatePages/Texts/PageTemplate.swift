// SPDX-License-Identifier: Apache-2.0

internal import Mustache

/// A template of a page; values between two braces are escaped for HTML.
struct PageTemplate: Sendable {
    private let template: MustacheTemplate

    /// A template that is part of the program: one that cannot be parsed stops the process.
    init(_ text: String) {
        MustacheContentTypes.register(ScalarEscaping(), named: ScalarEscaping.name)
        do {
            let escaping = "{{% CONTENT_TYPE: \(ScalarEscaping.name)}}"
            self.template = try MustacheTemplate(string: escaping + text)
        } catch {
            preconditionFailure("a template of a page cannot be parsed: \(error)")
        }
    }

    /// The page with these values.
    func render(_ values: [String: Any]) -> String { self.template.render(values) }
}

/// Escapes each scalar that HTML gives a meaning.
///
/// That of the library compares characters. A browser reads scalars: one that joins with `<` or `"` to one character, such as
/// U+0600 before it or U+0301 after it, would take it through unescaped.
private struct ScalarEscaping: MustacheContentType {
    static let name = "SCALARS"

    func escapeText(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "&": escaped += "&amp;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
