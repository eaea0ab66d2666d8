// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// A provider's document that many sign-ins share: fetched when it is wanted, once for all who wait.
///
/// ``FetchSchedule`` decides; this only holds the document and the fetch. The fetch is a task of its own, so a caller who
/// is cancelled takes nothing from the others; the transport's time-out bounds the wait.
final class CachedDocument<Document: Sendable>: Sendable {
    private struct State: Sendable {
        var cycle: FetchSchedule
        var document: Document?
        var fetch: Task<Void, Never>?
        var failure = Failure(.providerUnavailable, "nothing was fetched yet")
    }

    private enum Step: Sendable {
        case done(Document)
        case wait(Task<Void, Never>)
        case failed(Failure)
    }

    private let state: Mutex<State>
    private let clock: WallClock
    private let report: @Sendable (Failure) -> Void
    /// Fetches the document; receives the cached one and returns the new one with its lifetime.
    private let fetch: @Sendable (Document?) async throws(Failure) -> (document: Document, lifetime: Duration)

    init(
        clock: WallClock,
        staleness: Duration? = nil,
        report: @escaping @Sendable (Failure) -> Void = { _ in },
        fetch: @escaping @Sendable (Document?) async throws(Failure) -> (document: Document, lifetime: Duration)
    ) {
        var cycle = FetchSchedule()
        cycle.staleness = staleness ?? cycle.staleness
        self.state = Mutex(State(cycle: cycle))
        self.clock = clock
        self.report = report
        self.fetch = fetch
    }

    /// The document; a stale one if there is no newer to be had.
    func current() async throws(Failure) -> Document {
        for _ in 0..<3 {
            let now = self.clock.now
            let step = self.state.withLock { state in self.step(state.cycle.documentWanted(at: now), &state) }
            switch step {
            case .done(let document): return document
            case .wait(let fetch): await fetch.value
            case .failed(let failure): throw failure
            }
        }
        throw Failure(.providerUnavailable, "the document went out of date while it was fetched")
    }

    /// The document after one more fetch or the fetch in progress; the cached one if that fails or is too soon.
    func newer() async -> Document? {
        let now = self.clock.now
        let step = self.state.withLock { state in self.step(state.cycle.newerWanted(at: now), &state) }
        if case .wait(let fetch) = step { await fetch.value }
        return self.state.withLock(\.document)
    }

    /// The cached document, however old; never waits.
    var cached: Document? { self.state.withLock(\.document) }

    /// How old the document is, and whether it is used although it is not fresh; nil without a document to use.
    var age: (age: Duration, isStale: Bool)? {
        let now = self.clock.now
        return self.state.withLock { $0.cycle.age(at: now) }
    }

    /// The cached document when no fetch is in progress.
    func settled() async -> Document? {
        if let fetch = self.state.withLock(\.fetch) { await fetch.value }
        return self.state.withLock(\.document)
    }

    private func step(_ action: FetchSchedule.Action, _ state: inout State) -> Step {
        switch action {
        case .fetch, .useAndFetch: state.fetch = Task { await self.run() }
        case .use, .wait, .refuse: break
        }
        switch (action, state.document, state.fetch) {
        case (.use, let document?, _), (.useAndFetch, let document?, _): return .done(document)
        case (.fetch, _, let fetch?), (.wait, _, let fetch?): return .wait(fetch)
        default: return .failed(state.failure)
        }
    }

    private func run() async {
        let held = self.state.withLock(\.document)
        do throws(Failure) {
            let fetched = try await self.fetch(held)
            let now = self.clock.now
            self.state.withLock { state in
                state.document = fetched.document
                state.cycle.fetched(at: now, lifetime: fetched.lifetime)
                state.fetch = nil
            }
        } catch {
            let now = self.clock.now
            self.state.withLock { state in
                state.failure = error
                state.cycle.failed(at: now)
                state.fetch = nil
            }
            self.report(error)
        }
    }
}
