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
package struct RequiredGroups: Sendable, Hashable {
    /// How many bytes of groups, as they stand in a header, a session keeps beside those that rules name.
    ///
    /// Most app servers take 8 to 16 KiB of headers in all, and the assertion holds the groups once more.
    package static let budget = 4096
    /// How many bytes of roles a session keeps.
    package static let roleBudget = 16_384

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

    /// The bytes of a name and its comma in a header, where all but plain characters take three bytes each.
    static func size(of group: String) -> Int {
        group.utf8.reduce(1) { bytes, byte in
            bytes + ((0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%") && byte != UInt8(ascii: ",") ? 1 : 3)
        }
    }

    /// Keeps what is needed of a profile's groups, those that rules name whatever their size.
    ///
    /// What is left out can still be told from what the provider did not say: the names that were sought are noted.
    ///
    /// - Returns: How many groups that an app would have been told of were cut.
    package func keep(in profile: inout Profile) -> Int {
        let all = profile.groups
        var spent = 0
        profile.groups = all.filter { group in
            guard !self.named.contains(group) else { return true }
            guard self.wantsAll else { return false }
            spent += RequiredGroups.size(of: group)
            return spent <= RequiredGroups.budget
        }
        var roleBytes = 0
        profile.roles = Array(
            profile.roles.prefix { role in
                roleBytes += role.utf8.count
                return roleBytes <= RequiredGroups.roleBudget
            }
        )
        guard profile.groups.count < all.count else { return 0 }
        profile.groupsRequested = self.named
        return self.wantsAll ? all.count - profile.groups.count : 0
    }
}
