// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import Testing

@testable import GateServer
@testable import GateSessions

/// The counters around a store; that it behaves as the store in it is tested with the contract of all stores.
@Suite struct MeteredStoreTests {
    private let now = Instant(seconds: 1_800_000_000)
    private let within = SwitchedStore()

    private var metered: MeteredStore {
        MeteredStore(self.within, tracer: nil, availability: StoreAvailability { _ in })
    }

    private func entry(_ number: Int) -> StoreEntry {
        let key = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 32)
        return StoreEntry(kind: .user, key: key, value: [1], expires: self.now.advanced(by: .seconds(600)))
    }

    @Test func `B-09: a hundred entries are read and written with one call each`() async throws {
        let entries = (0..<100).map(self.entry)
        try await self.metered.put(entries)
        let found = try await self.metered.entries(.user, under: entries.map(\.key), at: self.now)
        #expect(Set(found) == Set(entries))
        #expect(self.within.calls == ["put", "entries"])
    }

    @Test func `B-09: the users of many sign-ins cost the store two calls`() async throws {
        let manager = SessionManager(
            store: self.metered,
            sealer: Sealer([Secret([UInt8](repeating: 7, count: 32))]),
            lifetimes: SessionLifetimes(idle: .seconds(3600), absolute: .seconds(28_800)),
            feed: RevocationFeed()
        )
        for number in 0..<80 {
            let profile = Profile(provider: "staff", issuer: "https://id.example.com", subject: "user-\(number)")
            manager.register.note(profile, at: self.now)
        }
        await manager.register.write()
        #expect(self.within.calls == ["entries", "put"])
        let page = try await manager.users(from: [], limit: 100, now: self.now)
        #expect(page.items.count == 80)
    }
}
