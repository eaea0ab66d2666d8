// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions
internal import Synchronization

/// A session store in Redis, shared by any number of gateways.
///
/// Keys, each with the prefix `gatehouse:`; all expire by themselves:
///
/// - `s:KEY`, a hash: the version of the record (`v`), its family (`f`), times (`c`, `u`, `e`) and sealed session (`d`).
/// - `f:FAMILY`, a set: the keys of the records of a family.
/// - `r:FAMILY`: the family was removed; records of it that a lost command has left are not returned.
/// - `p:ID`: a single-use id that was used.
/// - `expires` and `seen`, sorted sets: the keys by time, for the sweep and the number of sessions.
///
/// KEY, FAMILY and ID are hashes, so neither a user nor a ticket can be read there. Each command has one key, and no
/// script more than one.
package final class RedisStore: SessionStore {
    /// The version of the records that this program writes.
    static let version: Int64 = 1
    /// How long uses wait before they are written.
    private static let flushInterval = Duration.seconds(5)
    /// The number of uses or expired sessions that are sent together.
    private static let step = 500
    /// The minimum time that a used id is kept, whatever the clocks of the machines are.
    private static let minSpentTime = Duration.seconds(3600)
    private static let channel = "gatehouse:revoked"

    private let client: RedisClient
    private let uses = UseBuffer()
    private let clock: WallClock
    private let idle = Mutex<Duration?>(nil)
    private let flushes = Mutex<Task<Void, Never>?>(nil)

    private init(client: RedisClient, clock: WallClock) {
        self.client = client
        self.clock = clock
    }

    /// Opens the store; the server need not be there yet.
    ///
    /// - Parameters:
    ///   - settings: The server.
    ///   - clock: The time, for how long used ids are kept.
    ///   - revoked: Called with each family that any gateway removes, this one included.
    /// - Returns: The store, which has no connection yet.
    /// - Throws: A `Failure` when a file for TLS cannot be read, or the process has no descriptor left.
    package static func open(
        _ settings: RedisSettings,
        clock: WallClock = .system,
        revoked: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws(Failure) -> RedisStore {
        let client = try await RedisClient.start(settings, channel: RedisStore.channel) { message in
            if message.count == 32 { revoked(message) }
        }
        let store = RedisStore(client: client, clock: clock)
        store.flushes.withLock { task in
            task = Task { [weak store] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: RedisStore.flushInterval)
                    guard let store else { return }
                    try? await store.flush()
                }
            }
        }
        return store
    }

    /// The record under a key, or nil; asked for again on a new connection if the first one breaks.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        let query = RedisCommand("HMGET").with(Self.name("s", key)).with("v").with("f").with("c").with("u").with("e")
            .with("d")
        var reply: RESPValue
        do throws(Failure) {
            reply = try await self.client.reply(to: query)
        } catch {
            reply = try await self.client.reply(to: query)
        }
        guard let fields = reply.values, fields.count == 6 else { throw self.client.unexpected("HMGET") }
        guard fields[0] != .null else { return nil }
        guard fields[0].number == RedisStore.version else {
            throw self.client.unavailable("a session was written by a newer Gatehouse; it is kept")
        }
        guard let family = fields[1].bytes, let created = fields[2].number, let seen = fields[3].number,
            let expires = fields[4].number, let sealed = fields[5].bytes
        else { throw self.client.unexpected("HMGET") }
        // A removal whose later steps were lost is in force nevertheless.
        let removed = try await self.client.reply(to: RedisCommand("EXISTS").with(Self.name("r", family)))
        guard removed == .integer(0) else { return nil }
        var lastSeen = Instant(seconds: seen)
        if let use = self.uses.lastUse(of: key) { lastSeen = max(lastSeen, use) }
        return SessionRecord(
            key: key,
            family: family,
            sealed: sealed,
            created: Instant(seconds: created),
            lastSeen: lastSeen,
            expires: Instant(seconds: expires)
        )
    }

    /// Adds a record.
    ///
    /// The family's set is written first and the mark of a removed family is read last, so that a removal at the same
    /// time misses the record on neither side.
    package func insert(_ record: SessionRecord) async throws(Failure) {
        let key = Self.name("s", record.key)
        let family = Self.name("f", record.family)
        let time = max(1, record.expires.since(record.lastSeen).milliseconds)
        let replies = try await self.client.replies(to: [
            RedisCommand("SADD").with(family).with(record.key),
            RedisCommand("PEXPIRE").with(family).with(time).with("NX"),
            RedisCommand("PEXPIRE").with(family).with(time).with("GT"),
            Self.insertion(of: record, under: key, time: self.time(left: time)),
            RedisCommand("EXISTS").with(Self.name("r", record.family)),
        ])
        guard replies[3] == .integer(1) else { throw self.client.unavailable("the key is taken") }
        guard replies[4] == .integer(0) else {
            try await self.remove(record.key)
            throw self.client.unavailable("the session was ended meanwhile")
        }
        _ = try await self.client.replies(to: [
            RedisCommand("ZADD").with("gatehouse:expires").with(record.expires.seconds).with(record.key),
            RedisCommand("ZADD").with("gatehouse:seen").with(record.lastSeen.seconds).with(record.key),
        ])
    }

    private static func insertion(of record: SessionRecord, under key: String, time: Int64) -> RedisCommand {
        let script = """
            if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
            redis.call('HSET', KEYS[1], 'v', ARGV[1], 'f', ARGV[2], 'c', ARGV[3], 'u', ARGV[4], 'e', ARGV[5], 'd', ARGV[6])
            redis.call('PEXPIRE', KEYS[1], ARGV[7])
            return 1
            """
        return RedisCommand("EVAL", script, "1").with(key).with(RedisStore.version).with(record.family)
            .with(record.created.seconds).with(record.lastSeen.seconds).with(record.expires.seconds).with(record.sealed)
            .with(time)
    }

    /// Records the use of an id, then adds a record; if that fails, the id is free again.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant
    ) async throws(Failure) -> Bool {
        guard try await self.spend(id, until: until) else { return false }
        do throws(Failure) {
            try await self.insert(record)
        } catch {
            _ = try? await self.client.reply(to: RedisCommand("DEL").with(Self.name("p", id)))
            throw error
        }
        return true
    }

    /// Notes a use, which is written within seconds.
    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.uses.note(key, at: instant)
    }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        _ = try await self.client.replies(to: Self.removal(of: key))
    }

    private static func removal(of key: [UInt8]) -> [RedisCommand] {
        [
            RedisCommand("DEL").with(self.name("s", key)),
            RedisCommand("ZREM").with("gatehouse:expires").with(key),
            RedisCommand("ZREM").with("gatehouse:seen").with(key),
        ]
    }

    /// Removes a family, and reports it to all gateways.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        let set = Self.name("f", family)
        let replies = try await self.client.replies(to: [
            RedisCommand("SET").with(Self.name("r", family)).with("1").with("PX").with(Self.familyTime),
            RedisCommand("PUBLISH", RedisStore.channel).with(family),
            RedisCommand("SMEMBERS").with(set),
        ])
        guard let keys = replies[2].values else { throw self.client.unexpected("SMEMBERS") }
        let removals = keys.compactMap(\.bytes).flatMap { Self.removal(of: $0) }
        _ = try await self.client.replies(to: removals + [RedisCommand("DEL").with(set)])
    }

    /// How long the mark of a removed family is kept, in milliseconds: 30 days.
    private static let familyTime: Int64 = 30 * 86_400_000

    /// Removes expired sessions in steps; Redis has removed most records itself.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        self.idle.withLock { $0 = idle }
        // A session with a pending use looks older than it is.
        try? await self.flush()
        let oldest = now.advanced(by: .zero - idle)
        var total = 0
        for (set, limit) in [("gatehouse:expires", now), ("gatehouse:seen", oldest)] {
            while true {
                let query = RedisCommand("ZRANGE").with(set).with("-inf").with(limit.seconds).with("BYSCORE")
                    .with("LIMIT").with(0).with(Int64(RedisStore.step))
                guard let keys = try await self.client.reply(to: query).values else {
                    throw self.client.unexpected("ZRANGE")
                }
                guard !keys.isEmpty else { break }
                let replies = try await self.client.replies(to: keys.compactMap(\.bytes).flatMap(Self.removal))
                // The second of the three replies for each key: of several gateways one removes it.
                let removed = stride(from: 1, to: replies.count, by: 3).count { replies[$0] == .integer(1) }
                total += removed
                guard removed > 0 else { break }
            }
        }
        return total
    }

    /// Records the use of an id.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        let time = max(until.since(self.clock.now), RedisStore.minSpentTime).milliseconds
        let command = RedisCommand("SET").with(Self.name("p", id)).with("1").with("NX").with("PX").with(time)
        switch try await self.client.reply(to: command) {
        case .null: return false
        case .text(Array("OK".utf8)): return true
        default: throw self.client.unexpected("SET")
        }
    }

    /// The number of live sessions.
    ///
    /// The smaller of those that have not expired and those that are not idle: since the sweep removes both kinds every
    /// minute, few sessions are only in one of them.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        let oldest = now.advanced(by: .zero - lifetimes.idle)
        let replies = try await self.client.replies(to: [
            RedisCommand("ZCOUNT", "gatehouse:expires").with("(\(now.seconds)").with("+inf"),
            RedisCommand("ZCOUNT", "gatehouse:seen").with("(\(oldest.seconds)").with("+inf"),
        ])
        guard let unexpired = replies[0].number, let used = replies[1].number else {
            throw self.client.unexpected("ZCOUNT")
        }
        return Int(min(unexpired, used))
    }

    /// Writes a key, since only that proves that the server can be written.
    package func check() async throws(Failure) {
        _ = try await self.client.reply(to: RedisCommand("SET", "gatehouse:check", "1", "PX", "1000"))
    }

    deinit {
        self.flushes.withLock { $0?.cancel() }
        let client = self.client
        Task { await client.close() }
    }

    /// Closes the connection after writing pending uses.
    package func close() async {
        self.flushes.withLock { $0?.cancel() }
        try? await self.flush()
        await self.client.close()
    }
}

// MARK: Uses

extension RedisStore {
    /// Writes the noted uses.
    private func flush() async throws(Failure) {
        while true {
            let uses = self.uses.first(RedisStore.step)
            guard !uses.isEmpty else { return }
            let replies = try await self.client.replies(to: uses.map { self.use($0.key, at: $0.at) })
            let kept = zip(uses, replies).filter { $1 == .integer(1) }.map(\.0)
            if !kept.isEmpty {
                _ = try await self.client.replies(
                    to: kept.map { RedisCommand("ZADD", "gatehouse:seen", "XX", "GT").with($0.at.seconds).with($0.key) }
                )
            }
            self.uses.remove(uses)
        }
    }

    /// Records a use of a session that still exists; the record is kept until its idle time or lifetime ends.
    private func use(_ key: [UInt8], at instant: Instant) -> RedisCommand {
        let script = """
            local times = redis.call('HMGET', KEYS[1], 'u', 'e')
            local seen, expires = tonumber(times[1]), tonumber(times[2])
            if not seen or not expires then return 0 end
            if tonumber(ARGV[1]) > seen then redis.call('HSET', KEYS[1], 'u', ARGV[1]) end
            local left = (expires - tonumber(ARGV[1])) * 1000
            local idle = tonumber(ARGV[2])
            if idle > 0 and idle < left then left = idle end
            if left > 0 then redis.call('PEXPIRE', KEYS[1], left) end
            return 1
            """
        let idle = self.idle.withLock { $0 }?.milliseconds ?? 0
        return RedisCommand("EVAL", script, "1").with(Self.name("s", key)).with(instant.seconds).with(idle)
    }

    /// The time to live of a new record: until it expires or was idle for too long.
    private func time(left: Int64) -> Int64 {
        min(left, self.idle.withLock { $0 }?.milliseconds ?? left)
    }

    private static func name(_ kind: String, _ hash: [UInt8]) -> String {
        "gatehouse:\(kind):\(Base64URL.encode(hash))"
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var milliseconds: Int64 {
        self.components.seconds * 1000 + self.components.attoseconds / 1_000_000_000_000_000
    }
}
