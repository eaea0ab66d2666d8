// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// A language of the pages: its texts, ready to render.
package struct PageLanguage: Sendable {
    /// The tag of RFC 5646, such as `de`, in lower case.
    package let tag: String
    /// The texts by their names, those of failures as `failure.NAME.title` and `failure.NAME.text`.
    let texts: [String: PageTemplate]

    /// Whether it is written from right to left.
    var isRightToLeft: Bool { PageLanguage.rightToLeft.contains(String(self.tag.prefix { $0 != "-" })) }

    private static let rightToLeft: Set<String> = ["ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]

    func template(_ text: PageText) -> PageTemplate { self.texts[text.rawValue] ?? .empty }

    /// A text of the pages with its variables replaced and escaped, as HTML.
    func html(_ text: PageText, _ values: [String: Any] = [:]) -> String { self.template(text).render(values) }

    /// The heading and the text of the page about a failure.
    func templates(of page: Failure.Page) -> (title: PageTemplate, text: PageTemplate) {
        let names = PageLanguage.names(of: page)
        return (self.texts[names.title] ?? .empty, self.texts[names.text] ?? .empty)
    }

    private static func names(of page: Failure.Page) -> (title: String, text: String) {
        ("failure.\(page.name).title", "failure.\(page.name).text")
    }
}

extension PageLanguage {
    /// The languages that are part of the program.
    package static let builtIn: [PageLanguage] = [
        PageLanguage("en", PageText.english, Failure.Page.english),
        PageLanguage("de", PageText.german, Failure.Page.german),
        PageLanguage("fr", PageText.french, Failure.Page.french),
        PageLanguage("es", PageText.spanish, Failure.Page.spanish),
    ]

    package static let names: [String] =
        PageText.allCases.map(\.rawValue) + Failure.Page.all.flatMap { [names(of: $0).title, names(of: $0).text] }

    /// The English texts as YAML, as they are written in `pages.texts` below a language.
    package static var reference: String {
        let lines = self.names.map { name -> String in
            let text = (self.builtIn[0].texts[name]?.source ?? "").replacing("\\", with: "\\\\").replacing(
                "\"",
                with: "\\\""
            )
            return "\(name): \"\(text)\"\n"
        }
        return lines.joined()
    }

    /// A language of the program; texts that it lacks are English.
    private init(
        _ tag: String,
        _ texts: [PageText: String],
        _ pages: [String: (title: String, text: String)]
    ) {
        self.tag = tag
        var all: [String: PageTemplate] = [:]
        for text in PageText.allCases {
            all[text.rawValue] = PageTemplate(texts[text] ?? PageText.english[text] ?? "")
        }
        for page in Failure.Page.all {
            let (names, own) = (PageLanguage.names(of: page), pages[page.name] ?? Failure.Page.english[page.name])
            all[names.title] = PageTemplate(own?.title ?? "")
            all[names.text] = PageTemplate(own?.text ?? "")
        }
        self.texts = all
    }

    /// A language of the program, or another one on the base of English, with texts of the operator.
    ///
    /// - Parameters:
    ///   - tag: The tag of the language.
    ///   - own: The operator's texts, by their names.
    /// - Throws: ``PageTextError`` for a text that cannot be rendered.
    package init(tag: String, with own: [String: String]) throws(PageTextError) {
        let base = PageLanguage.builtIn.first { $0.tag == tag } ?? PageLanguage.builtIn[0]
        self.tag = tag
        var texts = base.texts
        for (name, text) in own {
            // A name that does not exist is rejected where the file is read.
            guard let known = base.texts[name] else { continue }
            texts[name] = try PageTemplate(operators: text, with: known.names)
        }
        self.texts = texts
    }
}

// MARK: Choice

extension PageLanguage {
    /// The language for a browser: the first that it prefers, else the first of all.
    ///
    /// RFC 9110 §12.5.4, with the lookup of RFC 4647 §3.4. Of a longer field only the beginning counts.
    ///
    /// - Parameters:
    ///   - languages: The languages, at least one.
    ///   - header: The value of `Accept-Language`.
    /// - Returns: The language.
    static func chosen(from languages: [PageLanguage], for header: String?) -> PageLanguage {
        let ranges = (header?.utf8.prefix(PageLanguage.maxHeader).split(separator: UInt8(ascii: ",")) ?? [])
            .prefix(PageLanguage.maxRanges)
            .compactMap { PageLanguage.range(String(decoding: $0, as: UTF8.self)) }
        // Stable: ranges of the same weight keep their order.
        for range in ranges.enumerated().sorted(by: { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) })
        {
            if range.element.tag == "*" { continue }
            var tag = Substring(range.element.tag)
            while !tag.isEmpty {
                if let match = languages.first(where: { $0.tag == tag }) { return match }
                tag = tag.lastIndex(of: "-").map { tag[..<$0] } ?? ""
            }
        }
        return languages[0]
    }

    private static let maxHeader = 512
    private static let maxRanges = 32

    /// A range with its weight in thousandths; nil for one that is not wanted or not valid.
    private static func range(_ text: String) -> (tag: String, weight: Int)? {
        let parts = text.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
        guard let tag = parts.first, !tag.isEmpty else { return nil }
        guard parts.count > 1 else { return (tag, 1000) }
        guard parts[1].hasPrefix("q="), let weight = Double(parts[1].dropFirst(2)), weight > 0, weight <= 1 else {
            return nil
        }
        return (tag, Int(saturating: weight * 1000))
    }
}

extension Failure.Page {
    /// All pages, each with a name of its own.
    static let all: [Failure.Page] = {
        var names: Set<String> = []
        return Failure.Reason.allCases.map(\.entry.page).filter { names.insert($0.name).inserted }
    }()
}
