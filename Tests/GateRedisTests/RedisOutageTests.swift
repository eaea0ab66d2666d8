// SPDX-License-Identifier: Apache-2.0

import Foundation
import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// A Redis that is full, cannot save, is read-only, demoted, stalled or evicting, and one with corrupt values: what is
/// served, and that a revocation is in force at once and stays.
@Suite struct RedisOutageTests {
    private func open(
        _ server: RedisServer,
        pending: String? = nil,
        report: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) async throws -> RedisStore {
        var settings = RedisSettings(target: .unix(path: server.socket))
        settings.beginPatiently()
        return try await RedisStore.open(settings, pending: pending, report: report)
    }

    private func name(_ record: SessionRecord) -> String { "gatehouse:s:\(Base64URL.encode(record.key))" }

    private func labeled(_ number: UInt8, family: UInt8) -> SessionRecord {
        var made = record(number, family: family)
        made.labels = [[UInt8](repeating: 100 + family, count: 32), [UInt8](repeating: 200, count: 32)]
        return made
    }

    /// Redis rejects all writes, or some of them; reads and messages go on.
    enum Failing: CaseIterable {
        case full
        case withoutReplicas
        case forbidden
        /// `MISCONF`: the last snapshot could not be written.
        case unsaved

        func begin(_ probe: RedisProbe) async throws {
            switch self {
            case .full: try probe.run("CONFIG", "SET", "maxmemory", "1")
            case .withoutReplicas: try probe.run("CONFIG", "SET", "min-replicas-to-write", "1")
            case .forbidden: try probe.run("ACL", "SETUSER", "default", "-del")
            case .unsaved:
                try probe.run("CONFIG", "SET", "save", "3600 1")
                // A folder in the place of the file.
                try FileManager.default.createDirectory(atPath: self.snapshot(probe), withIntermediateDirectories: true)
                try probe.run("BGSAVE")
                let hasFailed: Bool? = await eventually {
                    try probe.run("INFO", "persistence").contains("rdb_last_bgsave_status:err") ? true : nil
                }
                #expect(hasFailed == true)
                #expect(try probe.run("SET", "other", "1")[0].hasPrefix("MISCONF "))
            }
        }

        func end(_ probe: RedisProbe) throws {
            switch self {
            case .full: try probe.run("CONFIG", "SET", "maxmemory", "0")
            case .withoutReplicas: try probe.run("CONFIG", "SET", "min-replicas-to-write", "0")
            case .forbidden: try probe.run("ACL", "SETUSER", "default", "+del")
            case .unsaved:
                try FileManager.default.removeItem(atPath: self.snapshot(probe))
                try probe.run("SAVE")
            }
        }

        private func snapshot(_ probe: RedisProbe) throws -> String {
            "\(try probe.run("CONFIG", "GET", "dir")[1])/dump.rdb"
        }
    }

    @Test func `B-03: a Redis that is full removes a family, of which nothing is left afterwards`() async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        for number: UInt8 in 1...3 { try await store.insert(self.labeled(number, family: 5)) }
        try await store.insert(self.labeled(4, family: 6))
        try await Failing.full.begin(probe)
        try await store.removeFamily(record(1, family: 5).family)
        for number: UInt8 in 1...3 { #expect(try probe.run("EXISTS", self.name(record(number))) == ["0"]) }
        #expect(try await store.families(labeled: [UInt8](repeating: 200, count: 32)) == [record(4, family: 6).family])
        try Failing.full.end(probe)
        let other = try await self.open(server)
        #expect(try await other.record(for: record(1).key) == nil)
        #expect(try await other.record(for: record(4).key) == self.labeled(4, family: 6))
    }

    @Test(arguments: [Failing.withoutReplicas, .forbidden, .unsaved])
    func `B-03: a removal that Redis rejects is in force at all gateways at once, and is retried until it is written`(
        failing: Failing
    ) async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let events = Mutex<[StoreEvent]>([])
        let heard = Mutex(0)
        var settings = RedisSettings(target: .unix(path: server.socket))
        settings.beginPatiently()
        let other = try await RedisStore.open(settings, revoked: { _ in heard.withLock { $0 += 1 } })
        try await other.check()
        let store = try await self.open(server) { event in events.withLock { $0.append(event) } }
        let (revoked, live) = (self.labeled(1, family: 5), self.labeled(2, family: 6))
        for record in [revoked, live] { try await store.insert(record) }
        #expect(try await other.record(for: revoked.key) == revoked)
        try await failing.begin(probe)
        await #expect(throws: Failure.self) { try await store.removeFamily(revoked.family) }
        #expect(try probe.run("EXISTS", self.name(revoked)) == ["1"])
        let isHeard: Bool? = await eventually { heard.withLock { $0 } > 0 ? true : nil }
        #expect(isHeard == true)
        for gateway in [store, other] {
            #expect(try await gateway.record(for: revoked.key) == nil)
            #expect(try await gateway.families(labeled: revoked.labels[0]) == [])
            #expect(try await gateway.signIns(labeled: revoked.labels[0], limit: 10).isEmpty)
            #expect(try await gateway.record(for: live.key) == live)
            #expect(try await gateway.records(from: [], limit: 10).items == [live])
        }
        guard case .revocationPending(1, false, _)? = events.withLock({ $0.first }) else {
            Issue.record("\(events.withLock { $0 })")
            return
        }
        try failing.end(probe)
        let isWritten: Bool? = await eventually { events.withLock { $0.last } == .revocationsWritten ? true : nil }
        #expect(isWritten == true)
        #expect(try probe.run("EXISTS", self.name(revoked)) == ["0"])
        #expect(try await other.replace(revoked.key, ifSealed: revoked.sealed, by: [9], card: []) == false)
    }

    @Test(arguments: [Failing.withoutReplicas, .unsaved])
    func `B-03: a removal in the file of the gateway is done for its caller, and outlives a restart`(
        failing: Failing
    ) async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/redis-revoked"
        let revoked = record(1, family: 5)
        do {
            let store = try await self.open(server, pending: path)
            try await store.insert(revoked)
            try await failing.begin(probe)
            try await store.removeFamily(revoked.family)
            await store.close()
        }
        #expect(try probe.run("EXISTS", self.name(revoked)) == ["1"])
        let events = Mutex<[StoreEvent]>([])
        let next = try await self.open(server, pending: path) { event in events.withLock { $0.append(event) } }
        #expect(try await next.record(for: revoked.key) == nil)
        try failing.end(probe)
        let isWritten: Bool? = await eventually { events.withLock { $0.contains(.revocationsWritten) } ? true : nil }
        #expect(isWritten == true)
        #expect(try probe.run("EXISTS", self.name(revoked)) == ["0"])
    }

    @Test func `B-03: the store before a reload hands what it could not remove to the one after it`() async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/redis-revoked"
        let revoked = record(1, family: 5)
        let before = try await self.open(server, pending: path)
        try await before.insert(revoked)
        let after = try await self.open(server, pending: path)
        try await after.insert(record(2, family: 6))
        try await Failing.withoutReplicas.begin(probe)
        // Each has one of its own, by a request that has begun before the reload, and one after it.
        try await after.removeFamily(record(2, family: 6).family)
        try await before.removeFamily(revoked.family)
        await before.close()
        for number: UInt8 in 1...2 { #expect(try probe.run("EXISTS", self.name(record(number))) == ["1"]) }
        try Failing.withoutReplicas.end(probe)
        for number: UInt8 in 1...2 {
            let isWritten: Bool? = await eventually {
                try probe.run("EXISTS", self.name(record(number))) == ["0"] ? true : nil
            }
            #expect(isWritten == true)
        }
        await after.close()
    }

    @Test(arguments: ["SET", "SMEMBERS", "removeRecord", "ZREM", "DEL", "PEXPIRE"])
    func `B-03: a removal whose connection breaks at any step is in force, and is written when it holds again`(
        step: String
    ) async throws {
        let server = try RedisServer()
        let isBroken = Mutex(true)
        let proxy = try await RedisProxy(server) { name, key in
            name == step && key != "gatehouse:check" && isBroken.withLock { $0 } ? .loseReply : .pass
        }
        var settings = RedisSettings(target: .unix(path: proxy.socket))
        settings.beginPatiently()
        let events = Mutex<[StoreEvent]>([])
        let store = try await RedisStore.open(settings, report: { event in events.withLock { $0.append(event) } })
        let revoked = self.labeled(1, family: 5)
        try await store.insert(revoked)
        await #expect(throws: Failure.self) { try await store.removeFamily(revoked.family) }
        isBroken.withLock { $0 = false }
        #expect(await eventually { try await store.families(labeled: revoked.labels[0]) } == [])
        let isWritten: Bool? = await eventually { events.withLock { $0.last } == .revocationsWritten ? true : nil }
        #expect(isWritten == true)
        let keys = try RedisProbe(server).run("KEYS", "gatehouse:*").map { $0.split(separator: ":")[1] }
        #expect(Set(keys).isDisjoint(with: ["s", "f"]))
    }

    @Test(arguments: [["--replica-read-only", "yes"], ["--replica-read-only", "no"]])
    func `B-02: nothing is read from a master that has become a replica, until it is one again`(
        options: [String]
    )
        async throws
    {
        let server = try RedisServer(options)
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        try await store.insert(record(1))
        try probe.run("REPLICAOF", "127.0.0.1", "1")
        let isRejected: Bool? = await eventually {
            do throws(Failure) {
                _ = try await store.record(for: record(1).key)
                return nil
            } catch {
                return error.reason == .sessionStoreUnavailable && error.detail.contains("not a master") ? true : nil
            }
        }
        #expect(isRejected == true)
        #expect(store.fileFailure() == .readOnly)
        try probe.run("REPLICAOF", "NO", "ONE")
        let found = await eventually { try await store.record(for: record(1).key) }
        #expect(found == record(1) && store.fileFailure() == nil)
    }

    @Test func `B-02: after a write that a replica has rejected, nothing is read from it`() async throws {
        let server = try RedisServer([])
        let store = try await self.open(server)
        try await store.insert(record(1))
        try RedisProbe(server).run("REPLICAOF", "127.0.0.1", "1")
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(2)) }
        #expect(failure?.reason == .sessionStoreUnavailable)
        await #expect(throws: Failure.self) { try await store.record(for: record(1).key) }
    }

    @Test func `B-02: a user who may not ask for the role reads nothing from a replica either`() async throws {
        let server = try RedisServer(["--replicaof", "127.0.0.1", "1"])
        try RedisProbe(server).run("ACL", "SETUSER", "default", "-role")
        let store = try await self.open(server)
        let failure = await #expect(throws: Failure.self) { try await store.record(for: record(1).key) }
        #expect(failure?.detail.contains("not a master") == true)
        try RedisProbe(server).run("REPLICAOF", "NO", "ONE")
        let isBack: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isBack == true)
    }

    @Test(arguments: ["standard", "list", "hash"])
    func `B-06: a value of megabytes fails its own look-up only`(kind: String) async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        for number: UInt8 in 1...40 { try await store.insert(record(number, family: number)) }
        let entry = StoreEntry(kind: .user, key: [7], value: [1], expires: noon)
        let large = "local text = string.rep('x', 40000000)"
        switch kind {
        case "standard": try probe.run("EVAL", "\(large) redis.call('SET', KEYS[1], text)", "1", "gatehouse:e:user:Bw")
        case "list":
            let members = "for i = 1, 20000 do redis.call('SADD', KEYS[1], i) end"
            try probe.run("EVAL", members, "1", "gatehouse:f:\(Base64URL.encode(record(1, family: 1).family))")
        default: try probe.run("EVAL", "\(large) redis.call('HSET', KEYS[1], 'd', text)", "1", self.name(record(1)))
        }
        // Messages and commands.
        let before = try self.connections(probe)
        #expect(before.count == 2)
        let found = try await withThrowingTaskGroup(of: Int.self) { group in
            for round in 0..<40 {
                group.addTask {
                    switch kind {
                    case "standard":
                        await #expect(throws: Failure.self) { _ = try await store.entry(.user, entry.key, at: noon) }
                    case "list": try? await store.trimFamily(record(1, family: 1).family, to: 1, keeping: [])
                    default: await #expect(throws: Failure.self) { _ = try await store.record(for: record(1).key) }
                    }
                    let number = UInt8(2 + round % 39)
                    return try await store.record(for: record(number).key) == nil ? 0 : 1
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(found == 40)
        #expect(try self.connections(probe) == before)
    }

    /// The ids of the connections of gateways.
    private func connections(_ probe: RedisProbe) throws -> [Substring] {
        try probe.run("CLIENT", "LIST").filter { $0.contains(" name=gatehouse ") }.map { $0.split(separator: " ")[0] }
    }

    @Test func `B-06: a family whose set cannot be read ends, and a sweep passes other values`() async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        let revoked = record(1, family: 5)
        for number: UInt8 in 1...3 { try await store.insert(record(number, family: 4 + number)) }
        try probe.run("SET", "gatehouse:f:\(Base64URL.encode(revoked.family))", "corrupt")
        try await store.removeFamily(revoked.family)
        let other = try await self.open(server)
        #expect(try await other.record(for: revoked.key) == nil)
        for (number, time): (UInt8, String) in [(2, "1e400"), (3, "nan")] {
            try probe.run("HSET", self.name(record(number)), "e", time)
        }
        try probe.run("SET", self.name(record(1)), "corrupt")
        let late = noon.advanced(by: .seconds(90_000))
        #expect(try await store.removeExpired(at: late, idle: .seconds(3600)) == 3)
        #expect(try probe.run("ZCARD", "gatehouse:seen") == ["0"])
    }

    @Test func `B-06: a value in the place of a session holds up neither its family nor the uses of others`()
        async throws
    {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        for number: UInt8 in 1...3 { try await store.insert(record(number, family: number < 3 ? 5 : 6)) }
        try probe.run("SET", self.name(record(1)), "corrupt")
        let used = noon.advanced(by: .seconds(120))
        for number: UInt8 in 1...3 { store.noteUse(record(number).key, at: used) }
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        #expect(try probe.run("ZCOUNT", "gatehouse:seen", "\(used)", "\(used)") == ["2"])
        try await store.removeFamily(record(1, family: 5).family)
        #expect(try probe.run("KEYS", "gatehouse:s:*") == [self.name(record(3))])
    }

    @Test(.timeLimit(.minutes(2))) func `a sweep that changes nothing ends`() async throws {
        let server = try RedisServer()
        // Whatever is swept, the index still has it.
        let proxy = try await RedisProxy(server) { name, _ in
            name == "ZRANGE" ? .reply("*1\r\n$32\r\n\(String(repeating: "k", count: 32))\r\n") : .pass
        }
        var settings = RedisSettings(target: .unix(path: proxy.socket))
        settings.beginPatiently()
        let store = try await RedisStore.open(settings)
        #expect(try await store.removeExpired(at: noon, idle: .seconds(600)) == 0)
    }

    @Test(arguments: ["gatehouse:expires", "gatehouse:seen", "both", "both, and a sign-in after that"])
    func `B-08: sessions whose index was evicted are listed, so a revocation finds them`(evicted: String) async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        for number: UInt8 in 1...3 { try await store.insert(self.labeled(number, family: number)) }
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        for index in evicted.hasPrefix("both") ? ["gatehouse:expires", "gatehouse:seen"] : [evicted] {
            try probe.run("DEL", index)
        }
        if evicted.hasSuffix("that") { try await store.insert(self.labeled(4, family: 4)) }
        let listed = try await store.records(from: [], limit: 10).items
        #expect(Set(listed.map(\.key)).isSuperset(of: (1...3).map { record($0).key }))
        #expect(try probe.run("ZCARD", "gatehouse:seen") == ["\(listed.count)"])
        let late = noon.advanced(by: .seconds(90_000))
        #expect(try await store.removeExpired(at: late, idle: .seconds(3600)) == listed.count)
    }

    @Test(arguments: ["f", "l"])
    func `B-08: a session that Redis has evicted from an index has ended, since a revocation would not find it`(
        kind: String
    ) async throws {
        let server = try RedisServer()
        let probe = try RedisProbe(server)
        let store = try await self.open(server)
        try await store.insert(self.labeled(1, family: 1))
        try await store.insert(self.labeled(2, family: 2))
        let hash = kind == "f" ? record(1, family: 1).family : self.labeled(1, family: 1).labels[0]
        try probe.run("DEL", "gatehouse:\(kind):\(Base64URL.encode(hash))")
        #expect(try await store.record(for: record(1).key) == nil)
        #expect(try await store.record(for: record(2).key) == self.labeled(2, family: 2))
    }

    @Test func `B-08: a Redis that may evict sessions is reported`() async throws {
        for (policy, memory, expected): (String, String, StoreFileFailure?) in [
            ("allkeys-lru", "100mb", .evicting), ("volatile-ttl", "100mb", .evicting), ("noeviction", "100mb", nil),
            ("allkeys-lfu", "0", nil),
        ] {
            let server = try RedisServer(["--maxmemory-policy", policy, "--maxmemory", memory])
            let store = try await self.open(server)
            let found = try await store.servers()
            #expect(found == [RedisServerReport(evictionPolicy: policy, mayEvict: expected == .evicting)])
            #expect(store.fileFailure() == expected, "\(policy)")
        }
        let silent = try RedisServer(["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"])
        try RedisProbe(silent).run("ACL", "SETUSER", "default", "-info")
        let store = try await self.open(silent)
        #expect(try await store.servers() == [RedisServerReport(evictionPolicy: nil, mayEvict: false)])
    }
}
