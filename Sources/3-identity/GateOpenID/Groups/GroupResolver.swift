// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// Makes the group lookups that a sign-in needs.
///
/// A failed lookup never fails the sign-in: the groups that were found are kept and marked as incomplete.
struct GroupResolver: Sendable {
    /// How long all lookups of one sign-in may take together.
    static let budget = Duration.seconds(10)

    /// The groups, and notes for the operator.
    struct Found: Sendable {
        var names: LookedUpNames
        var notes: [String]
    }

    let definition: ProviderDefinition
    let call: ProviderCall
    let access: APIAccess
    /// The time since the start; monotonic.
    var elapsed: @Sendable () -> Duration = {
        let start = ContinuousClock.now
        return { start.duration(to: .now) }
    }()

    /// The result of the lookups; nil if none is needed.
    func found(for profile: Profile, _ payloads: ProviderPayloads, granted: [String]?) async -> Found? {
        let wanted = self.definition.lookups.filter { $0.occasion == .always || !payloads.listsGroups }
        guard !wanted.isEmpty else {
            guard payloads.hasGroupsElsewhere, !self.definition.mapping.chain(of: .groups).isEmpty else { return nil }
            let note = "The user has more groups than the token can hold, and no lookup is configured for them."
            return Found(names: LookedUpNames([], isComplete: false), notes: [note])
        }
        var found = Found(names: LookedUpNames([], isComplete: true), notes: [])
        for lookup in wanted {
            var pages = GroupPages(lookup, call: self.call, access: self.access, elapsed: self.elapsed)
            await pages.run(for: profile, maxNames: GroupPages.maxNames - found.names.names.count)
            found.names.names += pages.names
            // Without the scope GitHub returns the public groups only, without a notice.
            if let granted, !lookup.scopes.isEmpty, lookup.scopes.allSatisfy({ !granted.contains($0) }) {
                found.names.isComplete = false
                found.notes.append("The scope \(lookup.scopes[0]) was not granted, so groups may be missing.")
            }
            guard let note = pages.failureNote else { continue }
            found.names.isComplete = false
            found.notes.append(note)
        }
        return found
    }
}
