// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// The revoked families whose records are still in the store, because it could not be written.
///
/// They are held in memory and in a preallocated file of this machine, so that neither a full disk nor a store that is gone
/// can restore a session after a restart. What another owner of the file writes there is in force here within a second, and
/// is removed from the store by both, since the other one may be about to end.
package final class PendingRevocations: Sendable {
    /// What became of the records of a family.
    package enum Attempt: Sendable {
        /// They are removed from the store.
        case removed
        /// The store has rejected it, so others may succeed.
        case rejected
        /// The store does not respond.
        case unavailable
        /// The store is closed for good.
        case closed
    }

    /// How the records of families are removed from the store.
    private struct Removal: Sendable {
        let interval: Duration
        let attempt: @Sendable ([UInt8]) async -> Attempt
        let written: @Sendable () -> Void
    }

    private struct State {
        /// Those that are in force.
        var families: Set<[UInt8]> = []
        /// Those whose removal from the store has failed, here or elsewhere.
        var due: Set<[UInt8]> = []
        /// Those that are in the file; one that is not in force any more has to be freed there.
        var kept: Set<[UInt8]> = []
        /// Whether some were due since none was.
        var wasDue = false
        var nextAttempt = ContinuousClock.now
        var removal: Removal?
        var task: Task<Void, Never>?

        mutating func noteDue(_ families: Set<[UInt8]>) {
            self.due.formUnion(families)
            if !families.isEmpty { self.wasDue = true }
        }

        mutating func adopt(_ found: Set<[UInt8]>) {
            let others = found.subtracting(self.kept)
            self.kept = found
            self.families.formUnion(others)
            self.noteDue(others)
        }
    }

    /// The interval at which the file is looked at.
    private static let lookInterval = Duration.seconds(1)

    private let file: RevocationFile?
    /// Where the file is used, one call after the other.
    private let queue = DispatchQueue(label: "gatehouse.revocations")
    private let state = Mutex(State())

    /// Reads or creates the file, and blocks meanwhile; without one, the families are held in memory only.
    package init(path: String?) {
        self.file = path.map(RevocationFile.init)
        guard let found = self.file?.families() else { return }
        self.state.withLock { $0.adopt(found) }
    }

    /// The revoked families.
    package var families: Set<[UInt8]> { self.state.withLock { $0.families } }

    /// The number of revoked families.
    package var count: Int { self.state.withLock { $0.families.count } }

    /// Whether a family is revoked.
    package func contains(_ family: [UInt8]) -> Bool { self.state.withLock { $0.families.contains(family) } }

    /// Revokes a family in memory.
    package func insert(_ family: [UInt8]) { self.state.withLock { _ = $0.families.insert(family) } }

    /// Writes a revoked family, whose removal has failed, to the file; false if it is in memory only.
    package func keep(_ family: [UInt8]) async -> Bool {
        self.state.withLock { $0.noteDue([family]) }
        return await self.write([family])
    }

    /// Removes a family whose records were removed from the store.
    package func remove(_ family: [UInt8]) async {
        let isKept = self.state.withLock { state in
            state.families.remove(family)
            state.due.remove(family)
            return state.kept.contains(family)
        }
        guard isKept else { return }
        await self.onQueue { self.free(in: $0) }
    }

    /// Takes over what other owners have written to the file.
    package func adopt() async {
        await self.onQueue { file in
            guard let found = file.families() else { return }
            self.state.withLock { $0.adopt(found) }
            self.free(in: file)
        }
    }

    /// Frees the slots of families that are removed, also of those for which that failed before.
    private func free(in file: RevocationFile) {
        let over = self.state.withLock { $0.kept.subtracting($0.families) }
        guard !over.isEmpty, file.free(over) else { return }
        self.state.withLock { $0.kept.subtract(over) }
    }

    private func write(_ families: Set<[UInt8]>) async -> Bool {
        await self.onQueue { file in
            let kept = file.add(families)
            self.state.withLock { $0.kept.formUnion(kept) }
            return kept == families
        } ?? false
    }

    /// Runs `body` on the thread of the file; nil without a file.
    @discardableResult
    private func onQueue<Value: Sendable>(_ body: @escaping @Sendable (RevocationFile) -> Value) async -> Value? {
        guard let file else { return nil }
        return await withCheckedContinuation { continuation in
            self.queue.async { continuation.resume(returning: body(file)) }
        }
    }
}

// MARK: Retries

extension PendingRevocations {
    /// Removes the records of the families until ``stop()``.
    ///
    /// - Parameters:
    ///   - interval: The time between two attempts.
    ///   - attempt: Removes the records of a family from the store.
    ///   - written: Called when all that was pending is removed.
    package func start(
        every interval: Duration,
        attempt: @escaping @Sendable ([UInt8]) async -> Attempt,
        written: @escaping @Sendable () -> Void
    ) {
        self.state.withLock { state in
            state.removal = Removal(interval: interval, attempt: attempt, written: written)
            state.task = Task { [weak self] in
                while !Task.isCancelled, await self?.retry() == true {
                    try? await Task.sleep(for: PendingRevocations.lookInterval)
                }
            }
        }
    }

    /// Ends the retries after a last attempt; what is left is in the file for the next owner.
    package func stop() async {
        let removal = self.state.withLock { state in
            state.task?.cancel()
            defer { (state.task, state.removal) = (nil, nil) }
            return state.removal
        }
        if let removal { _ = await self.attempt(self.families, removal) }
        let left = self.families
        if !left.isEmpty { _ = await self.write(left) }
    }

    /// Looks at the file, and removes what is due if it is time; false if the store is closed.
    private func retry() async -> Bool {
        await self.adopt()
        let (removal, due) = self.state.withLock { state in
            (state.removal, ContinuousClock.now >= state.nextAttempt ? state.due : [])
        }
        guard let removal else { return false }
        if !due.isEmpty {
            guard await self.attempt(due, removal) else { return false }
            // Those for which the disk had no space before.
            let missing = self.state.withLock { state in
                state.nextAttempt = .now + removal.interval
                return state.due.subtracting(state.kept)
            }
            if !missing.isEmpty { _ = await self.write(missing) }
        }
        let isWritten = self.state.withLock { state in
            guard state.wasDue, state.due.isEmpty else { return false }
            state.wasDue = false
            return true
        }
        if isWritten { removal.written() }
        return true
    }

    /// Removes some families, up to one for which the store does not respond; false if it is closed.
    private func attempt(_ families: Set<[UInt8]>, _ removal: Removal) async -> Bool {
        for family in families {
            switch await removal.attempt(family) {
            case .removed: await self.remove(family)
            case .rejected: continue
            case .unavailable: return true
            case .closed: return false
            }
        }
        return true
    }
}
