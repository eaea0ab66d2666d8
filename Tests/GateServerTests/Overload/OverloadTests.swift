// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateNet
import NIOCore
import Testing

@testable import GateServer

@Suite struct OverloadTests {
    @Test(arguments: [
        (0.0, OverloadLevel.normal), (0.799, .normal), (0.80, .shorterIdle), (0.849, .shorterIdle), (0.85, .noSignIns),
        (0.90, .closing), (0.95, .noAccept), (0.979, .noAccept), (0.98, .noRequests), (7.0, .noRequests),
    ])
    func `each level begins at its threshold, at once`(share: Double, level: OverloadLevel) {
        var machine = OverloadMachine()
        let reached = machine.advance(to: share, at: .zero)
        #expect(reached == level)
    }

    @Test(arguments: OverloadLevel.allCases)
    func `a level does what those before it do`(level: OverloadLevel) {
        #expect(level.rejectsSignIns == (level >= .noSignIns))
        #expect(level.closesConnections == (level >= .closing))
        #expect((level.maxStreams == 10) == (level >= .closing))
        #expect(level.pausesAccepting == (level >= .noAccept))
        #expect(level.rejectsRequests == (level == .noRequests))
    }

    @Test(arguments: [
        (0.98, 0.931, OverloadLevel.noRequests), (0.98, 0.929, .noAccept), (0.95, 0.901, .noAccept),
        (0.95, 0.899, .closing),
        (0.90, 0.851, .closing), (0.90, 0.849, .noSignIns), (0.85, 0.801, .noSignIns), (0.85, 0.799, .shorterIdle),
        (0.80, 0.751, .shorterIdle), (0.80, 0.749, .normal), (0.98, 0.10, .normal), (0.98, 0.82, .noSignIns),
    ])
    func `a level ends five points below its threshold`(up: Double, down: Double, level: OverloadLevel) {
        var machine = OverloadMachine()
        _ = machine.advance(to: up, at: .zero)
        let reached = machine.advance(to: down, at: .seconds(1))
        #expect(reached == level)
    }

    @Test func `a level lasts a second, and what is worse begins meanwhile`() {
        var machine = OverloadMachine()
        let looks: [(share: Double, milliseconds: Int)] = [
            (0.86, 10_000), (0.10, 10_999), (0.91, 10_999), (0.10, 11_998), (0.10, 11_999),
        ]
        let levels = looks.map { machine.advance(to: $0.share, at: .milliseconds($0.milliseconds)) }
        #expect(levels == [.noSignIns, .noSignIns, .closing, .closing, .normal])
    }

    @Test func `a share that swings around a threshold does not make the level swing`() {
        var machine = OverloadMachine()
        var levels: Set<OverloadLevel> = []
        for tick in 0..<100 {
            levels.insert(machine.advance(to: tick % 2 == 0 ? 0.86 : 0.84, at: .milliseconds(250 * tick)))
        }
        #expect(levels == [.noSignIns])
    }

    @Test(arguments: [(0.5, 75), (0.80, 75), (0.875, 40), (0.95, 5), (0.99, 5)])
    func `idle connections are kept for less time the less there is left`(share: Double, seconds: Int64) {
        let time = OverloadMachine.idleTime(at: share, configured: .seconds(75))
        #expect(abs(time.nanoseconds - seconds * 1_000_000_000) < 1_000_000)
        #expect(OverloadMachine.idleTime(at: share, configured: .seconds(3)) == .seconds(3))
    }

    @Test func `the scarcest of memory and descriptors counts`() {
        var usage = ResourceUsage()
        #expect(usage.share == 0)
        (usage.memory, usage.memoryLimit) = (50, 100)
        #expect(usage.share == 0.5)
        (usage.descriptors, usage.descriptorLimit) = (97, 100)
        #expect(usage.share == 0.97)
        usage.memory = 99
        #expect(usage.share == 0.99)
    }

    @Test func `late loops and many requests stop new sign-ins and nothing more`() {
        var usage = ResourceUsage()
        usage.lag = .milliseconds(499)
        #expect(OverloadLevel(at: usage.share) == .shorterIdle)
        usage.lag = .milliseconds(500)
        #expect(OverloadLevel(at: usage.share) == .noSignIns)
        usage.lag = .seconds(60)
        #expect(OverloadLevel(at: usage.share) == .noSignIns)
        usage.lag = .zero
        (usage.requests, usage.requestLimit) = (8000, 8000)
        #expect(OverloadLevel(at: usage.share) == .noSignIns)
    }

    private final class FakeSigns: ResourceUsageSource {
        let usage: ResourceUsage
        init(_ usage: ResourceUsage) { self.usage = usage }
        func read(memoryLimit: Int64?) -> ResourceUsage {
            var usage = self.usage
            if let memoryLimit { usage.memoryLimit = memoryLimit }
            return usage
        }
        let allocator = AllocatorUsage()
        func trim() {}
    }

    @Test func `a look takes memory from the machine, the bound from the file and the rest from the loops`() {
        var usage = ResourceUsage()
        (usage.memory, usage.memoryLimit) = (96 << 20, 1000 << 20)
        let monitor = OverloadMonitor(signs: FakeSigns(usage))
        var limits = GatewayLimits()
        #expect(monitor.look(at: [], within: limits).reading.level == .normal)
        limits.memory = 100 << 20
        let probe = LoopLagProbe()
        probe.tick(at: .now(), requests: 7)
        let (before, reading) = monitor.look(at: [probe], within: limits)
        #expect(before == .normal && reading.level == .noAccept && monitor.reading.level == .noAccept)
        #expect(reading.usage.requests == 7)
    }

    @Test func `U-07: only memory that the process did not use at its start counts`() {
        var usage = ResourceUsage()
        (usage.memory, usage.memoryAtStart, usage.memoryLimit) = (48, 48, 64)
        #expect(usage.share == 0)
        usage.memory = 56
        #expect(usage.share == 0.5)
        usage.memory = 64
        #expect(usage.share == 1)
        usage.memory = 40
        #expect(usage.share == 0)
    }

    @Test func `U-06: only descriptors that were not open at the start count`() {
        var usage = ResourceUsage()
        (usage.descriptors, usage.descriptorsAtStart, usage.descriptorLimit) = (30, 30, 44)
        #expect(usage.share == 0)
        usage.descriptors = 37
        #expect(usage.share == 0.5)
        usage.descriptors = 44
        #expect(usage.share == 1)
        usage.descriptorsAtStart = 44
        #expect(usage.share == 0)
        usage.descriptors = 45
        #expect(usage.share == 1)
        usage.descriptorLimit = 0
        #expect(usage.share == 0)
    }

    @Test func `U-07: a limit below what the process itself uses does not reject every request`() {
        var usage = ResourceUsage()
        usage.memory = 48 << 20
        let signs = FakeSigns(usage)
        let monitor = OverloadMonitor(signs: signs)
        monitor.begin()
        var limits = GatewayLimits()
        limits.memory = 48 << 20
        let reading = monitor.look(at: [], within: limits).reading
        #expect(reading.level == .normal && reading.share == 0)
        #expect(reading.usage.memoryLimit == 64 << 20)
        #expect(monitor.minMemory == 64 << 20)
    }

    @Test(arguments: [
        (65_536, 40, 10_000), (2000, 40, 800), (256, 30, 64), (64, 30, 12), (44, 30, 3), (40, 30, 2), (40, 36, 1),
        (0, 0, 10_000),
    ])
    func `U-06: few descriptors leave some for those that are always open`(limit: Int, atStart: Int, connections: Int) {
        #expect(GatewayLimits.maxConnections(descriptors: limit, atStart: atStart) == connections)
    }
}

@Suite struct LoopLagProbeTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `a loop that ticks in time has no lag`() {
        let probe = LoopLagProbe()
        probe.begin(at: Self.start)
        for tick in 1...200 { probe.tick(at: Self.start + .milliseconds(Int64(tick) * 100)) }
        #expect(probe.lag(at: Self.start + .milliseconds(20_050)) == .zero && probe.alarms == 0)
    }

    @Test func `a turn of 200 ms is counted, but alone is not overload`() {
        let probe = LoopLagProbe()
        probe.begin(at: Self.start)
        for tick in 1...99 { probe.tick(at: Self.start + .milliseconds(Int64(tick) * 100)) }
        #expect(probe.tick(at: Self.start + .milliseconds(10_200)) == .milliseconds(200))
        #expect(probe.alarms == 1)
        #expect(probe.lag(at: Self.start + .milliseconds(10_200)) == .zero)
    }

    @Test func `a loop whose turns are all too long is late`() {
        let probe = LoopLagProbe()
        probe.begin(at: Self.start)
        var now = Self.start
        for _ in 1...100 {
            now = now + .milliseconds(400)
            probe.tick(at: now)
        }
        #expect(probe.lag(at: now) == .milliseconds(300))
    }

    @Test func `the heartbeat of a loop is as old as its last tick, and its start counts as one`() {
        let probe = LoopLagProbe()
        #expect(probe.sinceTick(at: Self.start) == .zero)
        probe.begin(at: Self.start)
        #expect(probe.sinceTick(at: Self.start + .seconds(6)) == .seconds(6))
        probe.tick(at: Self.start + .seconds(6))
        #expect(probe.sinceTick(at: Self.start + .milliseconds(6040)) == .milliseconds(40))
    }

    @Test func `a loop that hangs counts as late although it does not tick`() {
        let probe = LoopLagProbe()
        probe.begin(at: Self.start)
        probe.tick(at: Self.start + .milliseconds(100))
        #expect(probe.lag(at: Self.start + .milliseconds(5200)) == .seconds(5))
    }
}
