// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// How users see an app: `display` in the file.
package struct DisplaySettings: Sendable, Hashable {
    /// The name; nil for that in the file.
    package var name: String?
    /// What the app is for.
    package var description: String?
    /// The path of the file with its icon.
    package var icon: String?
    /// The heading below which the list of apps has it.
    package var group: String?
    /// Whose list of apps has it.
    package var listed = AppListing.admitted

    /// The settings without `display`.
    package init() {}
}

/// Whose list of apps has an app, by its name in the file.
package enum AppListing: String, Sendable, CaseIterable {
    /// That of users who may open it.
    case admitted
    /// That of users of providers that it does not accept, too.
    case everyone
    /// None.
    case never
}

extension Mapping<DisplaySettings> {
    /// `apps.<name>.display`.
    static let display = Mapping(
        "the display of an app",
        path: "apps.<name>.display",
        summary: "How users see the app: on the sign-in page, in their list of apps, on pages about failures.",
        make: { DisplaySettings() },
        keys: [
            Key(
                "name",
                \.name,
                .text,
                .init(default: .words("that of the entry"), example: "Team wiki"),
                "The name for users."
            ),
            Key(
                "description",
                \.description,
                .text,
                .init(default: .words("none"), example: "What we know, and who knows it"),
                "What the app is for, in a few words."
            ),
            Key(
                "icon",
                \.icon,
                .picture,
                .init(default: .words("the first letter"), example: "pages/wiki.svg"),
                "A file with an icon: SVG, PNG, JPEG or WebP, at most 256 KiB; relative to the folder of this file."
            ),
            Key(
                "group",
                \.group,
                .text,
                .init(default: .words("none"), example: "Knowledge"),
                "The heading below which the list of apps has it."
            ),
            Key(
                "listed",
                over: \.listed,
                .oneOf("a choice of users"),
                .init(default: "admitted", example: "everyone"),
                "Whose list of apps has it: users who are `admitted`, also those who need another sign-in for it (`everyone`), or `never`."
            ),
        ]
    )
}
