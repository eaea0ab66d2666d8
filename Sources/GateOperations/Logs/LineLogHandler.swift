// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import Logging

/// A log handler whose lines read `time level message key=value …`, keys sorted, values quoted where they need it.
package struct LineLogHandler: LogHandler {
    /// Messages below it are not logged.
    package var logLevel = Logger.Level.info
    /// What each line ends with.
    package var metadata = Logger.Metadata()

    private let writer: LogWriter

    /// A handler that appends lines to this writer.
    package init(writer: LogWriter) {
        self.writer = writer
    }

    /// A part of what each line ends with.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    /// Appends a line.
    package func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.sorted { $0.key < $1.key }.map { " \($0.key)=\(LineLogHandler.quoted("\($0.value)"))" }
        self.writer.append("\(LineLogHandler.stamp()) \(event.level) \(event.message)\(pairs.joined())")
    }

    /// The time now in UTC, RFC 3339.
    static func stamp() -> String {
        WallClock.system.now.timestamp
    }

    /// A value on one line: libraries log what they received, which must not begin a line of its own.
    private static func quoted(_ received: String) -> String {
        let value = PrintableText.escaped(received, limit: 4096)
        let needsQuotes = value.utf8.contains { $0 == 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }
        guard value.isEmpty || needsQuotes else { return value }
        return "\"\(value.replacing("\"", with: "'"))\""
    }
}
