// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Synchronization

/// A real Redis server on a Unix domain socket, without a file; it ends with the last reference to it.
package final class RedisServer: Sendable {
    /// Why a server did not start.
    package struct NotStarted: Error {
        /// What it printed.
        package let output: String
    }

    /// The path of the socket.
    package let socket: String
    private let folder: TemporaryFolder
    private let process: Mutex<Process>

    /// Starts a server and waits until it accepts connections.
    ///
    /// - Parameter options: Further options of the command line.
    /// - Throws: ``NotStarted``, or what the system reports.
    package init(_ options: [String] = []) throws {
        self.folder = try TemporaryFolder()
        self.socket = "\(self.folder.path)/redis.sock"
        self.process = Mutex(try RedisServer.started(self.socket, in: self.folder.path, options))
    }

    deinit {
        self.process.withLock { RedisServer.end($0) }
    }

    /// Stops the server; connections to it break.
    package func stop() {
        self.process.withLock { process in
            RedisServer.end(process)
            process.waitUntilExit()
        }
    }

    /// A thread of the tests may block SIGTERM, and its children with it.
    private static func end(_ process: Process) { kill(process.processIdentifier, SIGKILL) }

    /// Stops the server and starts another one, which is empty, at the same place.
    package func restart(_ options: [String] = []) throws {
        self.stop()
        let next = try RedisServer.started(self.socket, in: self.folder.path, options)
        self.process.withLock { $0 = next }
    }

    /// Suspends the server: connections stay open without a response; ``resume()`` ends that.
    package func suspend() { self.process.withLock { _ = $0.suspend() } }

    /// Continues a suspended server.
    package func resume() { self.process.withLock { _ = $0.resume() } }

    private static func started(_ socket: String, in folder: String, _ options: [String]) throws -> sending Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/redis-server")
        process.arguments = [
            "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder, "--logfile", "",
        ]
        process.arguments? += options
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        var output = ""
        while !output.contains("The server is now ready to accept connections") {
            let bytes = pipe.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw NotStarted(output: output) }
            output += String(decoding: bytes, as: UTF8.self)
        }
        return process
    }
}
