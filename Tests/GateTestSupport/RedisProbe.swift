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

    /// The lines of the reply to a command, that of an error included.
    @discardableResult
    package func run(_ words: any RedisWord...) throws -> [String] { try self.run(words) }

    /// The lines of the reply to a command.
    @discardableResult
    package func run(_ words: [any RedisWord]) throws -> [String] {
        // Quoted as redis-cli reads commands from its input.
        let line = words.map { word in
            "\"" + word.wordBytes.map { "\\x" + String(format: "%02x", $0) }.joined() + "\""
        }
        let process = try ChildProcess("/usr/bin/redis-cli", self.arguments + ["--raw"])
        let input = process.input
        try input.write(contentsOf: Data((line.joined(separator: " ") + "\n").utf8))
        try input.close()
        let text = String(decoding: try process.output.readToEnd() ?? Data(), as: UTF8.self)
        guard process.exitStatus() == 0 else { throw Failed(output: text) }
        return text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast().map(String.init)
    }
}

/// A word of a command: a text or bytes, so that a list of words is never one of them by mistake.
package protocol RedisWord: Sendable {
    /// The bytes of the word.
    var wordBytes: [UInt8] { get }
}

extension String: RedisWord {
    /// The bytes of the text.
    package var wordBytes: [UInt8] { Array(self.utf8) }
}

extension [UInt8]: RedisWord {
    /// The bytes themselves.
    package var wordBytes: [UInt8] { self }
}
