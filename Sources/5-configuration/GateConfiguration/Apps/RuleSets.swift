// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateYAML

/// The lists of entries that apps use by name.
package struct RuleSets: Sendable {
    private let names: [String]
    private let sets: [String: Named<[EntryDraft]>]

    /// The rule sets of all files.
    package init(_ written: [Named<[EntryDraft]>]) {
        self.names = written.map(\.name)
        self.sets = Dictionary(written.map { ($0.name, $0) }) { first, _ in first }
    }

    /// The entries of the rule set that `use` names; none, and an error, if there is no such set.
    func entries(of use: Located<String>, _ reading: inout DecodingContext) -> [EntryDraft] {
        guard let found = self.sets[use.value] else {
            let nearest = reading.nearest(to: use.value, in: self.names)
            let list = self.names.prefix(12).joined(separator: ", ")
            let help = nearest.map { "did you mean '\($0)'?" } ?? "'rules' has \(list.isEmpty ? "none" : list)"
            reading.error("there is no rule set \(Scalar.quoted(use.value)); \(help)", at: use.mark)
            return []
        }
        // A set that uses others is reported where it is.
        return found.value.filter { !$0.usesOthers }
    }

    /// Checks the sets themselves, and warns of those that no app uses.
    package func check(usedBy apps: [Named<AppDraft>], _ reading: inout DecodingContext) {
        let used = Set(apps.flatMap(\.value.usedRuleSets))
        for name in self.names {
            guard let set = self.sets[name] else { continue }
            if set.value.isEmpty { reading.error("the rule set '\(name)' is empty; remove it", at: set.mark) }
            for entry in set.value where entry.usesOthers {
                reading.error("a rule set cannot use another one; list both with 'use' in the app", at: entry.mark)
            }
            if !used.contains(name) { reading.warning("no app uses the rule set '\(name)'", at: set.mark) }
        }
    }
}

extension AppDraft {
    /// The names of the rule sets that the app uses.
    fileprivate var usedRuleSets: [String] {
        let allowed: [EntryDraft] =
            switch self.allow?.value {
            case .entries(let entries): entries
            case .signedIn, nil: []
            }
        return (allowed + (self.deny?.value ?? [])).flatMap(\.usedRuleSets)
    }
}

extension EntryDraft {
    fileprivate var usedRuleSets: [String] {
        (self.use.map { [$0.value] } ?? []) + self.nested.flatMap(\.usedRuleSets)
    }

    fileprivate var usesOthers: Bool { !self.usedRuleSets.isEmpty }
}
