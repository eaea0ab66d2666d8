// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateRedis
import GateSessions
import GateTestSupport
import Synchronization
import Testing

private let noon = Instant(seconds: 1_800_000_000)

private func record(_ number: UInt8, family: UInt8 = 0) -> SessionRecord {
    SessionRecord(
        key: [UInt8](repeating: number, count: 32),
        family: [UInt8](repeating: family, count: 32),
        sealed: [number],
        created: noon,
        lastSeen: noon,
        expires: noon.advanced(by: .seconds(3600))
    )
}

/// Repeats a call until it returns a value; a test that hangs is ended by the time limit of the run.
private func eventually<Value>(_ body: () async throws -> Value?) async -> Value? {
    let end = ContinuousClock.now + .seconds(20)
    while ContinuousClock.now < end {
        if let value = try? await body() { return value }
        await Task.yield()
    }
    return nil
}

/// What only the store in Redis does; what all stores do is in `SessionStoreTests`.
@Suite struct RedisStoreTests {
    private func open(
        _ server: RedisServer,
        _ change: (inout RedisSettings) -> Void = { _ in },
        revoked: @escaping @Sendable ([UInt8]) -> Void = { _ in }
    ) async throws -> RedisStore {
        var settings = RedisSettings(target: .unix(path: server.socket))
        // Longer than a busy machine delays a test.
        (settings.commandTime, settings.connectTime) = (.seconds(60), .seconds(60))
        change(&settings)
        return try await RedisStore.open(settings, revoked: revoked)
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
        let store = try await self.open(server) { $0.commandTime = .seconds(2) }
        try await store.insert(record(1))
        try await store.insert(record(2))
        server.suspend()
        let began = ContinuousClock.now
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.reason == .sessionStoreUnavailable)
        #expect(ContinuousClock.now - began < .seconds(20))
        // Asked on the connection whose server will reply to all of it later.
        async let lost = try? store.record(for: record(1).key)
        server.resume()
        _ = await lost
        let found = await eventually { try await store.record(for: record(2).key) }
        #expect(found == record(2))
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
            (settings.user, settings.password, settings.database) = ("gate", Secret(text: "secret"), 3)
        }
        try await store.insert(record(1))
        let same = try await self.open(server) { settings in
            (settings.user, settings.password) = ("gate", Secret(text: "secret"))
        }
        #expect(try await same.record(for: record(1).key) == nil)
        #expect(try await store.record(for: record(1).key) == record(1))
    }

    @Test func `a user who may not subscribe gets no connection, so no reply reaches another command`() async throws {
        let server = try RedisServer([
            "--user", "gate", "on", ">secret", "~gatehouse:*", "resetchannels", "+@all", "--user", "default", "off",
        ])
        let store = try await self.open(server) { ($0.user, $0.password) = ("gate", Secret(text: "secret")) }
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
        let store = try await self.open(server) { $0.password = Secret(text: "wrong-one") }
        let failure = await #expect(throws: Failure.self) { try await store.check() }
        #expect(failure?.detail.contains("WRONGPASS") == true)
        #expect(failure?.detail.contains("wrong-one") == false)
    }
}
