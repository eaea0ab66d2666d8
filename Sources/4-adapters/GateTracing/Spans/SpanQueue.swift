// SPDX-License-Identifier: Apache-2.0

/// Spans that wait for their export, up to a limit; what comes beyond it is dropped and counted.
struct SpanQueue {
    private let limit: Int
    private let batch: Int
    private var waiting: [TraceSpan] = []
    /// How many are with the exporter.
    private var taken = 0
    private var dropped = 0
    private var isClosed = false

    /// A queue.
    ///
    /// - Parameters:
    ///   - limit: How many spans there may be, those that are being exported included.
    ///   - batch: How many are worth an export before its time.
    init(limit: Int, batch: Int) {
        self.limit = limit
        self.batch = batch
    }

    /// Adds a span, if there is space.
    ///
    /// - Returns: Whether a batch is complete.
    mutating func add(_ span: TraceSpan) -> Bool {
        guard !self.isClosed, self.waiting.count + self.taken < self.limit else {
            self.dropped += 1
            return false
        }
        self.waiting.append(span)
        return self.waiting.count == self.batch
    }

    /// All spans that wait; they count until ``release(_:)``.
    mutating func takeAll() -> [TraceSpan] {
        var all: [TraceSpan] = []
        swap(&all, &self.waiting)
        self.taken += all.count
        return all
    }

    /// So many spans were exported, or given to nothing.
    mutating func release(_ count: Int) { self.taken -= count }

    /// How many were dropped since the last time.
    mutating func takeDropped() -> Int {
        defer { self.dropped = 0 }
        return self.dropped
    }

    /// Takes no more spans.
    mutating func close() { self.isClosed = true }
}
