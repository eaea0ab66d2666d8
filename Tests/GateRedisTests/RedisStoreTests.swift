// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

/// What only the store in Redis does; what all stores do is in the tests of the ports, in `GateSessionStoresTests`.
@Suite struct RedisStoreTests {
    private func open(
        _ server: RedisServer,
        _ change: (inout RedisSettings) -> Void = { _ in },
        revoked: @escaping @Sendable ([UInt8]) -> Void = { _ in },
        changed: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws -> RedisStore {
        var settings = RedisSettings(target: .unix(path: server.socket))
        settings.beginPatiently()
        change(&settings)
        return try await RedisStore.open(settings, revoked: revoked, changed: changed)
    }

    @Test func `two gateways see the same sessions, and each other's use of ids`() async throws {
        let server = try RedisServer()
        let (one, two) = (try await self.open(server), try await self.open(server))
        #expect(try await one.insert(record(1), spending: [7], until: noon))
        #expect(try await two.record(for: record(1).key) == record(1))
        #expect(try await two.insert(record(2), spending: [7], until: noon) == false)
        #expect(try await two.record(for: record(2).key) == nil)
    }

    @Test func `a revocation reaches every gateway`() async throws {
        let server = try RedisServer()
        let families = Mutex<Set<[UInt8]>>([])
        let other = try await self.open(server) { _ in
        } revoked: { family in
            families.withLock { _ = $0.insert(family) }
        }
        let own = try await self.open(server)
        try await own.insert(record(1, family: 5))
        let expected = record(1, family: 5).family
        let seen: Bool? = await eventually {
            // Repeated, since the other gateway may not have subscribed yet.
            try await own.removeFamily(expected)
            return families.withLock { $0 == [expected] } ? true : nil
        }
        #expect(seen == true)
        #expect(try await other.record(for: record(1, family: 5).key) == nil)
    }

    @Test func `a change reaches every gateway, and is not an end`() async throws {
        let server = try RedisServer()
        let changes = Mutex<Set<[UInt8]>>([])
        let ends = Mutex(0)
        let other = try await self.open(server) { _ in
        } revoked: { _ in
            ends.withLock { $0 += 1 }
        } changed: { family in
            changes.withLock { _ = $0.insert(family) }
        }
        let own = try await self.open(server)
        let expected = record(1, family: 5).family
        let seen: Bool? = await eventually {
            try await own.reportChange(ofFamily: expected)
            return changes.withLock { $0 == [expected] } ? true : nil
        }
        #expect(seen == true && ends.withLock { $0 } == 0)
        try await other.check()
    }

    @Test func `R-06: records have the stored form, so that releases that share a store read each other's`()
        async throws
    {
        let server = try RedisServer()
        let store = try await self.open(server)
        var written = record(1, family: 5)
        written.labels = [[UInt8](repeating: 9, count: 32)]
        written.card = [7]
        let name = "gatehouse:s:\(Base64URL.encode(written.key))"
        let other = try RedisProbe(server)
        try other.run(
            "HSET",
            name,
            "v",
            "1",
            "f",
            written.family,
            "c",
            "\(noon.seconds)",
            "u",
            "\(noon.seconds)",
            "e",
            "\(noon.seconds + 3600)",
            "d",
            written.sealed,
            "l",
            written.labelBytes,
            "k",
            written.card
        )
        #expect(try await store.record(for: written.key) == nil, "no index leads to it, so it was removed")
        try other.run("SADD", "gatehouse:f:\(Base64URL.encode(written.family))", written.key)
        let label = Base64URL.encode(written.labels[0])
        try other.run("ZADD", "gatehouse:l:\(label)", "\(noon.seconds + 3600)", written.family)
        #expect(try await store.record(for: written.key) == written)
        #expect(try await store.replace(written.key, ifSealed: written.sealed, by: [9], card: [8]))
        var changed = written
        (changed.sealed, changed.card) = ([9], [8])
        #expect(try await store.record(for: written.key) == changed)
        var new = record(2, family: 6)
        new.labels = [[UInt8](repeating: 9, count: 32)]
        try await store.insert(new)
        let fields = try other.run("HMGET", "gatehouse:s:\(Base64URL.encode(new.key))", "v", "e", "d")
        #expect(fields == ["1", "\(new.expires.seconds)", "\u{2}"])
    }

    @Test(arguments: ["f", "c", "u", "e", "d", "l", "k"])
    func `a record that lacks a field is a damaged one, and not the end of the session`(field: String) async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        let whole = record(1, family: 5)
        try await store.insert(whole)
        #expect(try await store.record(for: whole.key) == whole)
        try RedisProbe(server).run("HDEL", "gatehouse:s:\(Base64URL.encode(whole.key))", field)
        let failure = await #expect(throws: Failure.self) { try await store.record(for: whole.key) }
        #expect(failure?.kind == .overloaded)
    }

    @Test func `every key ends by itself`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        var labeled = record(1, family: 5)
        labeled.labels = [[UInt8](repeating: 9, count: 32)]
        #expect(try await store.insert(labeled, spending: [7], until: noon))
        try await store.insert(record(2, family: 6))
        try await store.removeFamily(record(2, family: 6).family)
        #expect(try await store.lock([1], owner: [1], at: noon, for: .seconds(60)))
        try await store.put([StoreEntry(kind: .user, key: [1], value: [2], expires: noon)])
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        let other = try RedisProbe(server)
        let keys = try other.run("KEYS", "*").filter { $0 != "gatehouse:check" }
        let kinds = Set(keys.map { $0.split(separator: ":")[1] })
        #expect(kinds == ["s", "f", "r", "l", "p", "k", "e", "n", "expires", "seen"])
        for key in keys { #expect(try #require(Int(other.run("PTTL", key)[0])) > 0, "\(key)") }
    }

    @Test func `a session that is used within the idle time does not end, although uses are rounded down`() async throws
    {
        let server = try RedisServer()
        let store = try await self.open(server)
        _ = try await store.removeExpired(at: noon, idle: .seconds(600))
        try await store.insert(record(1))
        let name = "gatehouse:s:\(Base64URL.encode(record(1).key))"
        let other = try RedisProbe(server)
        let left = try #require(Int(other.run("PTTL", name)[0]))
        #expect(left > 600_000 && left <= 660_000)
        store.noteUse(record(1).key, at: noon.advanced(by: .seconds(60)))
        _ = try await store.removeExpired(at: noon, idle: .seconds(900))
        let extended = try #require(Int(other.run("PTTL", name)[0]))
        #expect(extended > 900_000 && extended <= 960_000)
    }

    @Test func `a gateway whose clock is four minutes ahead removes no session`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        try await store.insert(record(1))
        #expect(try await store.removeExpired(at: noon.advanced(by: .seconds(3600 + 240)), idle: .seconds(3600)) == 0)
        #expect(try await store.record(for: record(1).key) != nil)
    }

    @Test func `an index that has lost a use gets it from the record, and the session stays`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        try await store.insert(record(1))
        let other = try RedisProbe(server)
        let later = noon.advanced(by: .seconds(3000))
        let name = "gatehouse:s:\(Base64URL.encode(record(1).key))"
        try other.run("HSET", name, "u", "\(later.seconds)")
        #expect(try await store.removeExpired(at: later, idle: .seconds(600)) == 0)
        #expect(try await store.record(for: record(1).key) != nil)
        #expect(try other.run("ZSCORE", "gatehouse:seen", record(1).key) == ["\(later.seconds)"])
    }

    @Test func `stale families of a label go with the next sign-in`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        let other = try RedisProbe(server)
        let name = "gatehouse:l:\(Base64URL.encode([UInt8](repeating: 9, count: 32)))"
        for number in 1...3 { try other.run("ZADD", name, "\(number)", "stale-\(number)") }
        var labeled = record(1, family: 5)
        labeled.labels = [[UInt8](repeating: 9, count: 32)]
        try await store.insert(labeled)
        #expect(try other.run("ZCARD", name) == ["1"])
    }

    @Test func `an id is freed when Redis rejects its session, unless another call has spent it`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        try await store.insert(record(1))
        let other = try RedisProbe(server)
        try other.run("ACL", "SETUSER", "default", "-zadd")
        try await #require(throws: Failure.self) {
            _ = try await store.insert(record(2), spending: [7], until: noon)
        }
        #expect(try await store.spend([7], until: noon), "freed")
        #expect(try await store.insert(record(2), spending: [7], until: noon) == false)
        #expect(try await !store.spend([7], until: noon))
    }

    @Test func `no session is added to a family that was removed`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        try await store.removeFamily(record(1, family: 5).family)
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(1, family: 5)) }
        #expect(failure?.reason == .sessionStoreUnavailable)
        #expect(try await store.record(for: record(1, family: 5).key) == nil)
    }

    @Test func `R-50: a server that is gone is an outage at once, and one that is back is used again`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        try await store.insert(record(1))
        server.stop()
        let failure = await #expect(throws: Failure.self) { try await store.record(for: record(1).key) }
        #expect(failure?.reason == .sessionStoreUnavailable && failure?.kind == .overloaded)
        try server.restart()
        let isBack: Bool? = await eventually {
            try await store.check()
            return true
        }
        #expect(isBack == true)
        try await store.insert(record(2))
        #expect(try await store.record(for: record(2).key) == record(2))
    }

    @Test func `R-50: a server that does not reply is an outage in time, and no late reply is mistaken`()
        async throws
    {
        let server = try RedisServer()
        let store = try await self.open(server) { ($0.commandTime, $0.connectTime) = (.seconds(2), .seconds(2)) }
        try await store.insert(record(1))
        try await store.insert(record(2))
        server.suspend()
        let began = ContinuousClock.now
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.reason == .sessionStoreUnavailable)
        // Not for ever: the other tests of this process share its threads, so the wait can be far longer than two seconds.
        #expect(ContinuousClock.now - began < .seconds(120))
        // Asked on the connection whose server will reply to all of it later.
        async let lost = try? store.record(for: record(1).key)
        server.resume()
        _ = await lost
        let found = await eventually { try await store.record(for: record(2).key) }
        #expect(found == record(2))
    }

    @Test func `R-50: a command whose connection breaks is sent once more on a new one`() async throws {
        let server = try RedisServer()
        let store = try await self.open(server)
        for number: UInt8 in 1...2 { try await store.insert(record(number, family: number)) }
        let other = try RedisProbe(server)
        try other.run("CLIENT", "PAUSE", "600000", "WRITE")
        async let removed: Void = store.remove(record(1).key)
        async let ended: Void = store.removeFamily(record(2, family: 2).family)
        let isWaiting: Bool? = await eventually {
            try other.run("INFO", "clients").contains("blocked_clients:1") ? true : nil
        }
        #expect(isWaiting == true)
        #expect(try other.run("CLIENT", "KILL", "TYPE", "pubsub") == ["1"])
        try other.run("CLIENT", "UNPAUSE")
        _ = try await (removed, ended)
        for number: UInt8 in 1...2 { #expect(try await store.record(for: record(number).key) == nil) }
    }

    @Test func `R-52: a replica or a full server is an outage for writes`() async throws {
        for options in [["--replicaof", "127.0.0.1", "1"], ["--maxmemory", "1"]] {
            let server = try RedisServer(options)
            let store = try await self.open(server)
            let failure = await #expect(throws: Failure.self, "\(options)") { try await store.insert(record(1)) }
            #expect(failure?.reason == .sessionStoreUnavailable)
            await #expect(throws: Failure.self, "\(options)") { try await store.check() }
        }
    }

    @Test func `a user and a password are sent, and the database is chosen`() async throws {
        let server = try RedisServer([
            "--user", "gate", "on", ">secret", "~gatehouse:*", "&gatehouse:*", "+@all", "-@admin", "-@dangerous",
            "--user",
            "default", "off",
        ])
        let store = try await self.open(server) { settings in
            settings.credentials = .init(user: "gate", password: Secret(text: "secret"))
            settings.database = 3
        }
        try await store.insert(record(1))
        let same = try await self.open(server) { settings in
            settings.credentials = .init(user: "gate", password: Secret(text: "secret"))
        }
        #expect(try await same.record(for: record(1).key) == nil)
        #expect(try await store.record(for: record(1).key) == record(1))
    }

    @Test func `a user who may not subscribe gets no connection, so no reply reaches another command`() async throws {
        let server = try RedisServer([
            "--user", "gate", "on", ">secret", "~gatehouse:*", "resetchannels", "+@all", "--user", "default", "off",
        ])
        let store = try await self.open(server) {
            $0.credentials = .init(user: "gate", password: Secret(text: "secret"))
        }
        let failures = await withTaskGroup(of: Failure?.self) { group in
            for number: UInt8 in 1...50 {
                group.addTask {
                    do throws(Failure) {
                        _ = try await store.spend([number], until: noon)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(failures.count == 50 && failures.allSatisfy { $0?.reason == .sessionStoreUnavailable })
        #expect(failures.contains { $0?.detail.contains("NOPERM") == true })
    }

    @Test func `a wrong password is named, and not shown`() async throws {
        let server = try RedisServer(["--requirepass", "right"])
        let store = try await self.open(server) {
            $0.credentials = .init(user: nil, password: Secret(text: "wrong-one"))
        }
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.detail.contains("WRONGPASS") == true)
        #expect(failure?.detail.contains("wrong-one") == false)
    }
}
