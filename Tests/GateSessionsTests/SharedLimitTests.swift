// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

// E-12
@Suite struct SharedLimitTests {
    private let fixture = SessionFixture()
    private let network: String

    init() throws {
        self.network = ClientNetwork(of: try #require(IPAddress("192.0.2.1"))).text
    }

    /// How many of ten are within a limit of six, counted in turn by two gateways over one store.
    private func admitted(_ limit: SharedLimit, of key: String, now: Instant = noon) async -> Int {
        let gateways = [self.fixture.manager, self.fixture.manager()]
        var admitted = 0
        for number in 0..<10 where await gateways[number % 2].count(limit, of: key, now: now) { admitted += 1 }
        return admitted
    }

    @Test(arguments: [SharedLimit.registrations(6), .documents(6)])
    func `gateways over one store count together`(limit: SharedLimit) async {
        #expect(await self.admitted(limit, of: self.network) == 6)
        #expect(await self.fixture.manager().isOver(limit, of: self.network, now: noon))
    }

    @Test func `what is counted apart has a limit of its own`() async {
        let limit = SharedLimit.registrations(6)
        #expect(await self.admitted(limit, of: self.network) == 6)
        #expect(await self.admitted(limit, of: "another network") == 6)
        #expect(await self.admitted(.documents(6), of: self.network) == 6)
        #expect(await self.admitted(limit, of: self.network, now: noon.plus(60)) == 6)
    }

    @Test func `what has no key and what has no limit is not counted`() async {
        let (manager, limit) = (self.fixture.manager, SharedLimit.registrations(1))
        for _ in 0..<3 {
            #expect(await manager.count(limit, of: nil, now: noon))
            #expect(await manager.count(.registrations(0), of: self.network, now: noon))
        }
        #expect(await !manager.isOver(limit, of: nil, now: noon))
        #expect(self.fixture.store.state.withLock { $0.entries[.limit]?.count ?? 0 } == 0)
    }

    @Test func `a question counts nothing`() async {
        let (manager, limit) = (self.fixture.manager, SharedLimit.deviceAttempts)
        for _ in 0..<DeviceLimiter.attempts {
            #expect(await !manager.isOver(limit, of: "ada", now: noon))
            #expect(await manager.count(limit, of: "ada", now: noon))
        }
        #expect(await manager.isOver(limit, of: "ada", now: noon))
    }

    @Test func `while the store does not respond the limits of the process hold alone`() async {
        self.fixture.store.state.withLock { $0.entriesFail = true }
        #expect(await self.admitted(.registrations(6), of: self.network) == 10)
        #expect(await !self.fixture.manager.isOver(.registrations(0), of: self.network, now: noon))
    }

    @Test func `many at once are not counted twice or lost`() async {
        let (manager, limit) = (self.fixture.manager, SharedLimit.registrations(1000))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = await manager.count(limit, of: "key", now: noon) } }
        }
        let counts = self.fixture.store.state.withLock { $0.entries[.limit]?.values.map(\.value) ?? [] }
        #expect(counts.map { String(decoding: $0.prefix { $0 != 0x20 }, as: UTF8.self) } == ["3"])
    }

    @Test func `two gateways that write the same count do not write the same value`() async {
        var values: Set<[UInt8]> = []
        for _ in 0..<3 {
            self.fixture.store.state.withLock { $0.entries[.limit] = nil }
            _ = await self.fixture.manager.count(.registrations(5), of: "key", now: noon)
            values.formUnion(self.fixture.store.state.withLock { $0.entries[.limit]?.values.map(\.value) ?? [] })
        }
        #expect(values.count == 3)
    }
}
