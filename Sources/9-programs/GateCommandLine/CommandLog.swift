// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOperations
package import Logging

/// The log of this process.
package let logRouter = LogRouter()

/// A logger of this process; its lines go to standard error until a configuration names other places.
package func makeLogger(level: Logger.Level) -> Logger {
    var logger = Logger(label: "gatehouse") { _ in LineLogHandler(router: logRouter) }
    logger.logLevel = level
    return logger
}

/// Prints diagnostics to standard error.
@Sendable
package func show(_ diagnostics: [Diagnostic]) {
    for diagnostic in diagnostics {
        printError(diagnostic.rendered)
    }
}

/// Writes diagnostics to the log, which never waits for its reader.
@Sendable
package func showInLog(_ diagnostics: [Diagnostic]) {
    for diagnostic in diagnostics {
        logRouter.append(diagnostic)
    }
}
