// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

/// The rules of ``LockStore``.
@Suite struct LockStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `a lock is taken once`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for owner: UInt8 in 0..<50 {
                group.addTask { try await store.locks.lock([7], owner: [owner], at: noon, for: .seconds(60)) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
        #expect(try await store.locks.lock([8], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.locks.lock([7], owner: [99], at: noon.plus(59), for: .seconds(60)) == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `a lock is ended by its owner only`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.locks.lock([7], owner: [1], at: noon, for: .seconds(60)))
        #expect(try await store.locks.lock([7], owner: [1], at: noon, for: .seconds(60)), "it has the lock")
        try await store.locks.unlock([7], owner: [2])
        #expect(try await store.locks.lock([7], owner: [3], at: noon, for: .seconds(60)) == false)
        try await store.locks.unlock([7], owner: [1])
        #expect(try await store.locks.lock([7], owner: [3], at: noon, for: .seconds(60)))
        try await store.locks.unlock([7], owner: [1])
        #expect(try await store.locks.lock([7], owner: [4], at: noon, for: .seconds(60)) == false)
        try await store.locks.unlock([8], owner: [1])
    }

    @Test(arguments: StoreKind.allCases)
    func `a lock ends by itself`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let time = kind == .redis ? Duration.milliseconds(1) : .seconds(60)
        #expect(try await store.locks.lock([7], owner: [1], at: noon, for: time))
        // Redis measures the time itself.
        var isTaken = try await store.locks.lock([7], owner: [2], at: noon.plus(60), for: .seconds(60))
        while kind == .redis, !isTaken {
            isTaken = try await store.locks.lock([7], owner: [2], at: noon.plus(60), for: .seconds(60))
        }
        #expect(isTaken)
        // The first owner does not know that its time is over.
        try await store.locks.unlock([7], owner: [1])
        #expect(try await store.locks.lock([7], owner: [3], at: noon.plus(61), for: .seconds(60)) == false)
    }

    @Test(arguments: StoreKind.allCases)
    func `an id is spent once until it has expired`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        #expect(try await store.locks.spend([1], until: noon.plus(60)))
        #expect(try await !store.locks.spend([1], until: noon.plus(60)))
        #expect(try await store.locks.spend([2], until: noon.plus(120)))
        _ = try await store.maintenance.removeExpired(at: noon.plus(60), idle: .seconds(1))
        // Redis keeps an id by its own clock, and for an hour at least.
        #expect(try await store.locks.spend([1], until: noon.plus(60)) == (kind != .redis))
        #expect(try await !store.locks.spend([2], until: noon.plus(120)))
    }

    @Test(arguments: StoreKind.allCases)
    func `of fifty concurrent spends of the same id one succeeds`(kind: StoreKind) async throws {
        let store = try await OpenStore(kind)
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { try await store.locks.spend([7], until: noon.plus(60)) }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
    }
}
