// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateNet
import NIOCore
import Synchronization
import Testing

@testable import GateServer

/// B-16: whatever has caused an overload level, the gateway leaves it within seconds of the end of the cause.
@Suite struct OverloadRecoveryTests {
    /// A process whose allocator keeps what is freed, as the C library's does.
    private final class FakeProcess: ResourceUsageSource {
        struct State {
            var allocated: Int64 = 40 << 20
            /// Freed bytes that are still resident, of which a trim returns the whole pages.
            var kept: Int64 = 0
            /// Freed bytes between blocks in use, which no trim returns.
            var fragments: Int64 = 0
            var filePages: Int64 = 45 << 20
            var descriptors = 30
            var trims = 0
        }

        let state = Mutex(State())

        func read(memoryLimit: Int64?) -> ResourceUsage {
            self.state.withLock { state in
                var usage = ResourceUsage()
                usage.anonymous = state.allocated + state.kept + state.fragments
                usage.filePages = state.filePages
                usage.memory = usage.anonymous
                usage.memoryLimit = memoryLimit ?? 0
                usage.descriptors = state.descriptors
                usage.descriptorLimit = 1030
                return usage
            }
        }

        var allocator: AllocatorUsage {
            self.state.withLock { AllocatorUsage(allocated: $0.allocated, free: $0.kept + $0.fragments + 1 << 20) }
        }

        func trim() {
            self.state.withLock { state in
                state.kept = 0
                state.trims += 1
            }
        }

        func change(_ body: (inout State) -> Void) { self.state.withLock { body(&$0) } }
    }

    enum Cause: String, CaseIterable {
        /// Freed memory stays with the allocator in whole pages.
        case memory
        /// Freed memory stays with the allocator in gaps between other blocks.
        case fragments
        case descriptors
        case lag
        case requests

        /// The highest level that it may cause.
        var highest: OverloadLevel {
            switch self {
            case .memory, .fragments, .descriptors: .noRequests
            case .lag, .requests: .noSignIns
            }
        }
    }

    /// Every level by every cause that may reach it.
    static let cases = Cause.allCases.flatMap { cause in
        OverloadLevel.allCases.filter { $0 > .normal && $0 <= cause.highest }.map { (cause, $0) }
    }

    private static let limit: Int64 = 285 << 20

    /// A gateway with 200 MiB of memory and 1000 descriptors for its clients, looked at four times a second.
    private final class Watched {
        let process = FakeProcess()
        let monitor: OverloadMonitor
        let probe = LoopLagProbe()
        private let began = ContinuousClock.now
        private(set) var passed = Duration.zero
        private var tick: NIODeadline
        var requests = 0
        var lag = TimeAmount.zero
        private var limits = GatewayLimits()

        init() {
            self.monitor = OverloadMonitor(signs: self.process)
            self.monitor.begin()
            self.limits.memory = OverloadRecoveryTests.limit
            self.limits.requests = 1000
            self.tick = .now() + .hours(1)
            self.probe.begin(at: self.tick)
        }

        /// Lets a quarter of a second pass and gives the level after it.
        func look() -> OverloadLevel {
            for _ in 0..<2 {
                self.tick = self.tick + .milliseconds(100) + self.lag
                self.probe.tick(at: self.tick, requests: self.requests)
            }
            self.passed += .milliseconds(250)
            return self.monitor.look(at: [self.probe], within: self.limits, now: self.began + self.passed).reading.level
        }

        /// Uses as much of a resource as reaches the threshold of a level, and a little more.
        func use(_ cause: Cause, for level: OverloadLevel) {
            let share = level.threshold + 0.01
            switch cause {
            case .memory, .fragments: self.process.change { $0.allocated += Int64(share * Double(200 << 20)) }
            case .descriptors: self.process.change { $0.descriptors += Int(share * 1000) }
            case .requests: self.requests = Int(share * 1000)
            case .lag: self.lag = .milliseconds(Int64(share / OverloadLevel.noSignIns.threshold * 500) + 1)
            }
        }

        /// Frees all of it.
        func free(_ cause: Cause) {
            let freed = self.process.state.withLock { $0.allocated } - 40 << 20
            switch cause {
            case .memory: self.process.change { ($0.allocated, $0.kept) = (40 << 20, freed) }
            case .fragments: self.process.change { ($0.allocated, $0.fragments) = (40 << 20, freed) }
            case .descriptors: self.process.change { $0.descriptors = 30 }
            case .requests: self.requests = 0
            case .lag: self.lag = .zero
            }
        }
    }

    @Test(arguments: cases)
    func `each level is reached by each cause, and left within seconds of its end`(cause: Cause, level: OverloadLevel) {
        let watched = Watched()
        #expect(watched.look() == .normal)
        watched.use(cause, for: level)
        var reached = OverloadLevel.normal
        // The lag of a loop is that of its last hundred ticks.
        for _ in 0..<40 { reached = watched.look() }
        #expect(reached == level)
        watched.free(cause)
        let end = watched.passed
        while watched.look() != .normal, watched.passed < end + .seconds(60) {}
        #expect(watched.passed - end <= (cause == .lag ? .seconds(13) : .seconds(2)))
    }

    @Test func `freed memory goes back to the kernel, at most every five seconds`() {
        let watched = Watched()
        for _ in 0..<40 {
            watched.use(.memory, for: .noRequests)
            watched.free(.memory)
            #expect(watched.look() == .normal)
        }
        let (kept, trims) = watched.process.state.withLock { ($0.kept, $0.trims) }
        #expect(trims == 2 && kept > 0)
    }

    @Test func `as long as memory is plentiful the allocator keeps what it has`() {
        let watched = Watched()
        watched.process.change { $0.kept = 140 << 20 }
        #expect(watched.look() == .normal && watched.process.state.withLock { $0.trims } == 0)
    }

    @Test func `memory in use is not taken for freed memory, however much the allocator keeps besides`() {
        let watched = Watched()
        watched.process.change { ($0.allocated, $0.kept) = ($0.allocated + 180 << 20, 60 << 20) }
        #expect(watched.look() == .closing)
    }

    @Test func `pages of the program that are read later do not count`() {
        let watched = Watched()
        watched.process.change { $0.filePages += 300 << 20 }
        #expect(watched.look() == .normal && watched.monitor.reading.share == 0)
    }
}
