// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// Real sentinels and a real cluster, in which a server is killed.
@Suite(.serialized) struct RedisFailoverTests {
    private func open(
        _ settings: RedisSettings,
        revoked: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws -> RedisStore {
        var settings = settings
        (settings.commandTime, settings.connectTime) = (.seconds(3), .seconds(3))
        return try await RedisStore.open(settings, revoked: revoked)
    }

    @Test func `R-52: the sentinels name the master, and after a fail-over the next one`() async throws {
        let group = try SentinelGroup()
        try await group.ready()
        let families = Mutex<Set<[UInt8]>>([])
        let store = try await self.open(group.settings()) { family in families.withLock { _ = $0.insert(family) } }
        try await store.insert(record(1, family: 1))
        #expect(try RedisProbe(group.master).run("DBSIZE") != ["0"])
        let isCopied: Bool? = await eventually {
            try await store.check()
            return try RedisProbe(group.replica).run("EXISTS", sessionKey(1)) == ["1"] ? true : nil
        }
        #expect(isCopied == true)
        group.master.stop()
        do {
            try await store.check()
        } catch {
            // Where the sentinels are quick, the next master responds already.
            #expect(error.reason == .sessionStoreUnavailable)
        }
        let isBack: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isBack == true)
        #expect(try await store.record(for: record(1).key) == record(1, family: 1))
        try await store.removeFamily(record(1, family: 1).family)
        let isHeard: Bool? = await eventually { families.withLock { $0 == [record(1, family: 1).family] } ? true : nil }
        #expect(isHeard == true)
        #expect(try RedisProbe(group.replica).run("ROLE")[0] == "master")
    }

    @Test func `a planned fail-over ends no session, and the former master is not used`() async throws {
        let group = try SentinelGroup()
        try await group.ready()
        let store = try await self.open(group.settings())
        try await store.insert(record(1))
        // The replica has it before it becomes the master.
        let isCopied: Bool? = await eventually {
            try RedisProbe(group.replica).run("EXISTS", sessionKey(1)) == ["1"] ? true : nil
        }
        #expect(isCopied == true)
        var number: UInt8 = 1
        let isMoved: Bool? = await eventually {
            // Again if a sentinel has found no replica that responds fast enough.
            try RedisProbe(group.sentinels[0]).run("SENTINEL", "FAILOVER", "main")
            #expect(try await store.record(for: record(1).key) == record(1))
            number &+= 1
            let entry = StoreEntry(kind: .user, key: [number], value: [1], expires: StoreEntry.never)
            try await store.put([entry])
            return try RedisProbe(group.replica).run("ROLE")[0] == "master" ? true : nil
        }
        #expect(isMoved == true)
        let isUsed: Bool? = await eventually {
            try await store.remove(record(200).key)
            try await store.insert(record(200))
            return try RedisProbe(group.replica).run("EXISTS", sessionKey(200)) == ["1"] ? true : nil
        }
        #expect(isUsed == true)
    }

    @Test func `a gateway finds the master although a sentinel is gone, and names a master that is unknown`()
        async throws
    {
        let group = try SentinelGroup()
        try await group.ready()
        group.sentinels[0].stop()
        let store = try await self.open(group.settings())
        let isThere: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isThere == true)
        var settings = try group.settings()
        settings.servers = .sentinels(try group.sentinels.dropFirst().map { try target($0) }, master: "other")
        let other = try await self.open(settings)
        let failure = await #expect(throws: Failure.self) { try await other.check() }
        #expect(failure?.detail.contains("'other'") == true)
    }

    @Test func `a sentinel that names a replica is not trusted`() async throws {
        let server = try RedisServer(["--replicaof", "127.0.0.1", "1"], hasPort: true)
        let port = try #require(server.port)
        let sentinel = try RedisServer(hasPort: true, sentinel: "sentinel monitor main 127.0.0.1 \(port) 2\n")
        let store = try await self.open(RedisSettings(.sentinels([try target(sentinel)], master: "main")))
        let failure = await #expect(throws: Failure.self) { try await store.record(for: record(1).key) }
        #expect(failure?.detail.contains("not a master") == true)
    }

    @Test func `sessions are spread over a cluster, and a message reaches all gateways`() async throws {
        let group = try await ClusterGroup()
        let families = Mutex<Set<[UInt8]>>([])
        let other = try await self.open(group.settings()) { family in families.withLock { _ = $0.insert(family) } }
        let store = try await self.open(group.settings())
        try await other.check()
        for number: UInt8 in 1...30 { try await store.insert(record(number, family: number)) }
        for server in group.masters { #expect(try RedisProbe(server).run("DBSIZE") != ["0"]) }
        for number: UInt8 in 1...30 {
            #expect(try await other.record(for: record(number).key) == record(number, family: number))
        }
        #expect(try await store.records(from: [], limit: 100).items.count == 30)
        let ended = record(7, family: 7).family
        let isHeard: Bool? = await eventually {
            try await store.removeFamily(ended)
            return families.withLock { $0 == [ended] } ? true : nil
        }
        #expect(isHeard == true)
        #expect(try await other.record(for: record(7).key) == nil)
    }

    @Test func `a slot that moves to another node is followed, and so is a key on its way`() async throws {
        let group = try await ClusterGroup()
        let store = try await self.open(group.settings())
        for number: UInt8 in 1...5 { try await store.insert(record(number)) }
        let key = sessionKey(1)
        let source = try group.master(of: key)
        let destination = (source + 1) % 3
        let (from, to) = (try RedisProbe(group.masters[source]), try RedisProbe(group.masters[destination]))
        let slot = try from.run("CLUSTER", "KEYSLOT", key)[0]
        let (old, new) = (try from.run("CLUSTER", "MYID")[0], try to.run("CLUSTER", "MYID")[0])
        try to.run("CLUSTER", "SETSLOT", slot, "IMPORTING", old)
        try from.run("CLUSTER", "SETSLOT", slot, "MIGRATING", new)
        let port = try #require(group.masters[destination].port)
        for moving in try from.run("CLUSTER", "GETKEYSINSLOT", slot, "1000") {
            try from.run("MIGRATE", "127.0.0.1", "\(port)", moving, "0", "5000")
        }
        // ASK: the key is there already, the slot is not.
        #expect(try await store.record(for: record(1).key) == record(1))
        #expect(try await store.replace(record(1).key, ifSealed: record(1).sealed, by: [9], card: []))
        for probe in [to, from] { try probe.run("CLUSTER", "SETSLOT", slot, "NODE", new) }
        // MOVED: the slot is there now.
        #expect(try await store.record(for: record(1).key)?.sealed == [9])
        #expect(try await store.replace(record(1).key, ifSealed: [9], by: [8], card: []))
        #expect(try to.run("HGET", key, "d") == ["\u{8}"])
    }

    @Test func `R-52: a master of a cluster that is gone is an outage for its sessions until its replica takes over`()
        async throws
    {
        let group = try await ClusterGroup()
        let families = Mutex<Set<[UInt8]>>([])
        let store = try await self.open(group.settings()) { family in families.withLock { _ = $0.insert(family) } }
        let numbers = (1...40).map { UInt8($0) }
        for number in numbers { try await store.insert(record(number, family: number)) }
        let lost = try numbers.filter { try group.master(of: sessionKey($0)) == 0 }
        #expect(lost.count > 3)
        let isCopied: Bool? = await eventually {
            let probe = try RedisProbe(group.replica)
            return try probe.run("DBSIZE") == RedisProbe(group.masters[0]).run("DBSIZE") ? true : nil
        }
        #expect(isCopied == true)
        group.masters[0].stop()
        let failure = await #expect(throws: Failure.self) { try await store.record(for: record(lost[0]).key) }
        #expect(failure?.reason == .sessionStoreUnavailable)
        for number in numbers {
            let found = await eventually { try await store.record(for: record(number).key) }
            #expect(found == record(number, family: number))
        }
        let ended = record(1, family: 1).family
        let isHeard: Bool? = await eventually {
            try await store.removeFamily(ended)
            return families.withLock { $0 == [ended] } ? true : nil
        }
        #expect(isHeard == true)
    }

    @Test func `B-07: a cluster in which each slot is a range of its own is used`() async throws {
        let group = try await ClusterGroup(isInterleaved: true)
        let store = try await self.open(group.settings())
        let isReady: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isReady == true)
        for number: UInt8 in 1...30 { try await store.insert(record(number, family: number)) }
        for server in group.masters { #expect(try RedisProbe(server).run("DBSIZE") != ["0"]) }
        for number: UInt8 in 1...30 {
            #expect(try await store.record(for: record(number).key) == record(number, family: number))
        }
    }

    /// What docs/sessions.md gives to the user of a gateway.
    private static let rules = ["~gatehouse:*", "&gatehouse:*", "+@all", "-@admin", "-@dangerous", "+role", "+info"]

    private func user(_ servers: [RedisServer], without missing: String? = nil) throws -> RedisSettings.Credentials {
        let rules = Self.rules.filter { $0 != missing }
        let words = ["ACL", "SETUSER", "gate", "on", ">secret"] + rules
        for server in servers { try RedisProbe(server).run(words) }
        return .init(user: "gate", password: Secret(text: "secret"))
    }

    /// All that a gateway does with a store.
    private func useAll(of store: RedisStore) async throws {
        var made = record(1, family: 1)
        made.labels = [[UInt8](repeating: 9, count: 32)]
        let isThere: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isThere == true)
        #expect(try await store.insert(made, spending: [7], until: noon))
        #expect(try await store.replace(made.key, ifSealed: made.sealed, by: [9], card: [1]))
        #expect(try await store.record(for: made.key)?.sealed == [9])
        #expect(try await store.families(labeled: made.labels[0]) == [made.family])
        #expect(try await store.signIns(labeled: made.labels[0], limit: 5).count == 1)
        #expect(try await store.records(from: [], limit: 5).items.count == 1)
        try await store.trimFamily(made.family, to: 1, keeping: [])
        try await store.reportChange(ofFamily: made.family)
        #expect(try await store.lock([1], owner: [1], at: noon, for: .seconds(5)))
        try await store.unlock([1], owner: [1])
        let entry = StoreEntry(kind: .user, key: [1], value: [1], expires: StoreEntry.never)
        #expect(try await store.replace(nil, by: entry, at: noon))
        #expect(try await store.entries(.user, from: [], limit: 5, at: noon).items == [entry])
        #expect(try await store.removeExpired(at: noon, idle: .seconds(3600)) == 0)
        #expect(try await store.servers().allSatisfy { $0.evictionPolicy == "noeviction" })
        try await store.removeFamily(made.family)
        #expect(try await store.record(for: made.key) == nil)
    }

    @Test func `B-04: the user of the documents may do all that a gateway does, on one server`() async throws {
        let server = try RedisServer()
        var settings = RedisSettings(target: .unix(path: server.socket))
        settings.credentials = try self.user([server])
        try await self.useAll(of: self.open(settings))
    }

    @Test func `B-04: the user of the documents may do all that a gateway does, with sentinels`() async throws {
        let group = try SentinelGroup()
        try await group.ready()
        var settings = try group.settings()
        settings.credentials = try self.user([group.master, group.replica])
        try await self.useAll(of: self.open(settings))
        settings.credentials = try self.user([group.master, group.replica], without: "+role")
        for server in [group.master, group.replica] { try RedisProbe(server).run("ACL", "SETUSER", "gate", "-role") }
        let store = try await self.open(settings)
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.detail.contains("'+role'") == true)
    }

    @Test func `B-04: the user of the documents may do all that a gateway does, in a cluster`() async throws {
        let group = try await ClusterGroup()
        var settings = try group.settings()
        settings.credentials = try self.user(group.masters + [group.replica])
        try await self.useAll(of: self.open(settings))
    }

    @Test func `a server outside a cluster is named as the reason`() async throws {
        let server = try RedisServer(hasPort: true)
        let store = try await self.open(RedisSettings(.cluster([try target(server)])))
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.detail.contains("cluster support disabled") == true)
    }
}

/// The key in Redis of a record.
private func sessionKey(_ number: UInt8) -> String { "gatehouse:s:\(Base64URL.encode(record(number).key))" }
