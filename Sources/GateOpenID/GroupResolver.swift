// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// Makes all look-ups of one sign-in for which there is occasion.
///
/// Nothing that goes wrong here ends a sign-in: what was found is kept and marked as incomplete.
struct GroupResolver: Sendable {
    /// How long all look-ups of one sign-in may take together.
    static let budget = Duration.seconds(10)

    /// What was found, and what an operator should know of it.
    struct Found: Sendable {
        var names: LookedUpNames
        var notes: [String]
    }

    let definition: ProviderDefinition
    let call: ProviderCall
    let access: APIAccess
    /// How much of the time is spent; monotonic.
    var elapsed: @Sendable () -> Duration = {
        let start = ContinuousClock.now
        return { start.duration(to: .now) }
    }()

    /// What the look-ups find; nil if there is none to make.
    func found(for profile: Profile, _ payloads: ProviderPayloads, granted: [String]?) async -> Found? {
        let wanted = self.definition.lookups.filter { $0.occasion == .always || !payloads.listsGroups }
        guard !wanted.isEmpty else {
            guard payloads.hasGroupsElsewhere, !self.definition.mapping.chain(of: .groups).isEmpty else { return nil }
            let note = "The person has more groups than the token has room for, and no look-up is set for them."
            return Found(names: LookedUpNames([], isComplete: false), notes: [note])
        }
        var found = Found(names: LookedUpNames([], isComplete: true), notes: [])
        for lookup in wanted {
            var listing = GroupPages(lookup, call: self.call, access: self.access, elapsed: self.elapsed)
            await listing.run(for: profile, room: GroupPages.maxNames - found.names.names.count)
            found.names.names += listing.names
            // Without the scope GitHub answers with what is public, as if that were all.
            if let granted, !lookup.scopes.isEmpty, lookup.scopes.allSatisfy({ !granted.contains($0) }) {
                found.names.isComplete = false
                found.notes.append("The scope \(lookup.scopes[0]) was not granted, so groups may be missing.")
            }
            guard let note = listing.fault else { continue }
            found.names.isComplete = false
            found.notes.append(note)
        }
        return found
    }
}
