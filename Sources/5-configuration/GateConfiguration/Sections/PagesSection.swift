// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GatePages
internal import GateYAML

/// `pages` as the file has it.
struct PagesDraft: Sendable {
    var settings = PageSettings()
    var languages: Located<[Located<String>]>?
    var texts: [Named<[Named<String>]>]?
}

extension Mapping<PagesDraft> {
    static let pages = Mapping(
        "the pages",
        path: "pages",
        summary: "How the gateway's own pages look and speak. See [pages.md](pages.md).",
        make: { PagesDraft() },
        keys: lookKeys + wordKeys,
        check: { pages, _, reading in pages.check(&reading) }
    )

    private static let lookKeys: [Key<PagesDraft>] = [
        Key(
            "organization",
            \.settings.organization,
            .text,
            .init(default: .words("none"), example: "Acme"),
            "The name of the organization, on each page and in its title."
        ),
        Key(
            "logo",
            \.settings.logo,
            .picture,
            .init(default: .words("none"), example: "pages/logo.svg"),
            "A file with its logo: SVG, PNG, JPEG or WebP, at most 256 KiB; relative to the folder of this file. It is shown at most 48 "
                + "pixels high."
        ),
        Key(
            "support",
            \.settings.support,
            .support,
            .init(default: .words("none"), example: "help@example.com"),
            "Where users find help: an email address or an https URL, on each page."
        ),
        Key(
            "accent",
            \.settings.accent,
            .color(on: "#ffffff"),
            .init(default: .words("a blue"), example: "#0b57d0"),
            "The color of links and buttons, `\"#rrggbb\"` in quotation marks; less than a contrast of 4.5 to white gets a warning."
        ),
        Key(
            "accent_dark",
            \.settings.darkAccent,
            .color(on: "#1e2228"),
            .init(default: .words("a light blue"), example: "#a8c7fa"),
            "The same for browsers that prefer dark pages, whose background is `#1e2228`."
        ),
        Key(
            "style",
            \.settings.style,
            .textFile(upTo: PageSettings.maxFile),
            .init(default: .words("none"), example: "pages/own.css"),
            "A file with styles that follow those of the gateway, at most 64 KiB."
        ),
        Key(
            "templates",
            \.settings.templates,
            .templates,
            .init(default: .words("those of the gateway"), example: "pages/templates"),
            "A folder with templates that replace those of the gateway, such as `sign_in.mustache`. Values are always escaped."
        ),
    ]

    private static let wordKeys: [Key<PagesDraft>] = [
        Key(
            "languages",
            located: \.languages,
            .list(of: Shape<String>.language.located, named: "a list of languages"),
            .init(default: .value(.array(PageLanguage.builtIn.map { .string($0.tag) })), example: ["de", "en"]),
            "The languages of the pages; the browser chooses among them, and the first is for browsers that want none of them."
        ),
        Key(
            "texts",
            \.texts,
            .entries(
                of: .entries(of: .text, named: "a mapping of names to texts", rule: .textName),
                named: "a mapping of languages to texts",
                rule: .languageTag
            ),
            .init(default: .words("none")),
            "Texts of your own, by language and name, also of languages that the gateway does not have; what is missing there is "
                + "English. A text is HTML with the variables of the original, such as `{{app}}`."
        ),
    ]
}

extension PagesDraft {
    fileprivate mutating func check(_ reading: inout DecodingContext) {
        for language in self.texts ?? [] {
            var texts: [String: String] = [:]
            for text in language.value {
                do throws(PageTextError) {
                    _ = try PageLanguage(tag: language.name, with: [text.name: text.value])
                    texts[text.name] = text.value
                } catch {
                    reading.error("the text '\(text.name)' cannot be used: \(error.message)", at: text.mark)
                }
            }
            self.settings.texts[language.name] = texts
        }
        let known = Set(PageLanguage.builtIn.map(\.tag) + self.settings.texts.keys)
        guard let languages = self.languages else {
            let more = (self.texts ?? []).map(\.name).filter { !self.settings.languages.contains($0) }
            self.settings.languages += more
            return
        }
        if languages.value.isEmpty {
            reading.error("'languages' is an empty list; write [en] or remove it", at: languages.mark)
        }
        for tag in languages.value where !known.contains(tag.value) {
            let help =
                "the gateway has \(PageLanguage.builtIn.map(\.tag).joined(separator: ", ")); write others below 'texts'"
            reading.error("there are no texts for '\(tag.value)'; \(help)", at: tag.mark)
        }
        self.settings.languages = languages.value.map(\.value)
    }
}

extension Shape<String> {
    /// The tag of a language, RFC 5646.
    fileprivate static let language = single("a language", pattern: "^[a-z]{2,3}(-[a-z0-9]{2,8})*$") {
        text throws(InvalidValue) in
        guard NameRule.languageTag.reason(text) == nil else {
            throw InvalidValue("is not the tag of a language in lower case, such as de or pt-br")
        }
        return text
    }

    /// An email address or an https URL.
    fileprivate static let support = single("an email address or a URL") { text throws(InvalidValue) in
        let isURL = text.hasPrefix("https://") && WebURL(text) != nil
        guard isURL || EmailAddress(text) != nil, text.utf8.count <= 512 else {
            throw InvalidValue("is neither an email address nor an https URL")
        }
        return text
    }

    /// A color for texts on a background; a warning if they would be hard to read.
    fileprivate static func color(on background: String) -> Shape {
        let one = single("a color", pattern: "^#[0-9a-fA-F]{6}$") { text throws(InvalidValue) in
            guard PageColor(text) != nil else {
                throw InvalidValue("is not a color such as \"#0b57d0\"; it needs quotation marks")
            }
            return text
        }
        return Shape(one.kind, schema: one.schema) { node, reading in
            guard let text = one.read(node, &reading) else { return nil }
            if let color = PageColor(text), let other = PageColor(background), color.contrast(to: other) < 4.5 {
                let contrast = (color.contrast(to: other) * 10).rounded(.down) / 10
                reading.warning(
                    "the contrast of \(text) to \(background) is \(contrast), and texts need 4.5",
                    at: node.mark
                )
            }
            return text
        }
    }

    fileprivate static let templates = Shape("a folder", schema: Schema.text(pattern: nil)) { node, reading in
        guard let scalar = reading.scalar(node, kind: "a folder"), !scalar.text.isEmpty, !scalar.text.utf8.contains(0)
        else { return nil }
        var settings = PageSettings()
        settings.templates = reading.path(scalar.text)
        for name in PageName.allCases { reading.watch(FileAccess.resolve(name.file, in: reading.path(scalar.text))) }
        do throws(Failure) {
            _ = try Pages(settings, icons: [], files: reading.watchedFiles)
        } catch {
            reading.error(error.detail, at: scalar.mark)
            return nil
        }
        return settings.templates
    }
}

extension NameRule {
    fileprivate static let textName = NameRule(subject: "the name of a text", pattern: "^[a-z0-9_.]{1,80}$") { name in
        guard !PageLanguage.names.contains(name) else { return nil }
        let nearest = Hint.nearest(to: name, in: PageLanguage.names).map { "did you mean '\($0)'?" }
        return nearest ?? "docs/pages.md lists the names"
    }

    fileprivate static let languageTag = NameRule(
        subject: "a language",
        pattern: "^[a-z]{2,3}(-[a-z0-9]{2,8})*$"
    ) { name in
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        let isTag = parts.enumerated().allSatisfy { index, part in
            let isLong = index == 0 ? (2...3).contains(part.utf8.count) : (2...8).contains(part.utf8.count)
            return isLong
                && part.utf8.allSatisfy { (0x61...0x7A).contains($0) || index > 0 && (0x30...0x39).contains($0) }
        }
        return isTag && name.utf8.count <= 35 ? nil : "it is a tag in lower case, such as de or pt-br"
    }
}
