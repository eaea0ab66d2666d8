// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateSessions

/// Removes the records of a family from Redis: each step runs whatever has become of the others.
///
/// A Redis that is full rejects the mark of the removed family, but not the removals.
struct FamilyRemoval {
    /// How long the mark of a removed family is kept while one of its records may be left: the maximum lifetime.
    private static let maxLifetime = Duration.seconds(3650 * 86_400)
    /// How long it is kept afterwards.
    private static let markTime = Duration.seconds(30 * 86_400)

    let client: RedisClient
    let family: [UInt8]

    /// Reports the family to all gateways and removes it; returns why it may not be written, nil if it is.
    ///
    /// A mark that could not be written does not matter where nothing is left: it is for records that are added meanwhile, and
    /// the gateways that add one have received the report before.
    func run() async -> RedisFailure? {
        let report = await self.client.results(
            of: [RedisCommand("PUBLISH", RedisStore.revokedChannel).with(self.family)]
        )
        let (set, mark) = (RedisStore.name("f", self.family), RedisStore.name("r", self.family))
        let first = await self.client.results(of: [
            RedisCommand("SET").with(mark).with("1").with("PX").with(Self.maxLifetime.wholeMilliseconds),
            RedisCommand("SMEMBERS").with(set),
        ])
        let isMarked = first[0].failure == nil
        let keys = first[1].value?.values?.compactMap(\.bytes)
        // A set that cannot be read hides records, which the mark ends.
        if keys == nil, first[1].failure.map({ $0.kind != .rejected }) == true || !isMarked {
            return first[1].failure ?? first[0].failure
        }
        let removals = (keys ?? []).map { RedisStore.removal(of: $0, from: self.family) }
        let removed = await self.client.results(of: removals.flatMap(\.self), inPartsOf: RedisStore.step)
        if let failure = removed.lazy.compactMap(\.failure).first { return failure }
        let labels = Set(removed.compactMap { $0.value?.values?.last?.bytes }.flatMap { SessionRecord.labels(in: $0) })
        let rest = await self.client.results(
            of: labels.map { RedisCommand("ZREM").with(RedisStore.name("l", $0)).with(self.family) } + [
                RedisCommand("DEL").with(set),
                RedisCommand("PEXPIRE").with(mark).with(Self.markTime.wholeMilliseconds),
            ]
        )
        let failures = (report + first.prefix(1) + rest).compactMap(\.failure)
        return failures.first { $0.kind != .rejected }
    }
}
