// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import Synchronization

/// Takes the spans of all event loops and tasks; never waits for the exporter.
package final class Tracer: Sendable {
    /// Decides which traces are exported.
    package let sampler: Sampler
    private let queue: Mutex<SpanQueue>
    /// Yields when a batch is complete.
    let batches: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    /// A tracer without spans.
    package init(_ settings: TracingSettings) {
        self.sampler = settings.sampler
        self.queue = Mutex(SpanQueue(limit: settings.queueSize, batch: settings.batchSize))
        (self.batches, self.source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Queues a span that has ended, or counts it as dropped.
    package func record(_ span: TraceSpan) {
        if self.queue.withLock({ $0.add(span) }) { self.source.yield() }
    }

    /// Begins a span within the request that the task works for; nil if that is not exported.
    ///
    /// - Parameters:
    ///   - name: What it is.
    ///   - kind: The role.
    ///   - beginsTrace: Whether work outside of a request is a trace of its own.
    /// - Returns: The span, for ``end(_:)``.
    package func begin(_ name: String, _ kind: TraceSpan.Kind, beginsTrace: Bool) -> ActiveSpan? {
        let parent = TraceContext.current
        guard parent != nil || beginsTrace else { return nil }
        let trace = parent?.trace ?? .random()
        guard parent?.isSampled ?? self.sampler.samples(trace, parent: nil, isTrusted: true) else { return nil }
        let context = TraceContext(trace: trace, span: .random(), isSampled: true)
        return ActiveSpan(TraceSpan(name, kind, context: context, parent: parent?.span, began: TraceSpan.now))
    }

    /// Ends a span of a task.
    package func end(_ active: ActiveSpan) {
        var span = active.span
        span.ended = span.began + UInt64(clamping: active.began.duration(to: .now).wholeNanoseconds)
        self.record(span)
    }

    /// Exports what waits now, without waiting for a complete batch.
    func wake() { self.source.yield() }

    func takeAll() -> [TraceSpan] { self.queue.withLock { $0.takeAll() } }

    func takeDropped() -> Int { self.queue.withLock { $0.takeDropped() } }

    func release(_ count: Int) { self.queue.withLock { $0.release(count) } }

    /// Takes no more spans.
    func close() {
        self.queue.withLock { $0.close() }
        self.source.finish()
    }
}

/// A span of a task that has not ended.
package struct ActiveSpan: Sendable {
    /// The span, for its attributes.
    package var span: TraceSpan
    fileprivate let began = ContinuousClock.now

    fileprivate init(_ span: TraceSpan) {
        self.span = span
    }
}
