// SPDX-License-Identifier: Apache-2.0

/// Why commands have no reply, or only an error.
struct RedisFailure: Error, Equatable {
    /// What is known about the commands.
    enum Kind {
        /// They were not sent: there is no connection.
        case unreachable
        /// They were sent, but there is no reply; the server may have run them.
        case lost
        /// The server cannot run them now, but it or another one may soon: it loads its data, or lacks replicas.
        case unusable
        /// The server is a replica, whose data may be old.
        case readOnly
        /// The server has rejected one of them.
        case rejected
        /// The store is closed.
        case closed
    }

    /// What is known about the commands.
    let kind: Kind
    /// What happened, for the log.
    let reason: String

    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    static let closed = RedisFailure(.closed, "the store is closed")

    /// The failure for an error of the server, without the command that some servers repeat.
    init(reply text: String) {
        let end = text.firstRange(of: ", with args")?.lowerBound ?? text.endIndex
        let kind: Kind =
            switch text.prefix(while: { $0 != " " }) {
            case "READONLY": .readOnly
            case "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "LOADING", "MASTERDOWN", "NOREPLICAS": .unusable
            default: .rejected
            }
        self.init(kind, String(text[..<end].prefix(200)))
    }

    /// A reply over its limits.
    static let tooLarge = RedisFailure(.rejected, "a value is larger than any that a gateway writes; it was skipped")

    /// A reply, unless it is an error or was skipped.
    static func checked(_ value: RESPValue) -> RedisReply {
        switch value {
        case .error(let text): .failure(RedisFailure(reply: text))
        case .tooLarge: .failure(.tooLarge)
        default: .success(value)
        }
    }

    /// The failure with where it happened.
    func at(_ place: String) -> RedisFailure { RedisFailure(self.kind, "\(place): \(self.reason)") }

    /// Whether the same commands may succeed on a new connection.
    var mayRetry: Bool { [.lost, .unusable, .readOnly].contains(self.kind) }

    /// Whether an error shows that a gateway needs another connection, maybe to another server.
    ///
    /// A master that lacks replicas goes on with reads.
    static func needsConnection(_ text: String) -> Bool {
        ["READONLY", "LOADING", "MASTERDOWN"].contains(text.prefix { $0 != " " })
    }
}

/// The result of one command.
typealias RedisReply = Result<RESPValue, RedisFailure>

extension RedisReply {
    /// Why the command has no reply; nil if it has one.
    var failure: RedisFailure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }

    /// The value; nil after a failure.
    var value: RESPValue? { try? self.get() }
}
