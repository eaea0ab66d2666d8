// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Sends what a ``Tracer`` has queued, in batches, one after the other; runs in tasks of its own.
///
/// A batch that the collector does not take is sent again, a few times; then it is dropped and counted.
package final class SpanExporter: Sendable {
    /// What became of a batch at the collector.
    package enum Delivery: Sendable, Hashable {
        case taken
        /// It was not, and may be taken later.
        case postponed(String)
        /// It was not, and never will be.
        case rejected(String)
    }

    /// What is counted and logged.
    package enum Report: Sendable, Hashable {
        /// So many spans were exported.
        case exported(Int)
        /// So many were dropped because the queue was full.
        case overflow(Int)
        /// So many were dropped because the collector did not take them, and why.
        case failed(Int, String)
    }

    /// How long ``stop()`` takes at most.
    package static let maxFlushTime = Duration.seconds(5)

    /// The times before a batch is sent again.
    private static let pauses = [Duration.seconds(1), .seconds(2)]

    private let tracer: Tracer
    private let settings: TracingSettings
    private let encoder: OTLPEncoder
    private let send: @Sendable ([UInt8]) async -> Delivery
    private let report: @Sendable (Report) -> Void
    private let pause: @Sendable (Duration) async -> Void
    private let isStopping = Mutex(false)
    private let tasks = Mutex<(export: Task<Void, Never>, timer: Task<Void, Never>)?>(nil)

    /// An exporter that has not begun.
    ///
    /// - Parameters:
    ///   - tracer: Where the spans come from.
    ///   - settings: The settings of the environment.
    ///   - pause: Waits, or returns early when the task is cancelled.
    ///   - send: Sends the body of a request to the collector.
    ///   - report: Counts and logs.
    package init(
        of tracer: Tracer,
        _ settings: TracingSettings,
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        send: @escaping @Sendable ([UInt8]) async -> Delivery,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.tracer = tracer
        self.settings = settings
        self.encoder = OTLPEncoder(resource: settings.resource, version: settings.version)
        self.pause = pause
        self.send = send
        self.report = report
    }

    /// Begins to export.
    package func start() {
        let timer = Task { [tracer, pause, delay = self.settings.delay] in
            while !Task.isCancelled {
                await pause(delay)
                tracer.wake()
            }
        }
        let export = Task { await self.run() }
        self.tasks.withLock { $0 = (export, timer) }
    }

    /// Exports what is queued, for a bounded time, and ends.
    package func stop() async {
        guard let tasks = self.tasks.withLock({ $0.take() }) else { return }
        self.isStopping.withLock { $0 = true }
        tasks.timer.cancel()
        self.tracer.close()
        let limit = Task { [limit = min(SpanExporter.maxFlushTime, self.settings.exportTimeout)] in
            try await Task.sleep(for: limit)
            tasks.export.cancel()
        }
        await tasks.export.value
        limit.cancel()
    }

    private func run() async {
        for await _ in self.tracer.batches {
            await self.export()
        }
        await self.export()
    }

    /// Exports all that is queued now.
    func export() async {
        let dropped = self.tracer.takeDropped()
        if dropped > 0 { self.report(.overflow(dropped)) }
        var spans = self.tracer.takeAll()[...]
        while !spans.isEmpty {
            let batch = spans.prefix(self.settings.batchSize)
            spans = spans.dropFirst(batch.count)
            await self.export(batch)
            self.tracer.release(batch.count)
        }
    }

    private func export(_ batch: ArraySlice<TraceSpan>) async {
        let body = self.encoder.request(for: batch)
        let began = ContinuousClock.now
        var pauses = SpanExporter.pauses[...]
        while true {
            guard !Task.isCancelled else { return self.report(.failed(batch.count, "the gateway stops")) }
            switch await self.send(body) {
            case .taken:
                return self.report(.exported(batch.count))
            case .rejected(let reason):
                return self.report(.failed(batch.count, reason))
            case .postponed(let reason):
                let isLate = began.duration(to: .now) + (pauses.first ?? .zero) >= self.settings.exportTimeout
                guard let pause = pauses.popFirst(), !isLate, !self.isStopping.withLock({ $0 }) else {
                    return self.report(.failed(batch.count, reason))
                }
                await self.pause(pause)
            }
        }
    }
}
