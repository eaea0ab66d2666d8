// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import Synchronization

/// What was logged, line by line.
package final class LogLines: Sendable {
    /// A line.
    package struct Line: Sendable {
        /// Its level.
        package let level: Logger.Level
        /// Its message.
        package let message: String
        /// Its metadata as text.
        package let values: [String: String]
    }

    private let lines = Mutex<[Line]>([])

    /// No lines.
    package init() {}

    /// All lines, in order.
    package var all: [Line] { self.lines.withLock { $0 } }

    /// The lines about security events.
    package var events: [Line] { self.all.filter { $0.message == "security event" } }

    /// The logger that writes them.
    package var logger: Logger { Logger(label: "test") { _ in LineHandler(lines: self) } }

    fileprivate func add(_ line: Line) {
        self.lines.withLock { $0.append(line) }
    }
}

private struct LineHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = (event.metadata ?? [:]).mapValues { "\($0)" }
        self.lines.add(LogLines.Line(level: event.level, message: "\(event.message)", values: values))
    }
}
