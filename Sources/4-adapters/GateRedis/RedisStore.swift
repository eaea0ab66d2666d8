// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProxy
package import GateSessions
internal import Synchronization

/// A session store in Redis, shared by any number of gateways.
///
/// Keys, each with the prefix `gatehouse:`; all but the entries of local accounts expire by themselves:
///
/// - `s:KEY`, a hash: the version of the record (`v`), its family (`f`), times (`c`, `u`, `e`), sealed session (`d`),
///   labels (`l`) and card (`k`).
/// - `f:FAMILY`, a set: the keys of the records of a family.
/// - `r:FAMILY`: the family was removed; records of it that a lost command has left are not returned.
/// - `l:LABEL`, a sorted set: the families that had a record with the label, by when they end at the latest. Some may
///   have ended; a look-up skips them.
/// - `p:ID`: a single-use id that was used, by the token of the call.
/// - `k:ID`: a lock, by its owner.
/// - `e:KIND:KEY`: an entry; `n:KIND`, a sorted set: the keys of the entries of a kind.
/// - `expires` and `seen`, sorted sets: the keys of records by time, for pages, the sweep and the number of sessions.
///
/// KEY, FAMILY, LABEL and ID are hashes, so neither a user nor a ticket can be read there. Each command and each script
/// has one key, and running it twice has the same effect as running it once.
package final class RedisStore: SessionStore {
    /// The version of the records that this program writes.
    static let version: Int64 = 1
    /// How much the clocks of gateways may differ before one removes sessions that another one considers live.
    package static let clockMargin = Duration.seconds(300)
    /// How long uses wait before they are written.
    private static let flushInterval = Duration.seconds(5)
    /// After how many of these intervals the servers are looked at.
    private static let flushesPerLook = 12
    /// The number of small commands that are sent together.
    static let step = 500
    /// The number of commands with large replies that are sent together.
    private static let largeStep = 50
    /// The maximum number of items of a page.
    private static let maxPage = 1000
    /// The maximum number of families of a label that are read.
    private static let maxFamilies = 1_000_000
    /// The minimum time that a used id is kept, whatever the clocks of the machines are.
    private static let minSpentTime = Duration.seconds(3600)
    /// The last use of a session is written in steps of a minute, so Redis keeps it for a minute longer.
    private static let idleSlack = Duration.seconds(60)
    /// Where the removal of a family is reported.
    static let revokedChannel = "gatehouse:revoked"
    private static let changedChannel = "gatehouse:changed"

    private let client: RedisClient
    private let revocations: RedisRevocations
    private let uses = UseBuffer()
    private let clock: WallClock
    private let random: RandomBytes
    private let idle = Mutex<Duration?>(nil)
    private let flushes = Mutex<Task<Void, Never>?>(nil)
    /// Whether a server removes sessions by itself, as of the last look.
    private let mayEvict = Atomic(false)

    private init(client: RedisClient, revocations: RedisRevocations, clock: WallClock, random: RandomBytes) {
        self.client = client
        self.revocations = revocations
        self.clock = clock
        self.random = random
    }

    /// Opens the store; the server need not be there yet.
    ///
    /// - Parameters:
    ///   - settings: The servers.
    ///   - loaded: What the files for TLS hold; nil to read them.
    ///   - pending: The file for removals of families that could not be written; nil for none.
    ///   - clock: The time, for how long used ids and entries are kept.
    ///   - random: The source of the tokens of calls.
    ///   - report: Called with events for the operator.
    ///   - revoked: Called with each family that any gateway removes, this one included.
    ///   - changed: Called with each family whose change any gateway reports, this one included.
    /// - Returns: The store, which has no connection yet.
    /// - Throws: A `Failure` when a file for TLS cannot be read, or the process has no descriptor left.
    package static func open(
        _ settings: RedisSettings,
        over loaded: LoadedUpstream? = nil,
        pending: String? = nil,
        clock: WallClock = .system,
        random: RandomBytes = .system,
        report: @escaping @Sendable (StoreEvent) -> Void = { _ in },
        revoked: @escaping @Sendable ([UInt8]) -> Void = { _ in },
        changed: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws(Failure) -> RedisStore {
        let files: LoadedUpstream
        if let loaded { files = loaded } else { files = try settings.loaded() }
        let revocations = RedisRevocations(path: pending, report: report)
        let client = try await RedisClient.start(
            settings,
            files,
            subscriptions: [
                RedisStore.revokedChannel: { family in
                    guard family.count == 32 else { return }
                    revocations.note(family)
                    revoked(family)
                },
                RedisStore.changedChannel: { if $0.count == 32 { changed($0) } },
            ]
        )
        let store = RedisStore(client: client, revocations: revocations, clock: clock, random: random)
        revocations.start(by: client)
        store.flushes.withLock { task in
            task = Task { [weak store] in
                for count in 0... {
                    try? await Task.sleep(for: RedisStore.flushInterval)
                    guard let store, !Task.isCancelled else { return }
                    try? await store.flush()
                    if count.isMultiple(of: RedisStore.flushesPerLook) { _ = try? await store.servers() }
                }
            }
        }
        return store
    }

    package var keepsSessions: Bool { true }

    /// What is wrong with the servers, as far as is known.
    package func fileFailure() -> StoreFileFailure? {
        if self.client.isReadOnly.load(ordering: .relaxed) { return .readOnly }
        return self.mayEvict.load(ordering: .relaxed) ? .evicting : nil
    }

    /// The record under a key, or nil.
    ///
    /// A record that is missing in one of its indexes has ended: a revocation would not find it. Redis removes keys by
    /// itself if its `maxmemory-policy` evicts some.
    package func record(for key: [UInt8]) async throws(Failure) -> SessionRecord? {
        let reply = try await self.client.reply(to: Self.query(of: key))
        guard let record = try self.record(key, from: reply), !self.revocations.contains(record.family) else {
            return nil
        }
        let results = await self.client.results(of: [Self.mark(of: record.family)] + Self.indexQueries(of: record))
        // A removal whose later steps were lost is in force nevertheless.
        switch results[0] {
        case .failure(let failure): throw self.client.unavailable(failure.reason)
        case .success(let removed) where removed != .integer(0): return nil
        case .success: break
        }
        // A node of a cluster that does not respond does not end it.
        let isIndexed = results.dropFirst().allSatisfy { $0.value != .integer(0) && $0.value != .null }
        return isIndexed && !self.revocations.contains(record.family) ? record : nil
    }

    /// Asks whether a family was removed.
    private static func mark(of family: [UInt8]) -> RedisCommand { RedisCommand("EXISTS").with(self.name("r", family)) }

    /// Asks whether a record can be found by its family and its labels.
    private static func indexQueries(of record: SessionRecord) -> [RedisCommand] {
        [RedisCommand("EXISTS").with(self.name("f", record.family))]
            + record.labels.map { RedisCommand("ZSCORE").with(self.name("l", $0)).with(record.family) }
    }

    /// Adds a record.
    ///
    /// A removal of the family at the same time may miss the record; the mark of the removed family ends it nevertheless.
    package func insert(_ record: SessionRecord) async throws(Failure) {
        switch await self.insertion(of: record) {
        case .success: return
        case .failure(let failure): throw self.client.unavailable(failure.reason)
        }
    }

    private func insertion(of record: SessionRecord) async -> Result<Void, RedisFailure> {
        let life = max(1, record.expires.since(record.lastSeen).wholeMilliseconds)
        let replies: [RESPValue]
        switch await self.client.outcome(of: self.additions(of: record, life: life)) {
        case .failure(let failure): return .failure(failure)
        case .success(let found): replies = found
        }
        guard replies[0] == .integer(1) else { return .failure(RedisFailure(.rejected, "the key is taken")) }
        guard replies[1] == .integer(0), !self.revocations.contains(record.family) else {
            _ = await self.client.outcome(of: Self.removal(of: record.key))
            return .failure(RedisFailure(.rejected, "the session was ended meanwhile"))
        }
        return .success(())
    }

    private func additions(of record: SessionRecord, life: Int64) -> [RedisCommand] {
        let addition = RedisScript.addRecord.command(Self.name("s", record.key)).with(RedisStore.version)
            .with(record.family).with(record.created.seconds).with(record.lastSeen.seconds).with(record.expires.seconds)
            .with(record.sealed).with(record.labelBytes).with(record.card).with(self.time(left: life))
        let indexes = [
            RedisScript.addMember.command(Self.name("f", record.family)).with(record.key).with(life),
            RedisScript.addIndexed.command(RecordIndex.byExpiry).with(record.expires.seconds).with(record.key),
            RedisScript.addIndexed.command(RecordIndex.byUse).with(record.lastSeen.seconds).with(record.key),
        ]
        let labels = record.labels.map {
            RedisScript.addExpiring.command(Self.name("l", $0)).with(record.family).with(life)
        }
        return [addition, Self.mark(of: record.family)] + indexes + labels
    }

    /// Records the use of an id, then adds a record; the caller reads the entry.
    ///
    /// The id is free again if Redis has rejected the record, but not if its reply is lost: then the record may exist.
    package func insert(
        _ record: SessionRecord,
        spending id: [UInt8],
        until: Instant,
        reading kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreInsertion {
        let token = self.random.bytes(16)
        guard try await self.claim("p", id, token: token, for: self.spentTime(until)) else { return .spent }
        guard case .failure(let failure) = await self.insertion(of: record) else { return .added }
        if failure.kind == .rejected {
            _ = await self.client.outcome(of: [RedisScript.release.command(Self.name("p", id)).with(token)])
        }
        throw self.client.unavailable(failure.reason)
    }

    /// Notes a use, which is written within seconds.
    package func noteUse(_ key: [UInt8], at instant: Instant) {
        self.uses.note(key, at: instant)
    }

    /// Removes a record.
    package func remove(_ key: [UInt8]) async throws(Failure) {
        let replies = try await self.client.replies(to: Self.removal(of: key))
        guard let family = replies[0].values?.first?.bytes else { return }
        _ = try await self.client.reply(to: RedisCommand("SREM").with(Self.name("f", family)).with(key))
    }

    /// Removes a record, of this family unless that is empty, and from the indexes of all records.
    static func removal(of key: [UInt8], from family: [UInt8] = []) -> [RedisCommand] {
        [RedisScript.removeRecord.command(self.name("s", key)).with(family)] + self.indexRemoval(of: key)
    }

    private static func indexRemoval(of key: [UInt8]) -> [RedisCommand] {
        RecordIndex.names.map { RedisCommand("ZREM", $0).with(key) }
    }

    /// Removes a family, and reports it to all gateways.
    package func removeFamily(_ family: [UInt8]) async throws(Failure) {
        try await self.revocations.end(family, by: self.client)
    }

    /// Removes the records of a family that were unused for longest, and from its set those that have expired.
    package func trimFamily(
        _ family: [UInt8],
        to limit: Int,
        keeping kept: Set<[UInt8]>
    ) async throws(Failure) {
        let set = Self.name("f", family)
        guard let count = try await self.client.reply(to: RedisCommand("SCARD").with(set)).number else {
            throw self.client.unexpected("SCARD")
        }
        guard count > limit else { return }
        guard let keys = try await self.client.reply(to: RedisCommand("SMEMBERS").with(set)).values?.compactMap(\.bytes)
        else { throw self.client.unexpected("SMEMBERS") }
        let times = try await self.client.values(
            of: keys.map { RedisCommand("HGET").with(Self.name("s", $0)).with("u") },
            inPartsOf: Self.step
        )
        let uses = zip(keys, times).map { key, time in
            (key: key, seen: time?.number.map { max($0, self.uses.lastUse(of: key)?.seconds ?? $0) })
        }
        let expired = uses.filter { $0.seen == nil && !kept.contains($0.key) }.map(\.key)
        let live = uses.compactMap { use in use.seen.map { (key: use.key, seen: $0) } }
        let oldest = live.filter { !kept.contains($0.key) }.sorted { $0.seen < $1.seen }
        let surplus = oldest.prefix(max(0, live.count - limit)).map(\.key)
        _ = try await self.client.replies(
            to: surplus.flatMap { Self.removal(of: $0, from: family) }
                + (expired + surplus).map { RedisCommand("SREM").with(set).with($0) },
            inPartsOf: Self.step
        )
    }

    /// How long the indexes of all records are kept without another session.
    private static let indexTime = Duration.seconds(30 * 86_400)

    /// Removes what is left of sessions that have expired, in steps; Redis has removed most records itself.
    ///
    /// A record is removed only five minutes late, since the clock of another gateway may be right.
    package func removeExpired(at now: Instant, idle: Duration) async throws(Failure) -> Int {
        self.idle.withLock { $0 = idle }
        // A session with a pending use looks older than it is.
        try? await self.flush()
        try await RecordIndex(client: self.client).completeIfPartial()
        let end = now.advanced(by: .zero - Self.clockMargin)
        let oldest = end.advanced(by: .zero - idle)
        var total = 0
        for (set, limit) in [(RecordIndex.byExpiry, end), (RecordIndex.byUse, oldest)] {
            var last: [[UInt8]] = []
            while true {
                let query = RedisCommand("ZRANGE").with(set).with("-inf").with(limit.seconds).with("BYSCORE")
                    .with("LIMIT").with(0).with(Int64(RedisStore.step))
                guard let keys = try await self.client.reply(to: query).values?.compactMap(\.bytes) else {
                    throw self.client.unexpected("ZRANGE")
                }
                // The same keys again: the sweep changes nothing there, so it would go on for ever.
                guard !keys.isEmpty, keys != last else { break }
                last = keys
                total += try await self.sweep(keys, end: end, oldest: oldest)
            }
        }
        let life = RedisStore.indexTime.wholeMilliseconds
        _ = try await self.client.replies(
            to: RecordIndex.names.map { RedisCommand("PEXPIRE", $0).with(life) }
        )
        return total
    }

    /// Removes expired records from the indexes, and corrects the times of others there; returns how many it removed.
    private func sweep(_ keys: [[UInt8]], end: Instant, oldest: Instant) async throws(Failure) -> Int {
        let times = try await self.client.replies(
            to: keys.map {
                RedisScript.sweepRecord.command(Self.name("s", $0)).with(end.seconds).with(oldest.seconds)
            }
        )
        let changes = zip(keys, times).flatMap { key, times in
            guard let times = times.values?.compactMap(\.bytes), times.count == 2 else {
                return Self.indexRemoval(of: key)
            }
            return [
                RedisScript.addIndexed.command(RecordIndex.byExpiry).with(times[1]).with(key),
                RedisScript.addIndexed.command(RecordIndex.byUse).with(times[0]).with(key),
            ]
        }
        let replies = try await self.client.replies(to: changes)
        // Of several gateways, one removes a key from the index; a key that stays has other times.
        return zip(times, stride(from: 0, to: replies.count, by: 2)).count { times, index in
            times == .null && replies[index] == .integer(1)
        }
    }

    /// Records the use of an id.
    package func spend(_ id: [UInt8], until: Instant) async throws(Failure) -> Bool {
        try await self.claim("p", id, token: self.random.bytes(16), for: self.spentTime(until))
    }

    /// Takes a lock; Redis measures its time.
    package func lock(
        _ id: [UInt8],
        owner: [UInt8],
        at now: Instant,
        for time: Duration
    ) async throws(Failure) -> Bool {
        try await self.claim("k", id, token: owner, for: time)
    }

    /// Ends a lock of this owner.
    package func unlock(_ id: [UInt8], owner: [UInt8]) async throws(Failure) {
        _ = try await self.client.reply(to: RedisScript.release.command(Self.name("k", id)).with(owner))
    }

    private func claim(
        _ kind: String,
        _ id: [UInt8],
        token: [UInt8],
        for time: Duration
    ) async throws(Failure) -> Bool {
        let command = RedisScript.claim.command(Self.name(kind, id)).with(token).with(max(1, time.wholeMilliseconds))
        switch try await self.client.reply(to: command) {
        case .integer(0): return false
        case .integer(1): return true
        default: throw self.client.unexpected("SET")
        }
    }

    private func spentTime(_ until: Instant) -> Duration { max(until.since(self.clock.now), RedisStore.minSpentTime) }

    /// The number of live sessions.
    ///
    /// The smaller of those that have not expired and those that are not idle: since the sweep removes both kinds every
    /// minute, few sessions are only in one of them.
    package func count(at now: Instant, within lifetimes: SessionLifetimes) async throws(Failure) -> Int {
        let oldest = now.advanced(by: .zero - lifetimes.idle)
        let replies = try await self.client.replies(to: [
            RedisCommand("ZCOUNT", RecordIndex.byExpiry).with("(\(now.seconds)").with("(+inf"),
            RedisCommand("ZCOUNT", RecordIndex.byUse).with("(\(oldest.seconds)").with("(+inf"),
        ])
        guard let unexpired = replies[0].number, let used = replies[1].number else {
            throw self.client.unexpected("ZCOUNT")
        }
        return Int(min(unexpired, used))
    }

    /// Writes a key, since only that proves that the server can be written.
    package func check() async throws(Failure) {
        _ = try await self.client.reply(to: .probeWrite)
    }

    /// What the servers with the data report about themselves.
    ///
    /// - Throws: If one of them does not respond.
    package func servers() async throws(Failure) -> [RedisServerReport] {
        var reports: [RedisServerReport] = []
        for part in 0..<(await self.client.partCount()) {
            switch await self.client.result(of: RedisCommand("INFO", "memory"), atPart: part) {
            case .success(let reply): reports.append(RedisServerReport(reply))
            case .failure(let failure) where failure.kind == .rejected: reports.append(RedisServerReport(.null))
            case .failure(let failure): throw self.client.unavailable(failure.reason)
            }
        }
        self.mayEvict.store(reports.contains(where: \.mayEvict), ordering: .relaxed)
        return reports
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
        await self.revocations.close()
        await self.client.close()
    }
}

// MARK: Labels, pages and entries

extension RedisStore {
    /// Replaces what is sealed in a record.
    package func replace(
        _ key: [UInt8],
        ifSealed sealed: [UInt8],
        by replacement: [UInt8],
        card: [UInt8]
    ) async throws(Failure) -> Bool {
        let command = RedisScript.replaceRecord.command(Self.name("s", key)).with(sealed).with(replacement).with(card)
        switch try await self.client.reply(to: command) {
        case .null: return false
        case .text(let family):
            guard !self.revocations.contains(family) else { return false }
            return try await self.client.reply(to: Self.mark(of: family)) == .integer(0)
        default: throw self.client.unexpected("HSET")
        }
    }

    /// Publishes the family to all gateways.
    package func reportChange(ofFamily family: [UInt8]) async throws(Failure) {
        _ = try await self.client.reply(to: RedisCommand("PUBLISH", RedisStore.changedChannel).with(family))
    }

    /// The families of the records with a label, without those that have ended.
    package func families(labeled label: [UInt8]) async throws(Failure) -> Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        var cursor = RedisCursor(bytes: [])
        while let from = cursor {
            guard found.count < RedisStore.maxFamilies else {
                throw self.client.unavailable("too many sign-ins of a user")
            }
            let page = try await self.members(of: Self.name("l", label), from: from, count: RedisStore.maxPage)
            found.formUnion(page.members)
            cursor = page.next
        }
        let families = Array(found)
        let queries = families.flatMap { family in
            ["f", "r"].map { RedisCommand("EXISTS").with(Self.name($0, family)) }
        }
        let replies = try await self.client.replies(to: queries, inPartsOf: Self.step)
        let live = families.indices.filter { replies[2 * $0] == .integer(1) && replies[2 * $0 + 1] == .integer(0) }
        return Set(live.map { families[$0] }.filter { !self.revocations.contains($0) })
    }

    /// The sign-ins with a label, those first that end first.
    package func signIns(labeled label: [UInt8], limit: Int) async throws(Failure) -> [StoredSignIn] {
        let start = RedisCursor(score: [UInt8(ascii: "0")], member: [])
        let families = try await self.members(of: Self.name("l", label), from: start, count: limit).members
        let replies = try await self.client.values(
            of: families.flatMap { family in
                [
                    RedisCommand("SMEMBERS").with(Self.name("f", family)),
                    RedisCommand("EXISTS").with(Self.name("r", family)),
                ]
            },
            inPartsOf: Self.step
        )
        let live = families.indices.filter { index in
            replies[2 * index + 1] == .integer(0) && !self.revocations.contains(families[index])
        }
        let keys = live.flatMap { index in
            (replies[2 * index]?.values ?? []).compactMap(\.bytes).prefix(Self.maxTimesOfFamily).map {
                (families[index], $0)
            }
        }
        let times = try await self.client.values(
            of: keys.map { ["c", "u", "e"].reduce(RedisCommand("HMGET").with(Self.name("s", $0.1))) { $0.with($1) } },
            inPartsOf: Self.step
        )
        return StoredSignIn.of(
            zip(keys, times).compactMap { (key, times) -> StoredSignIn? in
                let numbers = times?.values?.compactMap(\.number) ?? []
                guard numbers.count == 3 else { return nil }
                let seen = Instant(seconds: numbers[1])
                return StoredSignIn(
                    family: key.0,
                    key: key.1,
                    created: Instant(seconds: numbers[0]),
                    lastSeen: max(seen, self.uses.lastUse(of: key.1) ?? seen),
                    expires: Instant(seconds: numbers[2])
                )
            }
        )
    }

    /// Of how many records of a family the last use is read: a use of any other is one of the first as well, which is
    /// among them unless a user has opened apps on more hosts.
    private static let maxTimesOfFamily = 64

    /// Some records, by when they expire; without those that another release has written in another form.
    package func records(from cursor: [UInt8], limit: Int) async throws(Failure) -> StorePage<SessionRecord> {
        if cursor.isEmpty { try await RecordIndex(client: self.client).complete() }
        let page = try await self.members(of: RecordIndex.byExpiry, from: self.cursor(cursor), count: limit)
        let fields = try await self.client.values(of: page.members.map(Self.query), inPartsOf: Self.largeStep)
        // A record in a form that only another release reads is not shown.
        let records = zip(page.members, fields).compactMap { key, fields in
            fields.flatMap { try? self.record(key, from: $0) }
        }
        let removed = try await self.client.replies(
            to: records.map { Self.mark(of: $0.family) },
            inPartsOf: Self.step
        )
        let live = zip(records, removed).filter { $1 == .integer(0) && !self.revocations.contains($0.family) }
        return StorePage(items: live.map(\.0), next: page.next?.bytes)
    }

    /// Adds or replaces some entries.
    package func put(_ entries: [StoreEntry]) async throws(Failure) {
        let commands = entries.flatMap { entry in
            let set = RedisCommand("SET").with(Self.name(entry.kind, entry.key)).with(Self.value(of: entry))
            return [self.time(of: entry).map { set.with("PX").with($0) } ?? set, self.indexing(entry)]
        }
        _ = try await self.client.replies(to: commands, inPartsOf: Self.largeStep)
    }

    /// Adds or replaces an entry unless there is another one than was read.
    package func replace(
        _ current: StoreEntry?,
        by entry: StoreEntry,
        at now: Instant
    ) async throws(Failure) -> Bool {
        let isRemoval = current?.isPermanent ?? false && !entry.isPermanent
        let replacing = RedisScript.replaceValue.command(Self.name(entry.kind, entry.key)).with(Self.value(of: entry))
            .with(self.time(of: entry) ?? 0).with(current.map(Self.value) ?? []).with(now.seconds)
        // A key of the index without an entry is skipped.
        let replies = try await self.client.replies(to: [replacing] + (isRemoval ? [] : [self.indexing(entry)]))
        switch replies[0] {
        case .integer(0): return false
        case .integer(1):
            guard isRemoval else { return true }
            // Only now: had another gateway been first, its entry would be missing in the index.
            let removing = RedisCommand("ZREM").with(Self.index(of: entry.kind)).with(entry.key)
            _ = try await self.client.reply(to: removing)
            return true
        default: throw self.client.unexpected("SET")
        }
    }

    /// The milliseconds for which Redis keeps an entry: longer than it lasts, since the clock of the gateway that reads it may
    /// be late; nil for one that does not expire, which has no time to live, so that Redis never evicts it before others.
    private func time(of entry: StoreEntry) -> Int64? {
        guard !entry.isPermanent else { return nil }
        return (max(entry.expires.since(self.clock.now), .zero) + Self.clockMargin).wholeMilliseconds
    }

    /// Adds the key of an entry to the index of its kind, in which either all entries expire or none does.
    private func indexing(_ entry: StoreEntry) -> RedisCommand {
        let index = Self.index(of: entry.kind)
        guard let time = self.time(of: entry) else {
            return RedisScript.addPermanent.command(index).with(entry.key).with(entry.expires.seconds)
        }
        return RedisScript.addExpiring.command(index).with(entry.key).with(time)
    }

    /// The value of an entry in Redis, which ``entry(_:_:from:at:)`` reads.
    static func value(of entry: StoreEntry) -> [UInt8] {
        Array("\(entry.expires.seconds)\n".utf8) + entry.value
    }

    package func entry(
        _ kind: StoreEntry.Kind,
        _ key: [UInt8],
        at now: Instant
    ) async throws(Failure) -> StoreEntry? {
        let reply = try await self.client.reply(to: RedisCommand("GET").with(Self.name(kind, key)))
        guard reply != .null else { return nil }
        guard let entry = Self.entry(kind, key, from: reply) else {
            throw Failure(.sessionStoreDamaged, "Redis has a value that cannot be read: \(Self.name(kind, key))")
        }
        return now < entry.expires ? entry : nil
    }

    package func entries(
        _ kind: StoreEntry.Kind,
        under keys: [[UInt8]],
        at now: Instant
    ) async throws(Failure) -> [StoreEntry] {
        let values = try await self.client.values(
            of: keys.map { RedisCommand("GET").with(Self.name(kind, $0)) },
            inPartsOf: Self.largeStep
        )
        return zip(keys, values).compactMap { key, value in value.flatMap { Self.entry(kind, key, from: $0) } }.filter {
            now < $0.expires
        }
    }

    /// Some entries, by when they expire; one that is replaced meanwhile may be in two pages.
    package func entries(
        _ kind: StoreEntry.Kind,
        from cursor: [UInt8],
        limit: Int,
        at now: Instant
    ) async throws(Failure) -> StorePage<StoreEntry> {
        let page = try await self.members(of: Self.index(of: kind), from: self.cursor(cursor), count: limit)
        let items = try await self.entries(kind, under: page.members, at: now)
        return StorePage(items: items, next: page.next?.bytes)
    }

    private func cursor(_ bytes: [UInt8]) throws(Failure) -> RedisCursor {
        guard let cursor = RedisCursor(bytes: bytes) else { throw self.client.unavailable("a cursor is malformed") }
        return cursor
    }

    private func members(
        of set: String,
        from cursor: RedisCursor,
        count: Int
    ) async throws(Failure) -> (members: [[UInt8]], next: RedisCursor?) {
        let count = max(1, min(count, RedisStore.maxPage))
        let reply = try await self.client.reply(to: cursor.query(of: set, count: count))
        guard let page = RedisCursor.page(reply, count: count) else { throw self.client.unexpected("ZRANGE") }
        return page
    }
}

// MARK: Replies

extension RedisStore {
    private static func query(of key: [UInt8]) -> RedisCommand {
        ["v", "f", "c", "u", "e", "d", "l", "k"].reduce(RedisCommand("HMGET").with(self.name("s", key))) { $0.with($1) }
    }

    /// The record of a reply to ``query(of:)``, or nil.
    private func record(_ key: [UInt8], from reply: RESPValue) throws(Failure) -> SessionRecord? {
        guard let fields = reply.values, fields.count == 8 else { throw self.client.unexpected("HMGET") }
        guard fields[0] != .null else { return nil }
        guard fields[0].number == RedisStore.version else {
            throw self.client.unavailable("a session was written by a newer Gatehouse; it is kept")
        }
        guard let family = fields[1].bytes, let created = fields[2].number, let seen = fields[3].number,
            let expires = fields[4].number, let sealed = fields[5].bytes, let labels = fields[6].bytes,
            let card = fields[7].bytes
        else { throw self.client.unexpected("HMGET") }
        var lastSeen = Instant(seconds: seen)
        if let use = self.uses.lastUse(of: key) { lastSeen = max(lastSeen, use) }
        var record = SessionRecord(
            key: key,
            family: family,
            sealed: sealed,
            created: Instant(seconds: created),
            lastSeen: lastSeen,
            expires: Instant(seconds: expires)
        )
        record.labels = SessionRecord.labels(in: labels)
        record.card = card
        return record
    }

    /// The entry of a value, expired or not; nil unless it is exactly as ``value(of:)`` makes it, with which it is replaced.
    static func entry(_ kind: StoreEntry.Kind, _ key: [UInt8], from reply: RESPValue) -> StoreEntry? {
        guard let bytes = reply.bytes, let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let expires = Int64(String(decoding: bytes[..<end], as: UTF8.self)).map(Instant.init(seconds:))
        else { return nil }
        let entry = StoreEntry(kind: kind, key: key, value: Array(bytes[(end + 1)...]), expires: expires)
        return self.value(of: entry) == bytes ? entry : nil
    }
}

// MARK: Uses

extension RedisStore {
    /// Writes the noted uses.
    private func flush() async throws(Failure) {
        while true {
            let uses = self.uses.first(RedisStore.step)
            guard !uses.isEmpty else { return }
            let replies = try await self.client.values(
                of: uses.map { self.use($0.key, at: $0.at) },
                inPartsOf: Self.step
            )
            let kept = zip(uses, replies).filter { $1 == .integer(1) }.map(\.0)
            if !kept.isEmpty {
                _ = try await self.client.replies(
                    to: kept.map {
                        RedisCommand("ZADD", RecordIndex.byUse, "XX", "GT").with($0.at.seconds).with($0.key)
                    }
                )
            }
            self.uses.remove(uses)
        }
    }

    /// Records a use of a session that still exists; the record is kept until its idle time or lifetime ends.
    private func use(_ key: [UInt8], at instant: Instant) -> RedisCommand {
        let idle = self.idle.withLock { $0 }.map { ($0 + Self.idleSlack).wholeMilliseconds } ?? 0
        return RedisScript.useRecord.command(Self.name("s", key)).with(instant.seconds).with(idle)
    }

    /// The time to live of a new record: until it expires or was idle for too long.
    private func time(left: Int64) -> Int64 {
        min(left, self.idle.withLock { $0 }.map { ($0 + Self.idleSlack).wholeMilliseconds } ?? left)
    }

    /// The name of a key.
    static func name(_ kind: String, _ hash: [UInt8]) -> String {
        "gatehouse:\(kind):\(Base64URL.encode(hash))"
    }

    private static func name(_ kind: StoreEntry.Kind, _ key: [UInt8]) -> String {
        self.name("e:\(kind.rawValue)", key)
    }

    private static func index(of kind: StoreEntry.Kind) -> String { "gatehouse:n:\(kind.rawValue)" }
}
