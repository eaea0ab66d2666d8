// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The groups of a provider that the configuration needs; a session keeps no others.
package struct RequiredGroups: Sendable, Hashable {
    /// The maximum bytes of groups, as in a header, that a session keeps in addition to those that rules name.
    ///
    /// Most app servers accept 8 to 16 KiB of headers in total, and the assertion repeats the groups.
    package static let budget = 4096
    /// The maximum bytes of roles that a session keeps.
    package static let roleBudget = 16_384

    /// The groups that rules name; kept regardless of size, since decisions depend on them.
    package let named: Set<String>
    /// The roles that rules name; kept regardless of size too.
    private let namedRoles: Set<String>
    /// Whether an app receives all groups.
    package let wantsAll: Bool

    /// The groups that the routes which accept the provider need.
    package init(of provider: String, routes: some Sequence<Route>) {
        let accepting = routes.filter { $0.providers.contains(provider) }
        self.named = accepting.reduce(into: []) { $0.formUnion($1.namedGroups(of: provider)) }
        self.namedRoles = accepting.reduce(into: []) { $0.formUnion($1.namedRoles) }
        self.wantsAll = accepting.contains { $0.groups == .all }
    }

    /// Whether no groups are needed, so that they are not looked up.
    package var isEmpty: Bool { self.named.isEmpty && !self.wantsAll }

    /// The bytes of a name and its comma in a header, where all but plain characters take three bytes each.
    static func size(of group: String) -> Int {
        group.utf8.reduce(1) { bytes, byte in
            bytes + ((0x21...0x7E).contains(byte) && byte != UInt8(ascii: "%") && byte != UInt8(ascii: ",") ? 1 : 3)
        }
    }

    /// Removes the groups that are not needed from a profile; keeps those that rules name regardless of size.
    ///
    /// The names of the required groups are recorded, so that a removed group differs from one that the provider did
    /// not return.
    ///
    /// - Returns: The number of removed groups that an app would have received.
    package func keep(in profile: inout Profile) -> Int {
        let all = profile.groups
        var spent = 0
        profile.groups = all.filter { group in
            guard !self.named.contains(group) else { return true }
            guard self.wantsAll else { return false }
            spent += RequiredGroups.size(of: group)
            return spent <= RequiredGroups.budget
        }
        let roles = profile.roles
        var roleBytes = 0
        profile.roles = roles.filter { role in
            roleBytes += role.utf8.count
            return roleBytes <= RequiredGroups.roleBudget || self.namedRoles.contains(role)
        }
        if profile.roles.count < roles.count { profile.rolesComplete = false }
        guard profile.groups.count < all.count else { return 0 }
        profile.groupsRequested = self.named
        return self.wantsAll ? all.count - profile.groups.count : 0
    }
}
