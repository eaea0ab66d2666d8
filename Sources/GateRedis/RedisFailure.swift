// SPDX-License-Identifier: Apache-2.0

/// Why commands have no reply, or only an error.
struct RedisFailure: Error, Equatable {
    /// What is known about the commands.
    enum Kind {
        /// They were not sent: there is no connection.
        case unreachable
        /// They were sent, but there is no reply; the server may have run them.
        case lost
        /// The server cannot run them now, but it or another one may soon: it is a replica, or loads its data.
        case unusable
        /// The server has rejected one of them.
        case rejected
        /// The store is closed.
        case closed
    }

    /// What is known about the commands.
    let kind: Kind
    /// What happened, for the log.
    let reason: String

    /// A failure of a kind.
    init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The store was closed.
    static let closed = RedisFailure(.closed, "the store is closed")

    /// The failure for an error of the server, without the command that some servers repeat.
    init(reply text: String) {
        let end = text.firstRange(of: ", with args")?.lowerBound ?? text.endIndex
        let passes = ["CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK"].contains(text.prefix { $0 != " " })
        let kind = passes || RedisFailure.isUnusable(text) ? Kind.unusable : .rejected
        self.init(kind, String(text[..<end].prefix(200)))
    }

    /// The failure with where it happened.
    func at(_ place: String) -> RedisFailure { RedisFailure(self.kind, "\(place): \(self.reason)") }

    /// Whether the same commands may succeed on a new connection.
    var mayRetry: Bool { self.kind == .lost || self.kind == .unusable }

    /// Whether an error shows that a gateway needs another connection, maybe to another server.
    static func isUnusable(_ text: String) -> Bool {
        ["READONLY", "LOADING", "MASTERDOWN", "NOREPLICAS"].contains(text.prefix { $0 != " " })
    }
}
