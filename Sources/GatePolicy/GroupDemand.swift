// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Which of a person's groups an app is told of, by their names in the file.
package enum GroupShare: String, Sendable, Hashable, CaseIterable {
    /// All of them.
    case all
    /// Those that the app's own rules name.
    case named
}

extension Route {
    /// The groups that the app's rules name.
    package var namedGroups: Set<String> {
        guard case .entries(let entries) = self.access else { return Set(self.denied.compactMap(\.group)) }
        return Set((entries + self.denied).compactMap(\.group))
    }

    /// The groups of a person that the app is told of, in order.
    package func sharedGroups(of person: Profile) -> [String] {
        guard self.groups == .named else { return person.groups }
        let named = self.namedGroups
        return person.groups.filter { group in named.contains { isIdentical($0, group) } }
    }
}

/// Which groups of a provider's people anything in the configuration needs; a session keeps no others.
package struct GroupDemand: Sendable, Hashable {
    /// How many bytes of names a session keeps beside those that rules name.
    package static let budget = 16_384

    /// The groups that rules name; kept whatever their size, since they decide.
    package let named: Set<String>
    /// Whether some app is told of all groups.
    package let wantsAll: Bool

    /// What the routes that accept the provider need.
    package init(of provider: String, routes: some Sequence<Route>) {
        let accepting = routes.filter { $0.providers.contains(provider) }
        self.named = accepting.reduce(into: []) { $0.formUnion($1.namedGroups) }
        self.wantsAll = accepting.contains { $0.groups == .all }
    }

    /// Whether groups matter at all, so that they are worth looking up.
    package var isEmpty: Bool { self.named.isEmpty && !self.wantsAll }

    /// Keeps what is needed of a profile's groups, those that rules name first.
    ///
    /// What is left out can still be told from what the provider did not say: the names that were sought are noted.
    ///
    /// - Returns: How many groups that an app would have been told of were cut.
    package func keep(in profile: inout Profile) -> Int {
        let all = profile.groups
        var spent = all.reduce(0) { self.named.contains($1) ? $0 + $1.utf8.count : $0 }
        profile.groups = all.filter { group in
            guard !self.named.contains(group) else { return true }
            guard self.wantsAll else { return false }
            spent += group.utf8.count
            return spent <= GroupDemand.budget
        }
        guard profile.groups.count < all.count else { return 0 }
        profile.groupsSought = self.named
        return self.wantsAll ? all.count - profile.groups.count : 0
    }
}
