// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import NIOCore
import Testing

@testable import GateIngress
@testable import GateServer

@Suite struct OverloadTests {
    @Test(arguments: [
        (0.0, OverloadStage.calm), (0.799, .calm), (0.80, .hurried), (0.849, .hurried), (0.85, .guarded),
        (0.90, .closing), (0.95, .holding), (0.979, .holding), (0.98, .shedding), (7.0, .shedding),
    ])
    func `each stage begins at its threshold, at once`(share: Double, stage: OverloadStage) {
        var machine = OverloadMachine()
        let reached = machine.advance(to: share, at: .zero)
        #expect(reached == stage)
    }

    @Test(arguments: OverloadStage.allCases)
    func `a stage does what those before it do`(stage: OverloadStage) {
        #expect(stage.refusesSignIns == (stage >= .guarded))
        #expect(stage.closesConnections == (stage >= .closing))
        #expect((stage.maxStreams == 10) == (stage >= .closing))
        #expect(stage.holdsAccepting == (stage >= .holding))
        #expect(stage.refusesRequests == (stage == .shedding))
    }

    @Test(arguments: [
        (0.98, 0.931, OverloadStage.shedding), (0.98, 0.929, .holding), (0.95, 0.901, .holding),
        (0.95, 0.899, .closing),
        (0.90, 0.851, .closing), (0.90, 0.849, .guarded), (0.85, 0.801, .guarded), (0.85, 0.799, .hurried),
        (0.80, 0.751, .hurried), (0.80, 0.749, .calm), (0.98, 0.10, .calm), (0.98, 0.82, .guarded),
    ])
    func `a stage ends five points below its threshold`(up: Double, down: Double, stage: OverloadStage) {
        var machine = OverloadMachine()
        _ = machine.advance(to: up, at: .zero)
        let reached = machine.advance(to: down, at: .seconds(1))
        #expect(reached == stage)
    }

    @Test func `a stage lasts a second, and what is worse begins meanwhile`() {
        var machine = OverloadMachine()
        let looks: [(share: Double, milliseconds: Int)] = [
            (0.86, 10_000), (0.10, 10_999), (0.91, 10_999), (0.10, 11_998), (0.10, 11_999),
        ]
        let stages = looks.map { machine.advance(to: $0.share, at: .milliseconds($0.milliseconds)) }
        #expect(stages == [.guarded, .guarded, .closing, .closing, .calm])
    }

    @Test func `a share that swings around a threshold does not make the stage swing`() {
        var machine = OverloadMachine()
        var stages: Set<OverloadStage> = []
        for tick in 0..<100 {
            stages.insert(machine.advance(to: tick % 2 == 0 ? 0.86 : 0.84, at: .milliseconds(250 * tick)))
        }
        #expect(stages == [.guarded])
    }

    @Test(arguments: [(0.5, 75), (0.80, 75), (0.875, 40), (0.95, 5), (0.99, 5)])
    func `idle connections are kept for less time the less there is left`(share: Double, seconds: Int64) {
        let time = OverloadMachine.idleTime(at: share, configured: .seconds(75))
        #expect(abs(time.nanoseconds - seconds * 1_000_000_000) < 1_000_000)
        #expect(OverloadMachine.idleTime(at: share, configured: .seconds(3)) == .seconds(3))
    }

    @Test func `the scarcest of memory and descriptors counts`() {
        var vitals = ResourceUsage()
        #expect(vitals.share == 0)
        (vitals.memory, vitals.memoryLimit) = (50, 100)
        #expect(vitals.share == 0.5)
        (vitals.descriptors, vitals.descriptorLimit) = (97, 100)
        #expect(vitals.share == 0.97)
        vitals.memory = 99
        #expect(vitals.share == 0.99)
    }

    @Test func `late loops and many requests keep people from signing in and nothing more`() {
        var vitals = ResourceUsage()
        vitals.lag = .milliseconds(499)
        #expect(OverloadStage(at: vitals.share) == .hurried)
        vitals.lag = .milliseconds(500)
        #expect(OverloadStage(at: vitals.share) == .guarded)
        vitals.lag = .seconds(60)
        #expect(OverloadStage(at: vitals.share) == .guarded)
        vitals.lag = .zero
        (vitals.requests, vitals.requestLimit) = (8000, 8000)
        #expect(OverloadStage(at: vitals.share) == .guarded)
    }

    private final class FakeSigns: ResourceUsageSource {
        let vitals: ResourceUsage
        init(_ vitals: ResourceUsage) { self.vitals = vitals }
        func read(memoryLimit: Int64?) -> ResourceUsage {
            var vitals = self.vitals
            if let memoryLimit { vitals.memoryLimit = memoryLimit }
            return vitals
        }
    }

    @Test func `a look takes memory from the machine, the bound from the file and the rest from the loops`() {
        var vitals = ResourceUsage()
        (vitals.memory, vitals.memoryLimit) = (96 << 20, 1000 << 20)
        let monitor = OverloadMonitor(signs: FakeSigns(vitals))
        var limits = GatewayLimits()
        #expect(monitor.look(at: [], within: limits).sight.stage == .calm)
        limits.memory = 100 << 20
        let pulse = LoopLagProbe()
        pulse.tick(at: .now(), requests: 7)
        let (before, sight) = monitor.look(at: [pulse], within: limits)
        #expect(before == .calm && sight.stage == .holding && monitor.sight.stage == .holding)
        #expect(sight.vitals.requests == 7)
    }

    @Test func `U-07: only memory that the process did not use at its start counts`() {
        var vitals = ResourceUsage()
        (vitals.memory, vitals.memoryAtStart, vitals.memoryLimit) = (48, 48, 64)
        #expect(vitals.share == 0)
        vitals.memory = 56
        #expect(vitals.share == 0.5)
        vitals.memory = 64
        #expect(vitals.share == 1)
        vitals.memory = 40
        #expect(vitals.share == 0)
    }

    @Test func `U-07: a limit below what the process itself uses does not reject every request`() {
        var vitals = ResourceUsage()
        vitals.memory = 48 << 20
        let signs = FakeSigns(vitals)
        let monitor = OverloadMonitor(signs: signs)
        monitor.begin()
        var limits = GatewayLimits()
        limits.memory = 48 << 20
        let sight = monitor.look(at: [], within: limits).sight
        #expect(sight.stage == .calm && sight.share == 0)
        #expect(sight.vitals.memoryLimit == 64 << 20)
        #expect(monitor.minMemory == 64 << 20)
    }

    @Test(arguments: [
        (65_536, 40, 10_000), (2000, 40, 800), (256, 30, 64), (64, 30, 15), (40, 30, 3), (40, 36, 1), (0, 0, 10_000),
    ])
    func `U-06: few descriptors leave room for those that are always open`(limit: Int, atStart: Int, connections: Int) {
        #expect(GatewayLimits.maxConnections(descriptors: limit, atStart: atStart) == connections)
    }
}

@Suite struct LoopPulseTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func `a loop that ticks in time has no lag`() {
        let pulse = LoopLagProbe()
        pulse.begin(at: Self.start)
        for tick in 1...200 { pulse.tick(at: Self.start + .milliseconds(Int64(tick) * 100)) }
        #expect(pulse.lag(at: Self.start + .milliseconds(20_050)) == .zero && pulse.alarms == 0)
    }

    @Test func `a turn of 200 ms is noticed, but alone is no sign of overload`() {
        let pulse = LoopLagProbe()
        pulse.begin(at: Self.start)
        for tick in 1...99 { pulse.tick(at: Self.start + .milliseconds(Int64(tick) * 100)) }
        #expect(pulse.tick(at: Self.start + .milliseconds(10_200)) == .milliseconds(200))
        #expect(pulse.alarms == 1 && pulse.takeWorst() == .milliseconds(200) && pulse.takeWorst() == .zero)
        #expect(pulse.lag(at: Self.start + .milliseconds(10_200)) == .zero)
    }

    @Test func `a loop whose turns are all too long is late`() {
        let pulse = LoopLagProbe()
        pulse.begin(at: Self.start)
        var now = Self.start
        for _ in 1...100 {
            now = now + .milliseconds(400)
            pulse.tick(at: now)
        }
        #expect(pulse.lag(at: now) == .milliseconds(300))
    }

    @Test func `a loop that hangs is late although it does not say so`() {
        let pulse = LoopLagProbe()
        pulse.begin(at: Self.start)
        pulse.tick(at: Self.start + .milliseconds(100))
        #expect(pulse.lag(at: Self.start + .milliseconds(5200)) == .seconds(5))
    }
}
