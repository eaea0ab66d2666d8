// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A command with its arguments.
struct RedisCommand: Sendable, Equatable {
    /// The name and the arguments.
    private(set) var words: [[UInt8]]

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

    /// The name, as messages have it.
    var name: String { self.words.first.map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// Whether the reply is a push message.
    var isSubscription: Bool { self.words.first == Array("SUBSCRIBE".utf8) }

    /// The one key of the command; nil for commands that any node of a cluster runs.
    var key: [UInt8]? {
        guard let name = self.words.first else { return nil }
        guard !RedisCommand.keyless.contains(where: { name.elementsEqual($0.utf8) }) else { return nil }
        let isScript = name.elementsEqual("EVAL".utf8) || name.elementsEqual("EVAL_RO".utf8)
        let index = isScript ? 3 : 1
        return index < self.words.count ? self.words[index] : nil
    }

    /// Whether the command may change data.
    var isWrite: Bool {
        let name = self.name
        return !RedisCommand.keyless.contains(name) && !RedisCommand.reads.contains(name)
    }

    /// The size of the name and the arguments, in bytes.
    var size: Int { self.words.reduce(0) { $0 + $1.count } }

    private static let keyless = [
        "PUBLISH", "SUBSCRIBE", "PING", "HELLO", "SELECT", "ROLE", "CLUSTER", "SENTINEL", "ASKING", "INFO", "SCAN",
    ]
    private static let reads = [
        "GET", "HGET", "HMGET", "EXISTS", "SMEMBERS", "SCARD", "ZRANGE", "ZCOUNT", "ZSCORE", "EVAL_RO",
    ]

    /// How large the reply may be.
    var replyLimits: RESPLimits { self == .clusterSlots ? .clusterMap : .standard }

    /// Asks a node of a cluster for the map of the slots.
    static let clusterSlots = RedisCommand("CLUSTER", "SLOTS")

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
