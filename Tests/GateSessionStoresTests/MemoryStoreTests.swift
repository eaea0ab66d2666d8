// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessionStores
import GateSessions
import Testing

/// What only the store in memory does.
@Suite struct MemoryStoreTests {
    @Test func `a full memory store throws and keeps its sessions`() async throws {
        let store = MemoryStore(capacity: 2)
        try await store.insert(record(1))
        try await store.insert(record(2))
        let failure = await #expect(throws: Failure.self) { try await store.insert(record(3)) }
        #expect(failure?.reason == .sessionStoreFull)
        #expect(failure?.kind == .overloaded)
        #expect(try await count(store) == 2)
        try await store.remove(record(1).key)
        try await store.insert(record(3))
    }
}
