// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import GateCore
package import Logging
internal import NIOCore
internal import Synchronization

/// The log of the process: it takes the lines of each stream to the destination that the file names.
///
/// Streams of the same destination share its ``LogWriter``, in queues of their own. Until a configuration is in force, every line
/// is text on standard error.
package final class LogRouter: Sendable {
    private struct State {
        var settings = LogSettings()
        var writers: [LogDestination: LogWriter]
    }

    private let state: Mutex<State>

    /// A log that writes everything to one writer until it is configured.
    package init(_ writer: LogWriter = LogWriter()) {
        self.state = Mutex(State(writers: [.standardError: writer]))
    }

    /// Puts settings in force; destinations that stay keep their queues.
    ///
    /// - Throws: `file.unusable` with a file that cannot be opened; then nothing has changed.
    package func configure(_ settings: LogSettings) throws(Failure) {
        let known = self.state.withLock(\.writers)
        var writers: [LogDestination: LogWriter] = [:]
        for destination in LogStream.allCases.map({ settings[$0] }) + [.standardError] where destination != .off {
            if writers[destination] != nil { continue }
            if let writer = known[destination] {
                writer.use(settings.format)
                writers[destination] = writer
            } else {
                writers[destination] = LogWriter(
                    to: try LogRouter.output(destination),
                    format: settings.format
                )
            }
        }
        self.state.withLock { $0 = State(settings: settings, writers: writers) }
    }

    private static func output(_ destination: LogDestination) throws(Failure) -> any LogOutput {
        let daemon: LogDaemon?
        switch destination {
        case .standardOutput: return OutputDescriptor.standardOutput
        case .off, .standardError: return OutputDescriptor.standardError
        case .file(let path): return try LogFile(path)
        case .syslog(let path): daemon = LogDaemon(.syslog, at: path)
        case .journald(let path): daemon = LogDaemon(.journald, at: path)
        }
        guard let daemon else {
            throw Failure(.fileUnusable, "the socket of a log destination is not an absolute path")
        }
        return daemon
    }

    /// Where the lines of a stream go, and their format; nil if they go nowhere.
    package func target(of stream: LogStream) -> (writer: LogWriter, format: LogFormat)? {
        self.state.withLock { state in
            let format = state.settings.format
            return state.writers[state.settings[stream]].map { (writer: $0, format: format) }
        }
    }

    /// Writes what the check of a configuration has found.
    package func append(_ diagnostic: Diagnostic) {
        guard let (writer, format) = self.target(of: .process) else { return }
        guard format == .json else {
            // The source line and the caret below it, as the command shows them.
            for line in diagnostic.rendered.split(separator: "\n") { writer.append(String(line)) }
            return
        }
        let level = diagnostic.severity == .error ? Logger.Level.error : .warning
        let first = diagnostic.rendered.split(separator: "\n").first.map(String.init) ?? ""
        self.append("configuration diagnostic", level, to: .process, [("detail", first)])
    }

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - message: What happened.
    ///   - level: How bad it is.
    ///   - stream: The stream.
    ///   - values: What the line ends with.
    package func append(_ message: String, _ level: Logger.Level, to stream: LogStream, _ values: [(String, String)]) {
        guard let (writer, format) = self.target(of: stream) else { return }
        var time = LogTime()
        var line = LogLine(format)
        line.begin(&time, level: "\(level)", stream: stream, message: message)
        for (name, value) in values { line.add(LogKey(name), value) }
        line.end()
        writer.append(line, to: stream, severity: level.severity)
    }

    /// Opens all files again.
    package func reopen() {
        for writer in self.state.withLock(\.writers).values { writer.reopen() }
    }

    /// Waits until everything is written, a second for each destination at most.
    package func flush() {
        for writer in self.state.withLock(\.writers).values { writer.flush() }
    }
}

extension Logger.Level {
    /// The severity of syslog.
    ///
    /// RFC 5424 §6.2.1.
    fileprivate var severity: UInt32 {
        switch self {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
