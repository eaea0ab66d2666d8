// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Decides, without doing, when a provider's document is fetched: discovery and key sets alike.
///
/// Fresh documents are used, at 80 % of their lifetime one caller's wish starts a fetch in the background, an old one
/// waits for a fetch, but once that has failed it is used for ``staleness`` more without waiting. Failures are spaced
/// 1, 2, 4, 8, then 10 seconds, short enough for a user who retries. Wall-clock time that runs backwards makes a
/// document old, not eternal.
struct FetchSchedule: Sendable {
    /// What a wish for the document leads to.
    enum Action: Equatable {
        /// Use what is there.
        case use
        /// Use what is there, and begin a fetch.
        case useAndFetch
        /// Begin a fetch and wait for it.
        case fetch
        /// Wait for the fetch in progress.
        case wait
        /// There is nothing, and it is too early to try again.
        case refuse
    }

    /// How long a document is used that could not be fetched again, beyond its freshness; a day by default.
    var staleness = Duration.seconds(86_400)
    private static let maxPause = Duration.seconds(10)

    private struct Held {
        let since: Instant
        let refresh: Instant
        let fresh: Instant
        let stale: Instant
    }

    private var held: Held?
    private var isFetching = false
    private var failures = 0
    private var pause: (since: Instant, until: Instant)?

    /// What to do for a caller who wants the document.
    mutating func documentWanted(at now: Instant) -> Action {
        let held = self.held.flatMap { now < $0.stale ? $0 : nil }
        if let held, held.since <= now, now < held.fresh {
            guard now >= held.refresh, self.mayFetch(at: now) else { return .use }
            self.isFetching = true
            return .useAndFetch
        }
        let mayWait = held == nil || self.failures == 0
        guard !self.isFetching else { return mayWait ? .wait : .use }
        guard self.mayFetch(at: now) else { return held == nil ? .refuse : .use }
        self.isFetching = true
        return mayWait ? .fetch : .useAndFetch
    }

    /// What to do for a caller who has seen that the document is behind; never `use`.
    mutating func newerWanted(at now: Instant) -> Action {
        guard !self.isFetching else { return .wait }
        guard self.mayFetch(at: now) else { return .refuse }
        self.isFetching = true
        return .fetch
    }

    /// A fetch brought a document that is fresh for `lifetime`.
    mutating func fetched(at now: Instant, lifetime: Duration) {
        let fresh = now.advanced(by: lifetime)
        self.held = Held(
            since: now,
            refresh: now.advanced(by: lifetime * 4 / 5),
            fresh: fresh,
            stale: fresh.advanced(by: self.staleness)
        )
        self.isFetching = false
        self.failures = 0
        self.pause = nil
    }

    mutating func failed(at now: Instant) {
        let pause = min(.seconds(1 << min(self.failures, 6)), FetchSchedule.maxPause)
        self.isFetching = false
        self.failures += 1
        self.pause = (now, now.advanced(by: pause))
    }

    /// How old the document is, and whether it is used although it is not fresh; nil without a document to use.
    func age(at now: Instant) -> (age: Duration, isStale: Bool)? {
        guard let held = self.held, now < held.stale else { return nil }
        return (max(now.since(held.since), .zero), now >= held.fresh)
    }

    private func mayFetch(at now: Instant) -> Bool {
        guard !self.isFetching else { return false }
        guard let pause = self.pause else { return true }
        return now < pause.since || now >= pause.until
    }
}
