// SPDX-License-Identifier: Apache-2.0

internal import Mustache

/// Why a text or a template of the operator cannot be used.
package struct PageTextError: Error, Hashable {
    /// The line, from 1.
    package let line: Int
    /// The column, from 1.
    package let column: Int
    /// What is wrong, and what to do.
    package let message: String

    /// A mistake at the beginning of the tag at a place of a text.
    fileprivate init(_ message: String, at place: String.Index, of text: String) {
        let before = text[..<place].split(separator: "\n", omittingEmptySubsequences: false)
        (self.line, self.column, self.message) = (before.count, (before.last?.count ?? 0) + 1, message)
    }

    fileprivate init(_ message: String, line: Int, column: Int) {
        (self.line, self.column, self.message) = (line, column, message)
    }
}

/// A template of a page; values between two braces are escaped for HTML.
package struct PageTemplate: Sendable {
    /// What it was made of.
    let source: String
    private let template: MustacheTemplate

    /// A template without any text.
    static let empty = PageTemplate("")

    /// A template that is part of the program: one that cannot be parsed stops the process.
    package init(_ text: String) {
        do {
            self.template = try MustacheTemplate(string: PageTemplate.pragma + text)
        } catch {
            preconditionFailure("a template of a page cannot be parsed: \(error)")
        }
        self.source = text
    }

    /// A template of the operator.
    ///
    /// - Parameters:
    ///   - text: The template.
    ///   - known: The tags that it may have.
    /// - Throws: What is wrong with it.
    init(operators text: String, with known: PageNames) throws(PageTextError) {
        for tag in PageTags(text) {
            if let reason = known.reason(against: tag) { throw PageTextError(reason, at: tag.place, of: text) }
        }
        do {
            self.template = try MustacheTemplate(string: PageTemplate.pragma + text)
        } catch let error as MustacheTemplate.ParserError {
            let (line, column) = (error.context.lineNumber, error.context.columnNumber)
            let skipped = line == 1 ? PageTemplate.pragma.count : 0
            let reason = "it is not a valid template: \(error.error)"
            throw PageTextError(reason, line: line, column: max(1, column - skipped))
        } catch {
            throw PageTextError("it is not a valid template: \(error)", line: 1, column: 1)
        }
        self.source = text
    }

    private static let pragma: String = {
        MustacheContentTypes.register(ScalarEscaping(), named: ScalarEscaping.name)
        return "{{% CONTENT_TYPE: \(ScalarEscaping.name)}}"
    }()

    /// The names of its variables and sections.
    var names: PageNames { PageNames(of: self.source) }

    package func render(_ values: [String: Any]) -> String { self.template.render(values) }

    /// The template as a value of another one, which renders it in its place.
    package var value: Any { self.template }
}

/// The names that a template may have.
struct PageNames: Sendable, Hashable {
    /// Those whose values it inserts.
    var variables: Set<String> = []
    /// Those of its sections: lists and conditions.
    ///
    /// A section over a template could make it contain itself.
    var sections: Set<String> = []

    init() {}

    /// The names in a template.
    fileprivate init(of text: String) {
        for tag in PageTags(text) {
            guard let name = tag.name else { continue }
            if tag.isSection { self.sections.insert(name) } else { self.variables.insert(name) }
        }
    }

    func union(_ other: PageNames) -> PageNames {
        var all = self
        all.variables.formUnion(other.variables)
        all.sections.formUnion(other.sections)
        return all
    }

    /// Why a template may not have a tag; nil if it may.
    fileprivate func reason(against tag: PageTags.Tag) -> String? {
        if tag.isUnsafe { return "'\(tag.text)' would insert bytes unescaped; write {{name}}" }
        guard let name = tag.name else { return nil }
        let known = tag.isSection ? self.sections : self.variables
        guard !known.contains(name) else { return nil }
        let kind = tag.isSection ? "section" : "variable"
        guard !known.isEmpty else { return "it has the \(kind) '\(name)', and no \(kind) is possible here" }
        let list = known.filter { !$0.hasPrefix("t.") }.sorted().map { "'\($0)'" }.joined(separator: ", ")
        return "it has the \(kind) '\(name)'; there are \(list)"
    }
}

/// The tags of a template, in order.
private struct PageTags: Sequence, IteratorProtocol {
    private var rest: Substring

    /// One tag, with its braces.
    struct Tag {
        let text: String
        /// Where it begins.
        let place: String.Index

        /// The first character after the braces.
        private var sign: Character? { self.text.dropFirst(2).first { !$0.isWhitespace } }
        /// Whether it inserts bytes that are not escaped, other templates, or changes the rules.
        var isUnsafe: Bool { self.sign.map { "{&%=><$".contains($0) } ?? false }
        /// Whether it begins a section.
        var isSection: Bool { self.sign == "#" || self.sign == "^" }
        /// The name of the variable or section; nil for an end and for a comment.
        var name: String? {
            guard let sign = self.sign, sign != "/", sign != "!" else { return nil }
            let inner = self.text.dropFirst(2).dropLast(2).drop { $0.isWhitespace || $0 == "#" || $0 == "^" }
            return String(inner.prefix { !$0.isWhitespace })
        }
    }

    init(_ text: String) { self.rest = Substring(text) }

    mutating func next() -> Tag? {
        guard let start = self.rest.firstRange(of: "{{") else { return nil }
        let after = self.rest[start.lowerBound...]
        guard let end = after.firstRange(of: "}}") else {
            self.rest = ""
            return Tag(text: String(after), place: start.lowerBound)
        }
        self.rest = after[end.upperBound...]
        return Tag(text: String(after[..<end.upperBound]), place: start.lowerBound)
    }
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
