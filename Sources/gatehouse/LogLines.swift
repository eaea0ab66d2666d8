// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Logging
internal import Synchronization

/// Writes log lines to standard error from a thread of its own, so that a reader that has stopped never holds up a
/// request.
///
/// At most ``LogLines/capacity`` lines wait; of what comes while they do, only the number is kept and written later.
final class LogLines: Sendable {
    static let capacity = 8192

    private struct Queue {
        var waiting = 0
        var dropped = 0
    }

    private let queue = Mutex(Queue())
    private let writer = DispatchQueue(label: "gatehouse.log")

    /// Takes a line, or only counts it.
    func append(_ line: String) {
        let isTaken = self.queue.withLock { queue in
            guard queue.waiting < LogLines.capacity else {
                queue.dropped += 1
                return false
            }
            queue.waiting += 1
            return true
        }
        guard isTaken else { return }
        self.writer.async { self.write(line) }
    }

    /// Waits until everything is written, but not for a reader that has stopped.
    func flush() {
        let done = DispatchSemaphore(value: 0)
        self.writer.async { done.signal() }
        _ = done.wait(timeout: .now() + .seconds(1))
    }

    private func write(_ line: String) {
        complain(line)
        let dropped = self.queue.withLock { queue in
            queue.waiting -= 1
            defer { queue.dropped = 0 }
            return queue.dropped
        }
        if dropped > 0 { complain("\(LineLogHandler.stamp()) warning log lines dropped count=\(dropped)") }
    }
}

/// A log handler whose lines read `time level message key=value …`, keys sorted, values quoted where they need it.
struct LineLogHandler: LogHandler {
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()
    let lines: LogLines

    init(lines: LogLines) {
        self.lines = lines
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\(LineLogHandler.quoted("\($0.value)"))" }
        self.lines.append("\(LineLogHandler.stamp()) \(event.level) \(event.message)\(pairs.joined())")
    }

    /// The time now in UTC, RFC 3339.
    static func stamp() -> String {
        Date().formatted(.iso8601)
    }

    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else { return value }
        return "\"\(value.replacing("\"", with: "'"))\""
    }
}
