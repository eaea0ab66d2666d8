// SPDX-License-Identifier: Apache-2.0

/// Checks whether a server is a master: the data of a replica may be old, so that revoked sessions are in it.
extension RedisLinkPlan.Check {
    /// The server must be a master by its own account.
    static let isMaster = RedisLinkPlan.Check(commands: [.role]) { replies in
        if let isMaster = RedisCommand.isMaster(replies[0]) { return isMaster ? nil : .notMaster }
        return RedisFailure(
            .unreachable,
            "the user may not run ROLE, by which masters are known: add '+role' to its ACL"
        )
    }

    /// The server must not be a replica by its own account, where the user may ask for that.
    ///
    /// A write would wait while Redis pauses writes, and with it the reads after it.
    static let isNotReplica = RedisLinkPlan.Check(commands: [.role]) { replies in
        RedisCommand.isMaster(replies[0]) == false ? .notMaster : nil
    }

    /// The server must be a master by its own account; where the user may not ask for that, it must accept writes.
    ///
    /// A master that rejects a write for another reason, such as full memory, is one nevertheless.
    static let isMasterOrWritable = RedisLinkPlan.Check(commands: [.role, .probeWrite]) { replies in
        if let isMaster = RedisCommand.isMaster(replies[0]) { return isMaster ? nil : .notMaster }
        guard case .error(let text) = replies[1], RedisFailure(reply: text).kind == .readOnly else { return nil }
        return .notMaster
    }
}

extension RedisCommand {
    /// Asks a server whether it is a master.
    static let role = RedisCommand("ROLE")
    /// A write without effect; only that proves that a server can be written.
    static let probeWrite = RedisCommand("SET", "gatehouse:check", "1", "PX", "1000")

    /// Whether a reply to ``role`` is that of a master; nil if it is another reply.
    fileprivate static func isMaster(_ reply: RESPValue) -> Bool? {
        reply.values.map { $0.first?.bytes == Array("master".utf8) }
    }
}

extension RedisFailure {
    fileprivate static let notMaster = RedisFailure(
        .readOnly,
        "the server is not a master; nothing is read from a replica, which may still have sessions that were revoked"
    )
}
