// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import Mustache

/// The gateway's own pages, made ready for a configuration.
///
/// Values are escaped by the templates. Of a request no page has more than what a user has typed into a field of it.
package struct Pages: Sendable {
    /// Where the style sheet, the script and the pictures are.
    package var endpoints = EndpointPrefix.standard
    /// The languages, the default first.
    package let languages: [PageLanguage]
    /// The style sheet.
    package let style: String
    private let settings: PageSettings
    private let templates: [PageName: PageTemplate]
    /// The pictures, by the paths of their files.
    private let picturesByPath: [String: PagePicture]
    /// The name of the style sheet's version, so that browsers may keep it.
    package let styleVersion: String

    /// The pages without any settings.
    package init() {
        self.settings = PageSettings()
        self.languages = PageLanguage.builtIn
        self.templates = Pages.builtIn
        self.picturesByPath = [:]
        self.style = Pages.sheet
        self.styleVersion = Pages.version(of: Pages.sheet)
    }

    /// The pages of a configuration.
    ///
    /// - Parameters:
    ///   - settings: How they look and speak.
    ///   - icons: The paths of further pictures: of apps, of providers.
    ///   - files: Reads the files.
    /// - Throws: A `Failure` naming what cannot be read or used.
    package init(_ settings: PageSettings, icons: [String], files: FileAccess = .system) throws(Failure) {
        self.settings = settings
        var languages: [PageLanguage] = []
        for tag in settings.languages {
            do throws(PageTextError) {
                languages.append(try PageLanguage(tag: tag, with: settings.texts[tag] ?? [:]))
            } catch {
                throw Failure(.fileUnusable, "'pages.texts' for \(tag): \(error.message)")
            }
        }
        self.languages = languages.isEmpty ? PageLanguage.builtIn : languages
        self.templates = try Pages.templates(in: settings.templates, by: files)
        var pictures: [String: PagePicture] = [:]
        for path in icons + [settings.logo].compactMap(\.self) where pictures[path] == nil {
            pictures[path] = try PagePicture(at: path, by: files)
        }
        self.picturesByPath = pictures
        self.style = try Pages.sheet(for: settings, by: files)
        self.styleVersion = Pages.version(of: self.style)
    }

    /// The operator's pictures.
    package var pictures: [PagePicture] { Array(self.picturesByPath.values) }

    /// The path of the URL of a file's picture; nil if the configuration does not have it.
    package func address(ofPicture path: String?) -> String? {
        path.flatMap { self.picturesByPath[$0] }.map { self.endpoints.path("pictures/\($0.name)") }
    }

    /// The language for a browser that sent this `Accept-Language`.
    package func language(for header: String?) -> PageLanguage { .chosen(from: self.languages, for: header) }

    /// A page: its content in the frame that all pages share.
    ///
    /// - Parameters:
    ///   - name: Its template.
    ///   - title: The title and heading.
    ///   - values: The values of the content.
    ///   - language: The language.
    ///   - isWide: Whether it has more than a few lines and buttons.
    /// - Returns: The page.
    func render(
        _ name: PageName,
        title: PageTemplate,
        _ values: [String: Any],
        in language: PageLanguage,
        isWide: Bool = false
    ) -> String {
        guard let frame = self.templates[.frame], let content = self.templates[name] else { return "" }
        var all = values
        all["t"] = Texts(language: language)
        all["title"] = title.value
        all["content"] = content.value
        all["language"] = language.tag
        all["direction"] = language.isRightToLeft ? "rtl" : "ltr"
        all["isWide"] = isWide
        all["style"] = self.endpoints.path("style.css?v=\(self.styleVersion)")
        all["script"] = self.endpoints.path("passkey.js?v=\(Pages.scriptVersion)")
        all["icon"] = self.endpoints.path("icon.svg")
        all["organization"] = self.settings.organization ?? ""
        all["hasOrganization"] = self.settings.organization != nil
        let logo = self.address(ofPicture: self.settings.logo)
        all["logo"] = logo ?? ""
        all["hasLogo"] = logo != nil
        let support = self.settings.support
        all["hasSupport"] = support != nil
        all["supportText"] = support.map { $0.replacing("https://", with: "") } ?? ""
        all["supportURL"] = support.map { $0.hasPrefix("https://") ? $0 : "mailto:\($0)" } ?? ""
        return frame.render(all)
    }

    /// The texts of a language, as templates find them below `t`.
    private struct Texts: MustacheParent {
        let language: PageLanguage

        func child(named name: String) -> Any? { self.language.texts[name]?.value }
    }

    static func version(of style: String) -> String {
        ContentDigest.name(of: Array(style.utf8))
    }

    static func values(of user: PageContext.User?) -> [String: Any] {
        guard let user else { return ["hasUser": false, "hasAccount": false] }
        return [
            "hasUser": true, "isSignedIn": user.isSignedIn, "user": user.name, "account": user.account,
            "hasAccount": !user.account.isEmpty,
        ]
    }
}

// MARK: Files of the operator

extension Pages {
    private static func templates(
        in folder: String?,
        by files: FileAccess
    ) throws(Failure) -> [PageName: PageTemplate] {
        guard let folder else { return self.builtIn }
        var templates = self.builtIn
        var found = 0
        for name in PageName.allCases {
            let path = FileAccess.resolve(name.file, in: folder)
            guard let text = try self.text(at: path, by: files, isRequired: false) else { continue }
            found += 1
            do throws(PageTextError) {
                templates[name] = try PageTemplate(operators: text, with: self.names(of: name))
            } catch {
                throw Failure(.fileUnusable, "\(path):\(error.line):\(error.column): \(error.message)")
            }
        }
        guard found > 0 else {
            let names = PageName.allCases.map(\.file).joined(separator: ", ")
            throw Failure(.fileUnusable, "the folder \(folder) has no template; there are \(names)")
        }
        return templates
    }

    /// The names in a template: those of the program's own, those of every page, and the texts.
    private static func names(of name: PageName) -> PageNames {
        var names = self.builtIn[.frame]?.names ?? PageNames()
        names.variables.formUnion(PageText.allCases.map { "t.\($0.rawValue)" })
        guard name != .frame else { return names }
        // A content within itself would never end.
        names.variables.remove("content")
        return names.union(self.builtIn[name]?.names ?? PageNames())
    }

    private static func sheet(for settings: PageSettings, by files: FileAccess) throws(Failure) -> String {
        var sheet = self.sheet
        if let accent = settings.accent { sheet += ":root { --accent: \(accent); }\n" }
        if let accent = settings.darkAccent {
            sheet += "@media (prefers-color-scheme: dark) { :root { --accent: \(accent); } }\n"
        }
        if let path = settings.style, let own = try self.text(at: path, by: files, isRequired: true) { sheet += own }
        return sheet
    }

    private static func text(at path: String, by files: FileAccess, isRequired: Bool) throws(Failure) -> String? {
        switch files.read(path, limit: PageSettings.maxFile) {
        case .bytes(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(.fileUnusable, "\(path) is not UTF-8")
            }
            return text
        case .missing:
            guard isRequired else { return nil }
            throw Failure(.fileUnusable, "there is no file \(path)")
        case .unreadable: throw Failure(.fileUnusable, "\(path) cannot be read")
        case .tooLarge: throw Failure(.fileUnusable, "\(path) is larger than \(PageSettings.maxFile >> 10) KiB")
        }
    }
}
