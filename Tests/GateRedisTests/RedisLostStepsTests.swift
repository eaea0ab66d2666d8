// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// Each check of the store by itself, where another one would hide that it is missing.
@Suite struct RedisLostStepsTests {
    private func open(_ path: String) async throws -> RedisStore {
        var settings = RedisSettings(target: .unix(path: path))
        settings.beginPatiently()
        return try await RedisStore.open(settings)
    }

    private func name(_ kind: String, _ hash: [UInt8]) -> String { "gatehouse:\(kind):\(Base64URL.encode(hash))" }

    /// A server with a record of which another gateway has written the mark of the removed family, and no more.
    private func marked() async throws -> (server: RedisServer, store: RedisStore, record: SessionRecord) {
        let server = try RedisServer()
        let store = try await self.open(server.socket)
        var made = record(1, family: 5)
        made.labels = [[UInt8](repeating: 9, count: 32)]
        try await store.insert(made)
        try RedisProbe(server).run("SET", self.name("r", made.family), "1")
        return (server, store, made)
    }

    @Test func `Q-27: a removal that ended after its mark is in force for look-ups, lists and replacements`()
        async throws
    {
        let (server, store, made) = try await self.marked()
        #expect(try RedisProbe(server).run("EXISTS", self.name("s", made.key)) == ["1"])
        #expect(try await store.record(for: made.key) == nil)
        #expect(try await store.replace(made.key, ifSealed: made.sealed, by: [9], card: []) == false)
        #expect(try await store.families(labeled: made.labels[0]) == [])
        #expect(try await store.signIns(labeled: made.labels[0], limit: 10).isEmpty)
        #expect(try await store.records(from: [], limit: 10).items.isEmpty)
    }

    @Test func `Q-27: a record of a family with a mark is not left in Redis`() async throws {
        let (server, store, made) = try await self.marked()
        var next = record(2, family: 5)
        next.labels = made.labels
        await #expect(throws: Failure.self) { try await store.insert(next) }
        await #expect(throws: Failure.self) { _ = try await store.insert(next, spending: [7], until: noon) }
        let probe = try RedisProbe(server)
        #expect(try probe.run("EXISTS", self.name("s", next.key)) == ["0"])
        #expect(try probe.run("ZSCORE", "gatehouse:expires", next.key) == [""])
        #expect(try await store.spend([7], until: noon), "Redis has rejected the record, so its id is free")
    }

    @Test func `Q-27: a replacement of a record that is gone or was replaced changes nothing`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server.socket)
        try await store.insert(record(1, family: 5))
        #expect(try await store.replace(record(2).key, ifSealed: [2], by: [9], card: []) == false)
        #expect(try await store.replace(record(1).key, ifSealed: [8], by: [9], card: []) == false)
        #expect(try await store.record(for: record(1).key)?.sealed == record(1).sealed)
    }

    @Test(arguments: [RedisProxy.Action.lose, .loseReply])
    func `Q-27: an id stays used if the reply to its record is lost, since the record may exist`(
        action: RedisProxy.Action
    )
        async throws
    {
        let server = try RedisServer()
        let proxy = try await RedisProxy(server) { name, _ in name == "addRecord" ? action : .pass }
        let store = try await self.open(proxy.socket)
        await #expect(throws: Failure.self) { _ = try await store.insert(record(1), spending: [7], until: noon) }
        let other = try await self.open(server.socket)
        #expect(try await other.spend([7], until: noon) == false)
        #expect(try await other.insert(record(2), spending: [7], until: noon) == false)
        #expect(try await other.record(for: record(2).key) == nil)
    }

    @Test func `Q-27: an id whose claim has lost its reply is used once`() async throws {
        let server = try RedisServer()
        let losses = Mutex(1)
        let proxy = try await RedisProxy(server) { name, _ in
            guard name == "claim" else { return .pass }
            return losses.withLock { left in
                defer { left -= 1 }
                return left > 0 ? .loseReply : .pass
            }
        }
        let store = try await self.open(proxy.socket)
        #expect(try await store.spend([7], until: noon), "the same call, sent once more")
        #expect(try await store.spend([7], until: noon) == false)
    }

    @Test func `Q-27: a kept record is never trimmed, the oldest one or one that is not written yet`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server.socket)
        for number: UInt8 in 1...4 {
            var made = record(number, family: 5)
            made.lastSeen = noon.advanced(by: .seconds(Int64(number)))
            try await store.insert(made)
        }
        let set = self.name("f", record(1, family: 5).family)
        try RedisProbe(server).run("SADD", set, record(9).key)
        try await store.trimFamily(record(1, family: 5).family, to: 2, keeping: [record(1).key, record(9).key])
        for (number, isLeft): (UInt8, Bool) in [(1, true), (2, false), (3, false), (4, true)] {
            #expect(try await (store.record(for: record(number).key) != nil) == isLeft, "\(number)")
        }
        #expect(try RedisProbe(server).run("SISMEMBER", set, record(9).key) == ["1"])
    }

    @Test func `Q-27: an older use overwrites no newer one, in the record and in the index`() async throws {
        let server = try RedisServer()
        let (one, two) = (try await self.open(server.socket), try await self.open(server.socket))
        try await one.insert(record(1))
        let (early, late) = (noon.advanced(by: .seconds(60)), noon.advanced(by: .seconds(120)))
        one.noteUse(record(1).key, at: late)
        await one.close()
        two.noteUse(record(1).key, at: early)
        await two.close()
        let three = try await self.open(server.socket)
        #expect(try await three.record(for: record(1).key)?.lastSeen == late)
        #expect(try RedisProbe(server).run("ZSCORE", "gatehouse:seen", record(1).key) == ["\(late.seconds)"])
    }

    @Test func `a page is found without a write, also after a member that was removed`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server.socket)
        for number: UInt8 in 1...60 { try await store.insert(record(number, family: number)) }
        let probe = try RedisProbe(server)
        try probe.run("CONFIG", "SET", "maxmemory", "1")
        var found: [[UInt8]] = []
        var cursor: [UInt8]? = []
        while let from = cursor {
            let page = try await store.records(from: from, limit: 7)
            found += page.items.map(\.key)
            // What the next page begins after.
            if let last = page.items.last { try await store.remove(last.key) }
            cursor = page.next
        }
        #expect(found.sorted { $0.lexicographicallyPrecedes($1) } == (1...60).map { record($0).key })
    }
}
