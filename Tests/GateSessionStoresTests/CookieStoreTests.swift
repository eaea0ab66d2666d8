// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessionStores
import GateSessions
import Testing

/// What only the store of gateways without sessions does.
@Suite struct CookieStoreTests {
    private let store = CookieStore()

    @Test func `it keeps no sessions, and all other stores do`() async throws {
        #expect(!self.store.keepsSessions)
        for kind in StoreKind.keepingSessions { #expect(try await OpenStore(kind).store.keepsSessions) }
    }

    @Test func `nothing seems to be listed, counted, found, changed or revoked that is not`() async throws {
        let entry = StoreEntry(kind: .notBefore, key: [1], value: [1], expires: noon.plus(60))
        let calls: [(CookieStore) async throws -> Void] = [
            { _ = try await $0.records(from: [], limit: 10) },
            { _ = try await $0.count(at: noon, within: SessionLifetimes(idle: .seconds(60), absolute: .seconds(60))) },
            { _ = try await $0.families(labeled: [1]) },
            { _ = try await $0.entries(.notBefore, from: [], limit: 10, at: noon) },
            { try await $0.put([entry]) },
            { try await $0.removeFamily([1]) },
            { _ = try await $0.replace([1], ifSealed: [2], by: [3], card: []) },
            { _ = try await $0.replace(nil, by: entry, at: noon) },
            { try await $0.insert(record(1)) },
            { _ = try await $0.insert(record(1), spending: [9], until: noon.plus(60)) },
        ]
        for call in calls {
            let failure = await #expect(throws: Failure.self) { try await call(self.store) }
            #expect(failure?.reason == .sessionNotKept)
        }
        #expect(try await self.store.record(for: record(1).key) == nil)
        #expect(try await self.store.entry(.notBefore, [1], at: noon) == nil)
    }
}
