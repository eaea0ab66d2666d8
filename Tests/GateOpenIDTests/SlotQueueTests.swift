// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Synchronization
import Testing

@testable import GateOpenID

@Suite struct SlotQueueTests {
    /// A provider with 16 connections that takes `held` for each sign-in, and so many sign-ins a second, in virtual time.
    private struct Simulation {
        var queue = SlotQueue(slots: 16)
        var served: [Double] = []
        var rejectedAfter: [Double] = []
        private var ends: [(ticket: UInt64, at: Double)] = []
        private var arrived: [UInt64: Double] = [:]

        mutating func run(rate: Double, held: Double, seconds: Double) {
            var ticket: UInt64 = 0
            var (now, next, look) = (0.0, 0.0, 0.25)
            while now < seconds + 60 {
                let end = self.ends.map(\.at).min() ?? .infinity
                now = min(end, next, look)
                if now == end {
                    self.end(at: now, held: held)
                } else if now == next {
                    ticket += 1
                    next = now + 1 / rate < seconds ? now + 1 / rate : .infinity
                    self.arrive(ticket, at: now, held: held)
                } else {
                    look = now + 0.25
                    for late in self.queue.rejectLate(at: .seconds(now)) {
                        self.rejectedAfter.append(now - (self.arrived[late.ticket] ?? 0))
                    }
                }
            }
        }

        private mutating func arrive(_ ticket: UInt64, at now: Double, held: Double) {
            self.arrived[ticket] = now
            switch self.queue.arrive(ticket, at: .seconds(now)) {
            case .enters: self.ends.append((ticket, now + held))
            case .waits: break
            case .rejected(let wait):
                #expect(wait > .zero)
                self.rejectedAfter.append(0)
            }
        }

        private mutating func end(at now: Double, held: Double) {
            guard let index = self.ends.firstIndex(where: { $0.at == now }) else { return }
            let done = self.ends.remove(at: index)
            self.served.append(now - (self.arrived[done.ticket] ?? 0))
            if let next = self.queue.release(done.ticket, at: .seconds(now)) { self.ends.append((next, now + held)) }
        }
    }

    @Test(arguments: [(6.0, 6.0), (20.0, 6.0), (6.0, 18.0), (100.0, 1.0)])
    func `U-04: beyond its capacity a slow provider serves at capacity, and all others are rejected`(
        rate: Double,
        held: Double
    ) {
        var simulation = Simulation()
        simulation.run(rate: rate, held: held, seconds: 120)
        let capacity = 16 / held * 120
        #expect(Double(simulation.served.count) > capacity * 0.95, "\(simulation.served.count) of \(capacity)")
        #expect(simulation.served.allSatisfy { $0 <= held + 10.001 })
        let ended = simulation.served.count + simulation.rejectedAfter.count
        #expect(abs(ended - Int(rate * 120)) <= 1)
        // Once it is known how slow the provider is, the others hear so at once.
        let later = simulation.rejectedAfter.sorted()[simulation.rejectedAfter.count / 2]
        #expect(later == 0)
    }

    @Test func `U-04: within its capacity no call is rejected and none waits long`() {
        var simulation = Simulation()
        simulation.run(rate: 2.5, held: 6, seconds: 120)
        #expect(simulation.rejectedAfter.isEmpty && simulation.served.count == 300)
        #expect(simulation.served.allSatisfy { $0 < 7 })
    }

    @Test func `U-04: of many at once, those that cannot be served in time hear so before the time is over`() {
        var simulation = Simulation()
        simulation.run(rate: 100_000, held: 9, seconds: 0.002)
        #expect(simulation.served.count >= 16 && simulation.served.count <= 32)
        let rejected = simulation.rejectedAfter.sorted()
        #expect(rejected[rejected.count / 2] < 4 && rejected.allSatisfy { $0 <= 10.001 })
    }

    @Test func `one that hangs does not make the queue of all others look long`() {
        var queue = SlotQueue(slots: 4)
        _ = queue.arrive(1, at: .zero)
        for ticket in 2...4 as ClosedRange<UInt64> { _ = queue.arrive(ticket, at: .seconds(100)) }
        #expect(queue.arrive(5, at: .seconds(100)) == .waits)
        #expect(queue.arrive(6, at: .seconds(100.1)) == .waits)
        #expect(queue.release(2, at: .seconds(100.1)) == 5)
    }

    @Test func `one that leaves the queue is not let in, and its place is taken`() {
        var queue = SlotQueue(slots: 1)
        #expect(queue.arrive(1, at: .zero) == .enters)
        #expect(queue.arrive(2, at: .zero) == .waits && queue.arrive(3, at: .zero) == .waits)
        #expect(queue.release(2, at: .zero) == nil)
        #expect(queue.release(1, at: .seconds(1)) == 3 && queue.active.count == 1 && queue.waitingCount == 0)
        #expect(queue.release(3, at: .seconds(2)) == nil && queue.active.count == 0)
    }
}

@Suite struct SignInQueueTests {
    /// Time that the test moves; who sleeps waits for that.
    private final class Time: Sendable {
        private let state = Mutex<(now: Duration, sleepers: [CheckedContinuation<Void, Never>])>((.zero, []))

        var now: Duration { self.state.withLock(\.now) }
        var sleeperCount: Int { self.state.withLock(\.sleepers.count) }

        func sleep() async {
            await withCheckedContinuation { sleeper in self.state.withLock { $0.sleepers.append(sleeper) } }
        }

        func advance(by duration: Duration) {
            let sleepers = self.state.withLock { state in
                state.now += duration
                defer { state.sleepers = [] }
                return state.sleepers
            }
            for sleeper in sleepers { sleeper.resume() }
        }
    }

    private func queue(_ slots: Int, _ time: Time) -> SignInQueue {
        SignInQueue(slots: slots, now: { time.now }, sleep: { _ in await time.sleep() })
    }

    private func entering(_ queue: SignInQueue) -> Task<Result<UInt64, Failure>, Never> {
        Task {
            do throws(Failure) { return .success(try await queue.enter()) } catch { return .failure(error) }
        }
    }

    @Test func `U-04: who waits enters when a slot is free, in order`() async throws {
        let time = Time()
        let queue = self.queue(1, time)
        let first = try await queue.enter()
        let second = self.entering(queue)
        while queue.waitingCount < 1 { await Task.yield() }
        let third = self.entering(queue)
        while queue.waitingCount < 2 { await Task.yield() }
        queue.release(first)
        let ticket = try await second.value.get()
        #expect(queue.waitingCount == 1)
        queue.release(ticket)
        queue.release(try await third.value.get())
        #expect(queue.waitingCount == 0)
    }

    @Test func `U-04: who would wait too long is rejected as busy, with the time after which to come back`()
        async throws
    {
        let time = Time()
        let queue = self.queue(1, time)
        let first = try await queue.enter()
        time.advance(by: .seconds(25))
        queue.release(first)
        let second = try await queue.enter()
        time.advance(by: .seconds(5))
        let failure = await #expect(throws: Failure.self) { try await queue.enter() }
        #expect(failure?.reason == .providerBusy && failure?.kind == .overloaded)
        #expect(failure?.retryAfter == .seconds(10))
        queue.release(second)
        queue.release(try await queue.enter())
    }

    @Test func `U-04: those that wait already are rejected when it shows that they wait in vain`() async throws {
        let time = Time()
        let queue = self.queue(1, time)
        let first = try await queue.enter()
        let second = self.entering(queue)
        while time.sleeperCount == 0 { await Task.yield() }
        let third = self.entering(queue)
        while queue.waitingCount < 2 { await Task.yield() }
        time.advance(by: .seconds(4))
        while time.sleeperCount == 0 { await Task.yield() }
        #expect(queue.waitingCount == 2)
        time.advance(by: .seconds(4))
        #expect(self.code(await third.value) == "provider.busy" && queue.waitingCount == 1)
        while time.sleeperCount == 0 { await Task.yield() }
        time.advance(by: .seconds(2))
        #expect(self.code(await second.value) == "provider.busy" && queue.waitingCount == 0)
        queue.release(first)
    }

    private func code(_ result: Result<UInt64, Failure>) -> String? {
        guard case .failure(let failure) = result else { return nil }
        return failure.code
    }

    @Test func `a sign-in that is cancelled while it waits leaves the queue`() async throws {
        let time = Time()
        let queue = self.queue(1, time)
        let first = try await queue.enter()
        let waiting = self.entering(queue)
        while queue.waitingCount == 0 { await Task.yield() }
        waiting.cancel()
        guard case .failure(let failure) = await waiting.value else {
            Issue.record("it was let in")
            return
        }
        #expect(failure.reason == .providerCancelled && queue.waitingCount == 0)
        queue.release(first)
        #expect(try await queue.enter() > first)
    }

    @Test func `a callback that finds no keys redeems no code, and can be sent again`() async throws {
        let fixture = try ProviderFixture()
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let keys = "\(ProviderFixture.issuer)/keys"
        fixture.transport.fail(keys)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "provider.unavailable")
        #expect(fixture.transport.count("\(ProviderFixture.issuer)/token") == 0)
        fixture.transport.stub(keys, ["keys": [TestKey.rs256.named("k1")]])
        fixture.clock.advance(by: 10)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
    }

    @Test func `U-04: a callback that finds no slot in time can be sent again`() async throws {
        var settings = ProviderFixture.settings()
        settings.maxConnections = 1
        let fixture = try ProviderFixture(settings)
        let (_, attempt) = try await fixture.begin()
        try fixture.issue(for: attempt)
        let ticket = try await fixture.party.queue.enter()
        let first = Task { await fixture.rejection(fixture.callback(attempt), attempt) }
        while fixture.party.waitingSignIns == 0 { await Task.yield() }
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == "openid.attempt_spent")
        first.cancel()
        #expect(await first.value == "provider.cancelled")
        fixture.party.queue.release(ticket)
        #expect(await fixture.rejection(fixture.callback(attempt), attempt) == nil)
    }
}
