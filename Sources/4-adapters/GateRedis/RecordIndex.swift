// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The two sorted sets of all records, by when they end and by their last use, from which operators' lists are read.
///
/// Redis may evict one of them. A set that is created therefore has a mark, and a list is read only after the records that
/// are missing were added: a revocation of sessions that it does not find would seem to be done.
struct RecordIndex {
    static let byExpiry = "gatehouse:expires"
    /// All records by their last use.
    static let byUse = "gatehouse:seen"
    /// Both.
    static let names = [byExpiry, byUse]
    /// The mark of a set that may lack records; its score is beyond all times.
    private static let partial = "partial"
    /// How many keys of Redis are looked at in a step.
    private static let step: Int64 = 500
    private static let prefix = Array("gatehouse:s:".utf8)

    let client: RedisClient

    /// Adds the records that are missing in a set that is marked or gone.
    func complete() async throws(Failure) { try await self.complete(ifMissing: true) }

    /// Adds the records that are missing in a set that is marked; one that is gone belongs to no session of late.
    func completeIfPartial() async throws(Failure) { try await self.complete(ifMissing: false) }

    private func complete(ifMissing: Bool) async throws(Failure) {
        let replies = try await self.client.replies(
            to: Self.names.flatMap { name in
                [RedisCommand("ZSCORE", name, Self.partial), RedisCommand("EXISTS", name)]
            }
        )
        let isPartial = replies[0] != .null || replies[2] != .null
        let isMissing = replies[1] == .integer(0) || replies[3] == .integer(0)
        guard isPartial || (isMissing && ifMissing) else { return }
        for part in 0..<(await self.client.partCount()) { try await self.addRecords(ofPart: part) }
        // A mark that cannot be removed costs another look.
        _ = await self.client.results(of: Self.names.map { RedisCommand("ZREM", $0, Self.partial) })
    }

    /// Adds the records of one of the masters.
    private func addRecords(ofPart part: Int) async throws(Failure) {
        var cursor = Array("0".utf8)
        repeat {
            let scan = RedisCommand("SCAN").with(cursor).with("MATCH").with(Self.prefix + Array("*".utf8))
                .with("COUNT").with(Self.step)
            let reply = await self.client.result(of: scan, atPart: part)
            if let failure = reply.failure { throw self.client.unavailable(failure.reason) }
            guard let values = reply.value?.values, values.count == 2, let next = values[0].bytes,
                let names = values[1].values?.compactMap(\.bytes)
            else { throw self.client.unexpected("SCAN") }
            try await self.add(names.compactMap { Base64URL.decode($0.dropFirst(Self.prefix.count)) })
            cursor = next
        } while cursor != Array("0".utf8)
    }

    /// Adds records to the sets in which they are missing; a Redis that is full accepts that there is nothing to add.
    private func add(_ keys: [[UInt8]]) async throws(Failure) {
        let queries = keys.flatMap { key in
            [RedisCommand("HMGET").with(RedisStore.name("s", key)).with("e").with("u")]
                + Self.names.map { RedisCommand("ZSCORE", $0).with(key) }
        }
        let found = try await self.client.values(of: queries, inPartsOf: RedisStore.step)
        let additions = keys.indices.flatMap { index -> [RedisCommand] in
            guard let times = found[3 * index]?.values, times.count == 2 else { return [] }
            return Self.names.indices.compactMap { set -> RedisCommand? in
                guard found[3 * index + 1 + set] == .null, let time = times[set].number else { return nil }
                return RedisCommand("ZADD", Self.names[set], "NX").with(time).with(keys[index])
            }
        }
        _ = try await self.client.replies(to: additions)
    }
}
