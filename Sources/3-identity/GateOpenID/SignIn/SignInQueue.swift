// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Lets sign-ins wait for a connection to their provider, as ``SlotQueue`` decides.
final class SignInQueue: Sendable {
    /// How often those that wait are looked at.
    static let interval = Duration.milliseconds(250)

    private enum Verdict: Sendable {
        case enters
        case rejected(Duration)
        case cancelled
    }

    private struct State: Sendable {
        var queue: SlotQueue
        var last: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Verdict, Never>] = [:]
        var isWatched = false
    }

    private let slots: Int
    private let state: Mutex<State>
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async -> Void

    /// A queue in front of so many connections.
    ///
    /// - Parameters:
    ///   - slots: How many sign-ins call the provider at a time.
    ///   - now: Monotonic time.
    ///   - sleep: Waits between two looks at those that wait.
    init(
        slots: Int,
        now: @escaping @Sendable () -> Duration = {
            let start = ContinuousClock.now
            return { start.duration(to: .now) }
        }(),
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.slots = slots
        self.state = Mutex(State(queue: SlotQueue(slots: slots)))
        self.now = now
        self.sleep = sleep
    }

    /// How many sign-ins wait.
    var waitingCount: Int { self.state.withLock { $0.queue.waitingCount } }

    /// Waits for a slot, which ``release(_:)`` gives back.
    ///
    /// - Returns: The number to give it back with.
    /// - Throws: `provider.busy` for a sign-in that would not get one in time, mostly at once.
    func enter() async throws(Failure) -> UInt64 {
        let ticket = self.state.withLock { state in
            state.last &+= 1
            return state.last
        }
        let verdict = await withTaskCancellationHandler {
            await withCheckedContinuation { self.arrive(ticket, $0) }
        } onCancel: {
            self.cancel(ticket)
        }
        switch verdict {
        case .enters: return ticket
        case .cancelled: throw Failure(.providerCancelled, "while it waited for a connection")
        case .rejected(let wait): throw self.busy(wait)
        }
    }

    /// Gives a slot back.
    func release(_ ticket: UInt64) {
        let now = self.now()
        let next = self.state.withLock { state in
            state.queue.release(ticket, at: now).flatMap { state.waiting.removeValue(forKey: $0) }
        }
        next?.resume(returning: .enters)
    }

    private func arrive(_ ticket: UInt64, _ continuation: CheckedContinuation<Verdict, Never>) {
        let now = self.now()
        let (verdict, isFirst) = self.state.withLock { state -> (Verdict?, Bool) in
            switch state.queue.arrive(ticket, at: now) {
            case .enters: return (.enters, false)
            case .rejected(let wait): return (.rejected(wait), false)
            case .waits:
                state.waiting[ticket] = continuation
                defer { state.isWatched = true }
                return (nil, !state.isWatched)
            }
        }
        if let verdict { return continuation.resume(returning: verdict) }
        if isFirst { Task { await self.watch() } }
        // The handler may have run before the sign-in was there to be cancelled.
        if Task.isCancelled { self.cancel(ticket) }
    }

    private func cancel(_ ticket: UInt64) {
        let continuation = self.state.withLock { state in
            let continuation = state.waiting.removeValue(forKey: ticket)
            if continuation != nil { _ = state.queue.release(ticket, at: .zero) }
            return continuation
        }
        continuation?.resume(returning: .cancelled)
    }

    /// Rejects those that will not be served in time, until none waits.
    private func watch() async {
        var isWatching = true
        while isWatching {
            await self.sleep(SignInQueue.interval)
            let now = self.now()
            let (late, isLeft) = self.state.withLock { state in
                let late = state.queue.rejectLate(at: now).map { one in
                    (state.waiting.removeValue(forKey: one.ticket), one.wait)
                }
                state.isWatched = state.queue.waitingCount > 0
                return (late, state.isWatched)
            }
            for (continuation, wait) in late { continuation?.resume(returning: .rejected(wait)) }
            isWatching = isLeft
        }
    }

    private func busy(_ wait: Duration) -> Failure {
        let seconds = SlotQueue.patience.wholeSeconds
        let detail =
            "\(self.slots) sign-ins use all connections (max_connections), and those that wait would need longer than "
            + "\(seconds) s"
        return Failure(.providerBusy, detail, retryAfter: wait)
    }
}
