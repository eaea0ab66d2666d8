// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateSessions

/// A sign-out whose removal a store could not write.
@Suite struct UnfinishedEndsTests {
    @Test func `B-19: an end that was not written goes on at the next attempt, with all that the provider needs`()
        async throws
    {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        fixture.store.state.withLock { $0.writesFail = true }
        await #expect(throws: Failure.self) { _ = try await fixture.manager.end(issued.ticket) }
        // The removal is in force, so the store does not return the record any more.
        fixture.store.state.withLock { $0.records = [:] }
        await #expect(throws: Failure.self) { _ = try await fixture.manager.end(issued.ticket) }
        fixture.store.state.withLock { $0.writesFail = false }
        #expect(try await fixture.manager.end(issued.ticket) == issued.session)
        #expect(try await fixture.manager.end(issued.ticket) == nil)
    }

    @Test func `B-19: another ticket finds nothing, and the session is over`() async throws {
        let fixture = SessionFixture()
        let issued = try await fixture.signedIn()
        let other = try await fixture.signedIn()
        fixture.store.state.withLock { $0.writesFail = true }
        await #expect(throws: Failure.self) { _ = try await fixture.manager.end(issued.ticket) }
        fixture.store.state.withLock { state in
            state.writesFail = false
            state.records = [:]
        }
        #expect(try await fixture.manager.end(other.ticket) == nil)
        #expect(try await fixture.manager.session(for: issued.ticket, host: "gate.example.com", now: noon) == nil)
    }

    @Test func `ends are remembered for ten minutes, and at most 256 of them`() {
        let ends = UnfinishedEnds()
        let start = ContinuousClock.now
        func record(_ number: Int) -> SessionRecord {
            SessionRecord(
                key: [UInt8(number & 255), UInt8(number >> 8)],
                family: [UInt8(number & 1)],
                sealed: [],
                created: noon,
                lastSeen: noon,
                expires: noon
            )
        }
        for number in 0...256 { ends.note(record(number), at: start) }
        #expect(ends.record(for: record(255).key) != nil && ends.record(for: record(256).key) == nil)
        ends.remove(family: [1])
        #expect(ends.record(for: record(255).key) == nil && ends.record(for: record(254).key) != nil)
        ends.note(record(257), at: start + .seconds(600))
        #expect(ends.record(for: record(254).key) == nil && ends.record(for: record(257).key) != nil)
    }
}
