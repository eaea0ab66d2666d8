// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore

/// Runs commands on a test server with `redis-cli`, which is not the client under test.
package struct RedisProbe {
    /// Why a command has no reply.
    package struct Failed: Error {
        /// What it printed.
        package let output: String
    }

    private let arguments: [String]

    /// A probe of a server on a Unix domain socket.
    package init(_ server: RedisServer) throws {
        self.arguments = ["-s", server.socket]
    }

    /// The lines of the reply to a command; its words are texts or bytes.
    @discardableResult
    package func run(_ words: any Sendable...) throws -> [String] { try self.run(words) }

    /// The lines of the reply to a command.
    @discardableResult
    package func run(_ words: [any Sendable]) throws -> [String] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/redis-cli")
        // Quoted as redis-cli reads commands from its input.
        let line = words.map { word in
            let bytes = word as? [UInt8] ?? Array("\(word)".utf8)
            return "\"" + bytes.map { "\\x" + String(format: "%02x", $0) }.joined() + "\""
        }
        process.arguments = self.arguments + ["--raw"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data((line.joined(separator: " ") + "\n").utf8))
        try input.fileHandleForWriting.close()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed(output: text) }
        return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast().map(String.init)
    }
}
