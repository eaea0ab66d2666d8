// SPDX-License-Identifier: Apache-2.0

import GateCore
import Logging
import Synchronization

@testable import GateServer

/// What was logged, line by line.
final class LogLines: Sendable {
    struct Line: Sendable {
        let level: Logger.Level
        let message: String
        let values: [String: String]
    }

    private let lines = Mutex<[Line]>([])

    var all: [Line] { self.lines.withLock { $0 } }

    /// The lines about security events.
    var events: [Line] { self.all.filter { $0.message == "security event" } }

    var log: GatewayLog { GatewayLog(logger: Logger(label: "pins") { _ in LineHandler(lines: self) }) }

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
