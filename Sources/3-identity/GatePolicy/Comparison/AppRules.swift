// SPDX-License-Identifier: Apache-2.0

/// The rules of an app, as the comparison of two configurations needs them.
package struct AppRules: Sendable {
    package let route: Route
    /// Whether other spellings of a path that some server treats as the same are considered.
    package let guardsSpellings: Bool

    package init(_ route: Route, guardsSpellings: Bool) {
        self.route = route
        self.guardsSpellings = guardsSpellings
    }

    /// Whether all apps are still there with the rules that they had; others may have been added.
    ///
    /// A file that is being written has lost apps or parts of rules until its last byte is there.
    package static func areKept(_ old: [AppRules], in new: [AppRules]) -> Bool {
        let byName = Dictionary(new.map { ($0.route.app, $0) }) { first, _ in first }
        return old.allSatisfy { app in byName[app.route.app].map { $0.decidesAs(app) } ?? false }
    }

    /// All conditions of its entries, also of those inside others.
    var entries: [AccessEntry] { (self.route.denied + self.route.access.entries).flatMap(\.withNested) }

    /// Whether every request has the same decision under other rules, since these differ in their places at most.
    func decidesAs(_ other: AppRules) -> Bool {
        self.guardsSpellings == other.guardsSpellings && self.route.path == other.route.path
            && self.route.providers == other.route.providers
            && self.route.access.unplaced == other.route.access.unplaced
            && self.route.denied.map(\.unplaced) == other.route.denied.map(\.unplaced)
            && self.route.publicRules.map(\.unplaced) == other.route.publicRules.map(\.unplaced)
    }
}

extension AccessRule {
    fileprivate var unplaced: AccessRule {
        guard case .entries(let entries) = self else { return self }
        return .entries(entries.map(\.unplaced))
    }
}

extension AccessEntry {
    /// The entry without its place and those of the entries in it.
    fileprivate var unplaced: AccessEntry {
        var entry = self
        entry.place = nil
        entry.nested = self.nested.map { nested in
            switch nested {
            case .not(let entry): .not(entry.unplaced)
            case .any(let entries): .any(entries.map(\.unplaced))
            case .all(let entries): .all(entries.map(\.unplaced))
            }
        }
        return entry
    }
}

extension PublicRule {
    fileprivate var unplaced: PublicRule {
        var rule = self
        rule.place = nil
        return rule
    }
}
