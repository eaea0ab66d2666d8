// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOpenID

@Suite struct CachedDocumentTests {
    private static let failure = Failure(.providerUnavailable, "down")

    @Test func `callers during a fetch all get its document`() async throws {
        let gate = Latch()
        let fetches = Counter()
        let clock = TestClock()
        let document = CachedDocument<Int>(clock: clock.clock) { (_) throws(Failure) in
            await gate.pass()
            return (fetches.next(), .seconds(3600))
        }
        let callers = (0..<20).map { _ in Task { try await document.current() } }
        gate.open()
        for caller in callers { #expect(try await caller.value == 1) }
        #expect(fetches.count == 1)
    }

    @Test func `a caller who leaves takes nothing from the others`() async throws {
        let gate = Latch()
        let fetches = Counter()
        let document = CachedDocument<Bool>(clock: TestClock().clock) { (_) throws(Failure) in
            _ = fetches.next()
            await gate.pass()
            return (Task.isCancelled, .seconds(3600))
        }
        let first = Task { try await document.current() }
        while fetches.count == 0 { await Task.yield() }
        let second = Task { try await document.current() }
        first.cancel()
        gate.open()
        #expect(try await second.value == false)
        _ = try? await first.value
        #expect(fetches.count == 1)
    }

    @Test func `T-52 what is held is served while the provider is down, and each failure is reported`() async throws {
        let clock = TestClock()
        let fetches = Counter()
        let reports = Counter()
        let report: @Sendable (Failure) -> Void = { _ in _ = reports.next() }
        let document = CachedDocument<Int>(clock: clock.clock, report: report) { (_) throws(Failure) in
            guard fetches.next() == 1 else { throw Self.failure }
            return (7, .seconds(3600))
        }
        #expect(try await document.current() == 7)
        clock.advance(by: 7200)
        #expect(try await document.current() == 7)
        #expect(try await document.current() == 7)
        #expect(fetches.count == 2 && reports.count == 1)
        clock.advance(by: 86_400)
        await #expect(throws: Self.failure) { try await document.current() }
    }

    @Test func `a provider that is down is not asked again at once`() async {
        let clock = TestClock()
        let fetches = Counter()
        let document = CachedDocument<Int>(clock: clock.clock) { (_) throws(Failure) in
            _ = fetches.next()
            throw Self.failure
        }
        for _ in 0..<5 {
            await #expect(throws: Self.failure) { try await document.current() }
        }
        #expect(fetches.count == 1)
        clock.advance(by: 1)
        await #expect(throws: Self.failure) { try await document.current() }
        #expect(fetches.count == 2)
    }

    @Test func `a fetch gets what is held, so that it can be merged`() async throws {
        let clock = TestClock()
        let document = CachedDocument<[Int]>(clock: clock.clock) { (held) throws(Failure) in
            ((held ?? []) + [1], .seconds(3600))
        }
        #expect(try await document.current() == [1])
        #expect(await document.newer() == [1, 1])
    }
}
