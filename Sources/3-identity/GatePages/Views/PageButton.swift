// SPDX-License-Identifier: Apache-2.0

/// A link that looks like a button.
package struct PageButton: Sendable, Hashable {
    /// The URL that the button leads to.
    package let address: String
    package let label: Label
    /// The path of the URL of its picture; nil for none.
    package let picture: String?
    /// Whether what it leads to does not respond at the moment.
    package let isUnavailable: Bool

    /// What a button is labelled with.
    package enum Label: Sendable, Hashable {
        case text(PageText)
        /// `Sign in with NAME`.
        case provider(String)
        /// What the operator wrote.
        case fixed(String)
    }

    /// A button with a label that leads to a URL.
    package init(address: String, label: Label, picture: String? = nil, isUnavailable: Bool = false) {
        (self.address, self.label, self.picture, self.isUnavailable) = (address, label, picture, isUnavailable)
    }

    /// The values of a template.
    func values(in language: PageLanguage) -> [String: Any] {
        var values: [String: Any] = [
            "address": self.address, "picture": self.picture ?? "", "hasPicture": self.picture != nil,
            "isUnavailable": self.isUnavailable,
        ]
        switch self.label {
        case .text(let text): values["text"] = language.template(text).value
        case .provider(let name): (values["text"], values["provider"]) = (language.template(.signInWith).value, name)
        case .fixed(let text): values["text"] = text
        }
        return values
    }
}
