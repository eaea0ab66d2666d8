// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What the page of a user's apps shows.
package struct AppsView {
    package struct App: Sendable, Hashable {
        package let name: String
        package let address: String
        /// What it is for; nil if the operator wrote nothing.
        package let description: String?
        /// The heading below which it is listed; nil for none.
        package let group: String?
        /// The path of the URL of its icon.
        package let icon: String?
        /// The names of the providers that it needs, if the user's is not one of them; empty otherwise.
        package let neededProviders: [String]
        /// When the access of the user ends by itself; nil if no rule ends it.
        package let until: Instant?

        /// An app of these properties.
        package init(
            name: String,
            address: String,
            description: String?,
            group: String?,
            icon: String?,
            neededProviders: [String],
            until: Instant? = nil
        ) {
            (self.name, self.address, self.description, self.group) = (name, address, description, group)
            (self.icon, self.neededProviders, self.until) = (icon, neededProviders, until)
        }

        fileprivate var values: [String: Any] {
            [
                "name": self.name, "address": self.address, "description": self.description ?? "",
                "hasDescription": self.description != nil, "picture": self.icon ?? "", "hasPicture": self.icon != nil,
                "initial": self.name.first.map { String($0).uppercased() } ?? "",
                "providers": self.neededProviders.joined(separator: ", "), "needs": !self.neededProviders.isEmpty,
                "until": self.until?.pageText ?? "", "ends": self.until != nil,
            ]
        }
    }

    /// The apps, in the order of the file.
    package let apps: [App]
    /// What the user searched for; nil for no search.
    package let search: String?
    /// Whether there are more apps than the page lists.
    package let hasMore: Bool
    /// Whether the field of the search is offered.
    package let offersSearch: Bool

    /// - Parameters:
    ///   - apps: The apps, in the order of the file.
    ///   - search: What the user searched for; nil for no search.
    ///   - hasMore: Whether there are more apps than the page lists.
    ///   - offersSearch: Whether the field of the search is offered.
    package init(apps: [App], search: String?, hasMore: Bool, offersSearch: Bool) {
        (self.apps, self.search, self.hasMore, self.offersSearch) = (apps, search, hasMore, offersSearch)
    }

    /// The values of a template: the apps without a heading first, then by heading, then those that need another sign-in.
    func values(in language: PageLanguage) -> [String: Any] {
        let open = self.apps.filter(\.neededProviders.isEmpty)
        var groups: [(title: String?, apps: [App])] = []
        for app in open {
            if let index = groups.firstIndex(where: { $0.title == app.group }) {
                groups[index].apps.append(app)
            } else {
                groups.append((app.group, [app]))
            }
        }
        let sorted = groups.filter { $0.title == nil } + groups.filter { $0.title != nil }
        var sections: [[String: Any]] = sorted.map { group in
            ["heading": group.title ?? "", "hasHeading": group.title != nil, "apps": group.apps.map(\.values)]
        }
        let others = self.apps.filter { !$0.neededProviders.isEmpty }
        if !others.isEmpty {
            let heading = language.template(.appsElsewhere).value
            sections.append(["heading": heading, "hasHeading": true, "apps": others.map(\.values)])
        }
        return [
            "sections": sections, "hasApps": !self.apps.isEmpty, "search": self.search ?? "",
            "hasSearch": self.search != nil, "hasMore": self.hasMore, "offersSearch": self.offersSearch,
        ]
    }
}
