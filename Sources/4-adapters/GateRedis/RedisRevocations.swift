// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions
internal import Synchronization

/// The families that have ended, whatever Redis still has of them, and the removal of their records.
///
/// A removal is in force at this gateway when it begins, and at all others when they have received its report, also while
/// Redis is read-only, full or gone. It is retried until it is written, and reported each time, so that a gateway that was
/// not reached or has just started knows it as well.
final class RedisRevocations: Sendable {
    /// The interval at which a removal is retried.
    private static let retryInterval = Duration.seconds(1)

    private let pending: PendingRevocations
    private let reported = ReportedRevocations()
    private let report: @Sendable (StoreEvent) -> Void

    /// Those that an earlier process could not write are in force at once.
    ///
    /// - Parameters:
    ///   - path: The file for removals that could not be written; nil for none.
    ///   - report: Called with events for the operator.
    init(path: String?, report: @escaping @Sendable (StoreEvent) -> Void) {
        self.pending = PendingRevocations(path: path)
        self.report = report
    }

    /// Whether a family has ended.
    func contains(_ family: [UInt8]) -> Bool { self.pending.contains(family) || self.reported.contains(family) }

    /// Notes a family that a gateway has reported.
    func note(_ family: [UInt8]) { self.reported.insert(family) }

    /// Ends a family: at once for every look-up, in Redis once it can be written.
    ///
    /// - Throws: If it is neither written nor in the file, so that a restart would undo it.
    func end(_ family: [UInt8], by client: RedisClient) async throws(Failure) {
        self.pending.insert(family)
        guard let failure = await FamilyRemoval(client: client, family: family).run() else {
            return await self.pending.remove(family)
        }
        guard failure.kind != .closed else { throw client.unavailable(failure.reason) }
        let isKept = await self.pending.keep(family)
        self.report(.revocationPending(pending: self.pending.count, isKept: isKept, reason: failure.reason))
        guard isKept else { throw client.unavailable(failure.reason) }
    }

    /// Removes pending families, and those that another gateway on this machine leaves in the file, until ``close()``.
    func start(by client: RedisClient) {
        let report = self.report
        self.pending.start(
            every: Self.retryInterval,
            attempt: { family in
                switch await FamilyRemoval(client: client, family: family).run()?.kind {
                case nil: .removed
                // A Redis that rejects writes still reports each family to the other gateways, which remember it for minutes
                // only; one that does not respond reports nothing.
                case .rejected, .unusable: .rejected
                case .unreachable, .lost, .readOnly: .unavailable
                case .closed: .closed
                }
            },
            written: { report(.revocationsWritten) }
        )
    }

    /// Ends the retries after a last attempt.
    func close() async { await self.pending.stop() }
}

/// The families that gateways have reported as ended during the last minutes.
///
/// A removal that is not written is reported again every second, so minutes are enough.
final class ReportedRevocations: Sendable {
    /// How long a family is known at least, unless there are too many.
    static let time = Duration.seconds(300)
    /// The maximum number of families that are known; twice as many for a short time.
    static let capacity = 100_000

    private struct State {
        var families: Set<[UInt8]> = []
        /// Those of the period before.
        var earlier: Set<[UInt8]> = []
        var since = ContinuousClock.now
    }

    private let state = Mutex(State())

    func contains(_ family: [UInt8]) -> Bool {
        self.state.withLock { $0.families.contains(family) || $0.earlier.contains(family) }
    }

    /// Notes a family.
    func insert(_ family: [UInt8], at now: ContinuousClock.Instant = .now) {
        self.state.withLock { state in
            if now - state.since >= Self.time || state.families.count >= Self.capacity {
                (state.earlier, state.families) = (state.families, [])
                state.since = now
            }
            state.families.insert(family)
        }
    }
}
