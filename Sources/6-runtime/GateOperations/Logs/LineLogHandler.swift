// SPDX-License-Identifier: Apache-2.0

package import GateConfiguration
package import Logging

/// A log handler whose lines go to a ``LogRouter``, with the metadata by name.
package struct LineLogHandler: LogHandler {
    /// Messages below it are not logged.
    package var logLevel = Logger.Level.info
    /// What each line ends with.
    package var metadata = Logger.Metadata()

    private let router: LogRouter
    private var stream = LogStream.process
    /// The name of the metadata that is the stream of the line, not a part of it.
    fileprivate static let streamKey = "stream"

    /// A handler that gives lines to this router.
    package init(router: LogRouter) {
        self.router = router
    }

    /// A part of what each line ends with.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set {
            if key == LineLogHandler.streamKey {
                self.stream = newValue.flatMap { LogStream(rawValue: "\($0)") } ?? .process
            } else {
                self.metadata[key] = newValue
            }
        }
    }

    /// Writes a line.
    package func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { $1 }
        let values = all.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
        self.router.append("\(event.message)", event.level, to: self.stream, values)
    }
}

extension Logger {
    /// The same logger for the lines of a stream.
    package func of(_ stream: LogStream) -> Logger {
        var logger = self
        logger[metadataKey: LineLogHandler.streamKey] = "\(stream.rawValue)"
        return logger
    }
}
