// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
package import GateConfiguration
internal import Metrics
package import NIOCore
internal import Synchronization

/// What a ``LogWriter`` writes to; called on its thread only.
package protocol LogOutput: Sendable {
    /// Writes whole lines and waits as long as the reader needs for that.
    func write(_ lines: LogBatch) throws(WriteFailure)
    /// Opens a file again, since another one may have its name.
    func reopen()
}

/// Some lines of one stream, each with its line break.
package struct LogBatch: Sendable {
    package let stream: LogStream
    /// The bytes of all lines.
    package var bytes: ByteBuffer
    /// The length of each line, with the severity of syslog in the lowest three bits.
    package var entries: ArraySlice<UInt32>
}

/// Writes log lines from a thread of its own, so that neither a reader that has stopped nor a full disk holds up a request.
///
/// Each stream has a bounded queue of its own, so that a flood of one drops no line of another. Lines that do not fit and lines
/// that cannot be written are dropped and counted in `gatehouse_log_lines_dropped_total`; the next line that can be written is
/// followed by one that gives their number.
package final class LogWriter: Sendable {
    /// Why lines were dropped.
    package enum DropReason: String, Sendable, CaseIterable {
        /// The queue was full because the reader takes nothing, or not enough.
        case queueFull = "queue_full"
        /// The write failed: a full disk, a closed pipe.
        case writeFailed = "write_failed"
    }

    /// How much of each stream may wait to be written.
    package struct Limits: Sendable {
        /// Lines.
        package var lines = 8192
        /// Bytes of all lines.
        package var bytes = 4 << 20

        package init() {}
    }

    private struct Queue {
        var pending = ByteBuffer()
        var entries: [UInt32] = []
        /// Lines and bytes that are not written yet, those that the writer has taken included.
        var lines = 0
        var bytes = 0
        /// Dropped since the last line that gave their number.
        var unreported = 0
        /// The storage of the lines before, for those that come next.
        var spare = ByteBuffer()
    }

    private enum Activity {
        case none
        /// The writer begins in a moment, with all access lines until then.
        case delayed
        case writing
    }

    private struct State {
        var queues = LogStream.allCases.map { _ in Queue() }
        var activity = Activity.none
        /// Whether the writer will begin in a moment by a timer that is set already.
        var isDue = false
        /// Whether only the beginning of the last line could be written.
        var isIncomplete = false
        var format: LogFormat
    }

    private struct Counters: Sendable {
        let pending: Gauge
        let dropped: [DropReason: Counter]
    }

    /// How long access lines are collected, so that the thread is not woken for each of them.
    private static let delay = DispatchTimeInterval.milliseconds(50)
    /// How many bytes of access lines are collected at most: more would leave the caches of the processor before they are written, and
    /// take new memory each time.
    private static let enough = 131_072
    /// The maximum storage of a stream that is kept for further lines.
    private static let maxSpare = 1 << 20
    /// How much is written at once.
    private static let chunk = 65_536

    private let output: any LogOutput
    private let limits: Limits
    private let state: Mutex<State>
    private let thread = DispatchQueue(label: "gatehouse.log")
    private let counters: [Counters]
    private let drops = DropReason.allCases.map { ($0, AtomicCounter()) }

    /// A writer to an output, whose own lines have this format.
    package init(
        to output: any LogOutput = OutputDescriptor.standardError,
        format: LogFormat = .text,
        limits: Limits = Limits()
    ) {
        // A counter that is created before the registry exists counts nothing.
        _ = PrometheusRegistry.shared
        self.output = output
        self.limits = limits
        self.state = Mutex(State(format: format))
        self.counters = LogStream.allCases.map { stream in
            let dropped = DropReason.allCases.map {
                ($0, OperationsMetrics.droppedLines.counter(stream.rawValue, $0.rawValue))
            }
            return Counters(
                pending: OperationsMetrics.pendingLines.gauge(stream.rawValue),
                dropped: Dictionary(dropped) { first, _ in first }
            )
        }
    }

    /// How many lines were dropped for a reason.
    package func dropped(_ reason: DropReason) -> Int { self.drops.first { $0.0 == reason }?.1.value ?? 0 }

    /// Gives the writer's own lines another format.
    package func use(_ format: LogFormat) {
        self.state.withLock { $0.format = format }
    }

    /// Takes a line of the process, without its line break.
    package func append(_ line: String) {
        let bytes = ByteBuffer(string: line + "\n")
        self.append(length: bytes.readableBytes, to: .process, severity: 6) { $0.writeImmutableBuffer(bytes) }
    }

    /// Takes a line with its line break, or drops it; never waits.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - stream: Its stream.
    ///   - severity: Its severity in syslog, 0 to 7.
    package func append(_ line: borrowing LogLine, to stream: LogStream, severity: UInt32) {
        self.append(length: line.length, to: stream, severity: severity) { line.copy(to: &$0) }
    }

    private func append(length size: Int, to stream: LogStream, severity: UInt32, _ copy: (inout ByteBuffer) -> Void) {
        let isAccess = stream == .access
        let step = self.state.withLock { state -> Step in
            let index = stream.index
            guard state.queues[index].lines < self.limits.lines, state.queues[index].bytes + size <= self.limits.bytes
            else {
                state.queues[index].unreported += 1
                return .dropped
            }
            copy(&state.queues[index].pending)
            state.queues[index].entries.append(UInt32(truncatingIfNeeded: size) << 3 | severity)
            state.queues[index].lines += 1
            state.queues[index].bytes += size
            // The gauge of access lines is set where they are written: it costs more than the line.
            if !isAccess { self.counters[index].pending.record(state.queues[index].lines) }
            guard state.activity != .writing else { return .taken }
            guard isAccess, state.queues[index].bytes < LogWriter.enough else {
                state.activity = .writing
                return .writes
            }
            state.activity = .delayed
            defer { state.isDue = true }
            return state.isDue ? .taken : .waits
        }
        switch step {
        case .dropped: self.count(.queueFull, 1, of: stream)
        case .taken: break
        case .writes: self.thread.async { self.writePending() }
        case .waits:
            self.thread.asyncAfter(deadline: .now() + LogWriter.delay) {
                self.state.withLock { $0.isDue = false }
                self.writePending()
            }
        }
    }

    /// What follows from a line.
    private enum Step {
        /// It does not fit.
        case dropped
        /// It is written with others.
        case taken
        /// The writer begins at once.
        case writes
        /// The writer begins in a moment.
        case waits
    }

    /// Opens a file again, after everything that waits is written to the old one.
    package func reopen() {
        self.thread.async {
            self.writePending()
            self.output.reopen()
        }
    }

    /// Waits until everything is written, a second at most: a reader that has stopped must not keep the process from ending.
    package func flush() {
        let done = DispatchSemaphore(value: 0)
        self.thread.async {
            self.writePending()
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(1))
    }
}

// What runs on the writer's thread.
extension LogWriter {
    private func writePending() {
        while var batch = self.takePending(LogStream.allCases[...]) {
            self.write(batch)
            guard batch.bytes.capacity <= LogWriter.maxSpare else { continue }
            batch.bytes.clear()
            self.state.withLock { $0.queues[batch.stream.index].spare = batch.bytes }
        }
    }

    /// All lines of the first stream that has some.
    private func takePending(_ streams: ArraySlice<LogStream>) -> LogBatch? {
        self.state.withLock { state in
            for stream in streams where !state.queues[stream.index].entries.isEmpty {
                let index = stream.index
                state.activity = .writing
                if stream == .access { self.counters[index].pending.record(state.queues[index].lines) }
                let entries = state.queues[index].entries
                let bytes = state.queues[index].pending
                state.queues[index].entries = []
                state.queues[index].pending = state.queues[index].spare
                state.queues[index].spare = ByteBuffer()
                return LogBatch(stream: stream, bytes: bytes, entries: entries[...])
            }
            if streams.count == LogStream.allCases.count { state.activity = .none }
            return nil
        }
    }

    /// Writes a batch in pieces; whatever comes before its stream goes between them.
    private func write(_ batch: LogBatch) {
        var rest = batch
        while let first = rest.entries.first {
            var (size, count) = (Int(first >> 3), 1)
            while count < rest.entries.count {
                let next = Int(rest.entries[rest.entries.startIndex + count] >> 3)
                guard size + next <= LogWriter.chunk else { break }
                size += next
                count += 1
            }
            let piece = LogBatch(
                stream: batch.stream,
                bytes: rest.bytes.readSlice(length: size) ?? ByteBuffer(),
                entries: rest.entries.prefix(count)
            )
            rest.entries = rest.entries.dropFirst(count)
            self.writePiece(piece)
            while let urgent = self.takePending(LogStream.allCases[..<batch.stream.index]) { self.write(urgent) }
        }
    }

    private func writePiece(_ piece: LogBatch) {
        let index = piece.stream.index
        var isIncomplete = self.state.withLock { $0.isIncomplete }
        var lost = 0
        do throws(WriteFailure) {
            // What was written of a line must not become the start of the next.
            if isIncomplete {
                try self.output.write(
                    LogBatch(stream: piece.stream, bytes: ByteBuffer(string: "\n"), entries: [1 << 3])
                )
                isIncomplete = false
            }
            try self.output.write(piece)
        } catch {
            var end = 0
            var whole = 0
            for entry in piece.entries {
                guard end + Int(entry >> 3) <= error.written else { break }
                end += Int(entry >> 3)
                whole += 1
            }
            isIncomplete = isIncomplete || error.written > end
            lost = piece.entries.count - whole
            self.count(.writeFailed, lost, of: piece.stream)
        }
        let unreported = self.state.withLock { state in
            state.queues[index].lines -= piece.entries.count
            state.queues[index].bytes -= piece.bytes.readableBytes
            self.counters[index].pending.record(state.queues[index].lines)
            state.isIncomplete = isIncomplete
            state.queues[index].unreported += lost
            return lost == 0 ? state.queues[index].unreported : 0
        }
        if unreported > 0 { self.report(unreported, of: piece.stream) }
    }

    private func report(_ count: Int, of stream: LogStream) {
        var time = LogTime()
        var line = LogLine(self.state.withLock { $0.format })
        line.begin(&time, level: "warning", stream: stream, message: "log lines dropped")
        line.add(LogKey("count"), count)
        line.end()
        let size = UInt32(truncatingIfNeeded: line.length)
        let batch = LogBatch(stream: stream, bytes: line.bytes, entries: [size << 3 | 4])
        guard (try? self.output.write(batch)) != nil else { return }
        self.state.withLock { $0.queues[stream.index].unreported -= count }
    }

    private func count(_ reason: DropReason, _ lines: Int, of stream: LogStream) {
        self.counters[stream.index].dropped[reason]?.increment(by: lines)
        for _ in 0..<lines { self.drops.first { $0.0 == reason }?.1.add() }
    }
}

extension LogStream {
    /// Its place in the order in which streams are written.
    fileprivate var index: Int {
        switch self {
        case .audit: 0
        case .security: 1
        case .process: 2
        case .access: 3
        }
    }
}
