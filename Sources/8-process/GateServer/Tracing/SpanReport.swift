// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOperations
internal import GateTracing
internal import Metrics
internal import Synchronization

/// Counts exported and dropped spans; those that were dropped reach the log at most once a minute.
final class SpanReport: Sendable {
    private struct State {
        var bucket = TokenBucket()
        var dropped = 0
    }

    private static let rate = TokenBucket.Rate(1, in: .seconds(60), burst: 1)

    private let state = Mutex(State())
    private let began: ContinuousClock.Instant
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let log: @Sendable (Int, String) -> Void

    /// A report of nothing yet.
    ///
    /// - Parameters:
    ///   - clock: The monotonic clock.
    ///   - log: Writes a line: how many spans were dropped since the last one, and why the last ones were.
    init(
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        log: @escaping @Sendable (Int, String) -> Void
    ) {
        self.clock = clock
        self.began = clock()
        self.log = log
    }

    /// Counts what the exporter reports.
    func note(_ event: SpanExporter.Report) {
        switch event {
        case .exported(let count):
            ServerMetrics.spansExported.counter().increment(by: count)
        case .overflow(let count):
            ServerMetrics.spansDropped.counter("queue_full").increment(by: count)
            self.dropped(count, "the queue was full; see OTEL_BSP_MAX_QUEUE_SIZE")
        case .failed(let count, let reason):
            ServerMetrics.spansDropped.counter("export_failed").increment(by: count)
            self.dropped(count, reason)
        }
    }

    private func dropped(_ count: Int, _ reason: String) {
        let now = self.began.duration(to: self.clock())
        let sum: Int? = self.state.withLock { state in
            state.dropped += count
            guard state.bucket.take(SpanReport.rate, at: now) == nil else { return nil }
            defer { state.dropped = 0 }
            return state.dropped
        }
        if let sum { self.log(sum, reason) }
    }
}
