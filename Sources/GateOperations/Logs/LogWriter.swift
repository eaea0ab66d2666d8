// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Metrics
internal import Synchronization

/// Writes log lines from a thread of its own, so that neither a reader that has stopped nor a full disk holds up a request.
///
/// The queue is bounded. Lines that do not fit and lines that cannot be written are dropped and counted in
/// `gatehouse_log_lines_dropped_total`; the next line that can be written is followed by one that gives their number.
package final class LogWriter: Sendable {
    /// Why lines were dropped.
    package enum DropReason: String, Sendable, CaseIterable {
        /// The queue was full because the reader takes nothing, or not enough.
        case queueFull = "queue_full"
        /// The write failed: a full disk, a closed pipe.
        case writeFailed = "write_failed"
    }

    /// How much may wait to be written.
    package struct Limits: Sendable {
        /// Lines.
        package var lines = 8192
        /// Bytes of all lines.
        package var bytes = 4 << 20

        /// The defaults.
        package init() {}
    }

    private struct Queue {
        var pending: [String] = []
        /// Lines and bytes that are not written yet, those that the writer has taken included.
        var lines = 0
        var bytes = 0
        var isWriting = false
        /// Dropped since the last line that gave their number.
        var unreported = 0
        /// Whether only the beginning of the last line could be written.
        var isIncomplete = false
    }

    private let output: OutputDescriptor
    private let limits: Limits
    private let queue = Mutex(Queue())
    private let writer = DispatchQueue(label: "gatehouse.log")
    private let counters: [DropReason: Counter]
    /// Recorded under the lock of the queue, so that the last record is that of the last change.
    private let pending: Gauge
    private let drops = DropReason.allCases.map { ($0, AtomicCounter()) }

    /// A writer to a descriptor.
    package init(to output: OutputDescriptor = .standardError, limits: Limits = Limits()) {
        // A counter that is created before the registry exists counts nothing.
        _ = PrometheusRegistry.shared
        self.output = output
        self.limits = limits
        let counters = DropReason.allCases.map { reason in
            (reason, OperationsMetrics.droppedLines.counter(reason.rawValue))
        }
        self.counters = Dictionary(counters) { first, _ in first }
        self.pending = OperationsMetrics.pendingLines.gauge()
    }

    /// How many lines were dropped for a reason.
    package func dropped(_ reason: DropReason) -> Int { self.drops.first { $0.0 == reason }?.1.value ?? 0 }

    /// Takes a line without its line break, or drops it; never waits.
    package func append(_ line: String) {
        let size = line.utf8.count + 1
        let (isTaken, isFirst) = self.queue.withLock { queue in
            guard queue.lines < self.limits.lines, queue.bytes + size <= self.limits.bytes else {
                queue.unreported += 1
                return (false, false)
            }
            queue.pending.append(line)
            queue.lines += 1
            queue.bytes += size
            self.pending.record(queue.lines)
            defer { queue.isWriting = true }
            return (true, !queue.isWriting)
        }
        guard isTaken else { return self.count(.queueFull) }
        if isFirst { self.writer.async { self.writePending() } }
    }

    /// Waits until everything is written, a second at most: a reader that has stopped must not keep the process from ending.
    package func flush() {
        let done = DispatchSemaphore(value: 0)
        self.writer.async { done.signal() }
        _ = done.wait(timeout: .now() + .seconds(1))
    }

    private func writePending() {
        while let lines = self.takePending() {
            for line in lines { self.write(line) }
        }
    }

    private func takePending() -> [String]? {
        self.queue.withLock { queue in
            guard !queue.pending.isEmpty else {
                queue.isWriting = false
                return nil
            }
            defer { queue.pending = [] }
            return queue.pending
        }
    }

    private func write(_ line: String) {
        var isIncomplete = self.queue.withLock { $0.isIncomplete }
        var isWritten = true
        do throws(WriteFailure) {
            // What was written of a line must not become the start of the next.
            try self.output.write(isIncomplete ? "\n\(line)\n" : "\(line)\n")
            isIncomplete = false
        } catch {
            isIncomplete = isIncomplete || error.written > 0
            isWritten = false
            self.count(.writeFailed)
        }
        let unreported = self.queue.withLock { queue in
            queue.lines -= 1
            queue.bytes -= line.utf8.count + 1
            self.pending.record(queue.lines)
            queue.isIncomplete = isIncomplete
            if !isWritten { queue.unreported += 1 }
            return isWritten ? queue.unreported : 0
        }
        if unreported > 0 { self.report(unreported) }
    }

    private func report(_ count: Int) {
        let line = "\(LineLogHandler.stamp()) warning log lines dropped count=\(count)\n"
        guard (try? self.output.write(line)) != nil else { return }
        self.queue.withLock { $0.unreported -= count }
    }

    private func count(_ reason: DropReason) {
        self.counters[reason]?.increment()
        self.drops.first { $0.0 == reason }?.1.add()
    }
}
