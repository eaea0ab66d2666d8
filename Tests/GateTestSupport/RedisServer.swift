// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Synchronization

/// A real Redis server on a Unix domain socket, and a port if it is given one; it ends with the last reference to it.
package final class RedisServer: Sendable {
    /// Why a server did not start.
    package struct NotStarted: Error {
        /// What it printed, or what it is not ready for.
        package let output: String

        /// A failure with this output.
        package init(output: String) {
            self.output = output
        }
    }

    /// The path of the socket.
    package let socket: String
    /// The port on 127.0.0.1; nil if it has none.
    package let port: Int?
    private let folder: TemporaryFolder
    private let arguments: (file: [String], options: [String])
    private let process: Mutex<ChildProcess>

    /// Starts a server and waits until it accepts connections.
    ///
    /// - Parameters:
    ///   - options: Further options of the command line.
    ///   - hasPort: Whether it listens on a free port of 127.0.0.1 as well.
    ///   - configuration: The content of the configuration file of a sentinel; nil for a server with data.
    /// - Throws: ``NotStarted``, or what the system reports.
    package init(_ options: [String] = [], hasPort: Bool = false, sentinel configuration: String? = nil) throws {
        self.folder = try TemporaryFolder()
        self.socket = "\(self.folder.path)/redis.sock"
        var file: [String] = []
        if let configuration {
            let path = "\(self.folder.path)/sentinel.conf"
            try configuration.write(toFile: path, atomically: true, encoding: .utf8)
            file = [path, "--sentinel"]
        }
        // A port that another process has taken is not tried again; the bus of a cluster is 10,000 above.
        for port in (15_000..<25_000).shuffled().prefix(50) {
            let all = options + (hasPort ? ["--port", "\(port)", "--bind", "127.0.0.1"] : [])
            do {
                let process = try RedisServer.started(self.socket, in: self.folder.path, file, all)
                self.arguments = (file, all)
                self.port = hasPort ? port : nil
                self.process = Mutex(process)
                return
            } catch let error as NotStarted {
                guard error.output.contains("in use") else { throw error }
            }
        }
        throw NotStarted(output: "no free port")
    }

    /// Stops the server; connections to it break.
    package func stop() { self.process.withLock { $0.end() } }

    /// Stops the server and starts another one, which is empty, at the same place.
    package func restart() throws {
        self.stop()
        let (file, options) = self.arguments
        let next = try RedisServer.started(self.socket, in: self.folder.path, file, options)
        self.process.withLock { $0 = next }
    }

    /// Suspends the server: connections stay open without a response; ``resume()`` ends that.
    package func suspend() { self.process.withLock { $0.send(SIGSTOP) } }

    /// Continues a suspended server.
    package func resume() { self.process.withLock { $0.send(SIGCONT) } }

    private static func started(
        _ socket: String,
        in folder: String,
        _ file: [String],
        _ options: [String]
    ) throws -> ChildProcess {
        var arguments = file + ["--port", "0", "--unixsocket", socket, "--dir", folder, "--logfile", ""]
        if file.isEmpty { arguments += ["--save", "", "--appendonly", "no"] }
        let process = try ChildProcess("/usr/bin/redis-server", arguments + options)
        let printed = process.output
        var output = ""
        let isReady = file.isEmpty ? "eady to accept connections" : "+monitor master"
        while !output.contains(isReady) {
            let bytes = printed.availableData
            guard !bytes.isEmpty else { throw NotStarted(output: output) }
            output += String(decoding: bytes, as: UTF8.self)
        }
        // What is not read would stop the server at some time. A thread reads it, since a handler of `FileHandle` is a dispatch
        // source, whose descriptor is closed before the source is cancelled: its next event crashes the process.
        Thread.detachNewThread {
            while !printed.availableData.isEmpty {}
        }
        return process
    }
}
