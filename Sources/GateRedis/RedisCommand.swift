// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A command with its arguments.
struct RedisCommand: Sendable, Equatable {
    /// The name and the arguments.
    private(set) var words: [[UInt8]]

    /// A command of texts.
    init(_ words: String...) {
        self.words = words.map { Array($0.utf8) }
    }

    /// The command with one more argument.
    func with(_ word: [UInt8]) -> RedisCommand {
        var command = self
        command.words.append(word)
        return command
    }

    /// The command with one more argument.
    func with(_ word: String) -> RedisCommand { self.with(Array(word.utf8)) }

    /// The command with a number as one more argument.
    func with(_ number: Int64) -> RedisCommand { self.with("\(number)") }

    /// Whether the reply is a push message.
    var isSubscription: Bool { self.words.first == Array("SUBSCRIBE".utf8) }

    /// The one key of the command; nil for commands that any node of a cluster runs.
    var key: [UInt8]? {
        guard let name = self.words.first else { return nil }
        let keyless = ["PUBLISH", "SUBSCRIBE", "PING", "HELLO", "SELECT", "ROLE", "CLUSTER", "SENTINEL", "ASKING"]
        guard !keyless.contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
        let index = name.elementsEqual("EVAL".utf8) ? 3 : 1
        return index < self.words.count ? self.words[index] : nil
    }

    /// Writes the command as an array of texts.
    func write(to buffer: inout ByteBuffer) {
        buffer.writeString("*\(self.words.count)\r\n")
        for word in self.words {
            buffer.writeString("$\(word.count)\r\n")
            buffer.writeBytes(word)
            buffer.writeString("\r\n")
        }
    }
}
