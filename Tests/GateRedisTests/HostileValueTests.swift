// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateSessions
import GateTestSupport
import Testing

@testable import GateRedis

/// B-05: what something else has written under the keys of the gateway.
@Suite struct HostileValueTests {
    private let server: RedisServer
    private let probe: RedisProbe

    init() throws {
        self.server = try RedisServer()
        self.probe = try RedisProbe(self.server)
    }

    private func store() async throws -> RedisStore {
        var settings = RedisSettings(target: .unix(path: self.server.socket))
        settings.beginPatiently()
        return try await RedisStore.open(settings, clock: .fixed(noon))
    }

    private func manager(_ store: RedisStore) -> SessionManager {
        SessionManager(
            store: store,
            sealer: Sealer([Secret([UInt8](repeating: 7, count: 32))]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(28_800)),
            feed: RevocationFeed()
        )
    }

    @Test func `B-05: a user with any text as the time of a revocation can be revoked and signs in again`() async throws
    {
        let store = try await self.store()
        let host = "gate.example.com"
        let profile = Profile(provider: "staff", issuer: "https://id.example.com", subject: "ada")
        try await self.manager(store).setNotBefore(noon.advanced(by: .seconds(-10)), user: profile.user, now: noon)
        let names = try self.probe.run("KEYS", "gatehouse:e:not_before:*").sorted()
        #expect(names.count == 2)
        for text in HostileNumbers.few + ["9223372036854775807\n1", "-9223372036854775808\n", "1800000601", "\n\n\n"] {
            for value in [text, "\(noon.seconds + 600)\n\(text)"] {
                // That of the user and that of the latest of all users.
                try self.probe.run("MSET", names[0], value, names[1], value)
                let issued = try await self.manager(store).issue(SignIn(profile: profile), host: host, now: noon)
                _ = try? await self.manager(store).session(for: issued.ticket, host: host, now: noon)
                let manager = self.manager(store)
                try await manager.setNotBefore(noon.advanced(by: .seconds(1)), user: profile.user, now: noon)
                #expect(try await manager.session(for: issued.ticket, host: host, now: noon) == nil, "\(value)")
                let later = noon.advanced(by: .seconds(2))
                let again = try await manager.issue(SignIn(profile: profile), host: host, now: later)
                #expect(try await manager.session(for: again.ticket, host: host, now: later) != nil, "\(value)")
            }
        }
        await store.close()
    }

    @Test(arguments: [
        "9223372036854775807\n1", "+1800000600\n1", " 1800000600\n1", "01800000600\n1", "1800000600", "x\n1", "",
    ])
    func `B-05: an entry that no gateway has written is a failure, in a list it is left out`(value: String) async throws
    {
        let store = try await self.store()
        let entries = (UInt8(1)...3).map { number in
            StoreEntry(
                kind: .user,
                key: [UInt8](repeating: number, count: 32),
                value: [number],
                expires: noon.advanced(by: .seconds(600))
            )
        }
        try await store.put(entries)
        try self.probe.run("SET", "gatehouse:e:user:\(Base64URL.encode(entries[1].key))", value)
        let failure = await #expect(throws: Failure.self) {
            try await store.entry(.user, entries[1].key, at: noon)
        }
        #expect(failure?.reason == .sessionStoreDamaged)
        #expect(try await store.entry(.user, entries[0].key, at: noon) == entries[0])
        let found = try await store.entries(.user, under: entries.map(\.key), at: noon)
        #expect(found == [entries[0], entries[2]])
        #expect(try await Set(store.entries(.user, from: [], limit: 10, at: noon).items) == [entries[0], entries[2]])
        try await store.put([entries[1]])
        #expect(try await store.entry(.user, entries[1].key, at: noon) == entries[1])
        await store.close()
    }

    @Test(arguments: ["c", "u", "e", "f", "d", "l", "k"])
    func `B-05: a session with any text in a field takes nothing from the others`(field: String) async throws {
        let store = try await self.store()
        let label = [UInt8](repeating: 9, count: 32)
        for number in UInt8(1)...3 {
            var labeled = record(number, family: number)
            labeled.labels = [label]
            try await store.insert(labeled)
        }
        let lifetimes = SessionLifetimes(idle: .seconds(3600), absolute: .seconds(28_800))
        let name = "gatehouse:s:\(Base64URL.encode(record(2).key))"
        for text in HostileNumbers.few {
            try self.probe.run("HSET", name, field, text)
            if let found = try? await store.record(for: record(2).key) {
                _ = lifetimes.remaining(found, at: noon)
                _ = found.labelBytes
            }
            #expect(try await store.record(for: record(1).key)?.sealed == [1])
            let families = try await store.families(labeled: label)
            #expect(families.isSuperset(of: [record(1, family: 1).family, record(3, family: 3).family]))
            let signIns = try await store.signIns(labeled: label, limit: 10)
            #expect(
                Set(signIns.map(\.family)).isSuperset(of: [record(1, family: 1).family, record(3, family: 3).family])
            )
            let page = try await store.records(from: [], limit: 10)
            #expect(Set(page.items.map(\.key)).isSuperset(of: [record(1).key, record(3).key]))
            _ = try await store.count(at: noon, within: lifetimes)
            try await store.trimFamily(record(2, family: 2).family, to: 10, keeping: [])
        }
        _ = try await store.removeExpired(at: noon, idle: .seconds(3600))
        for number in UInt8(1)...3 { try await store.removeFamily(record(number, family: number).family) }
        #expect(try await store.record(for: record(1).key) == nil)
        #expect(try await store.record(for: record(3).key) == nil)
        await store.close()
    }
}
