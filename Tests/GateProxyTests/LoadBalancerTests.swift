// SPDX-License-Identifier: Apache-2.0

import GateProxy
import NIOCore
import Testing

@Suite struct LoadBalancerTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func settings(
        _ count: Int,
        _ balance: LoadBalancing = .roundRobin,
        slowStart: TimeAmount = .zero
    ) -> UpstreamSettings {
        var settings = UpstreamSettings(targets: (0..<count).map { .unix(path: "/run/\($0)") })
        settings.balance = balance
        settings.slowStart = slowStart
        return settings
    }

    private func picks(
        _ set: inout LoadBalancer,
        _ count: Int,
        key: UInt64 = 0,
        at now: NIODeadline,
        load: (Int) -> Int = { _ in 0 }
    ) -> [Int] {
        (0..<count).map { _ in set.pick(key: key, at: now, avoiding: nil, load: load) }
    }

    @Test func `in turn each target gets the same`() {
        var set = LoadBalancer(self.settings(3))
        #expect(self.picks(&set, 7, at: self.start) == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `a single target is always the one`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(1, balance))
        set.setHealth(0, isUp: false, at: self.start)
        #expect(self.picks(&set, 3, key: 9, at: self.start) == [0, 0, 0])
        #expect(set.pick(key: 9, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `a target that is called sick is not used, and all are when all are`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(3, balance))
        set.setHealth(1, isUp: false, at: self.start)
        for key in UInt64(1)...50 {
            #expect(set.pick(key: key, at: self.start, avoiding: nil) { _ in 0 } != 1)
        }
        set.setHealth(0, isUp: false, at: self.start)
        set.setHealth(2, isUp: false, at: self.start)
        let used = Set((UInt64(1)...50).map { set.pick(key: $0, at: self.start, avoiding: nil) { _ in 0 } })
        #expect(used == [0, 1, 2])
    }

    @Test func `the fewest requests decide, and among equals it goes round`() {
        var set = LoadBalancer(self.settings(3, .leastRequests))
        #expect(self.picks(&set, 3, at: self.start, load: { [5, 2, 9][$0] }) == [1, 1, 1])
        #expect(Set(self.picks(&set, 3, at: self.start)) == [0, 1, 2])
    }

    @Test func `a session stays at its target, and only those of a target that is gone move`() {
        var set = LoadBalancer(self.settings(5, .sticky))
        let keys = (1...500).map { StableHash.mix(UInt64($0)) }
        let before = keys.map { set.pick(key: $0, at: self.start, avoiding: nil) { _ in 0 } }
        #expect(before == keys.map { set.pick(key: $0, at: self.start, avoiding: nil) { _ in 0 } })
        for target in 0..<5 { #expect(before.count { $0 == target } > 60) }
        set.setHealth(3, isUp: false, at: self.start)
        let without = keys.map { set.pick(key: $0, at: self.start, avoiding: nil) { _ in 0 } }
        for (old, new) in zip(before, without) { #expect(old == 3 ? new != 3 : new == old) }
        set.setHealth(3, isUp: true, at: self.start)
        #expect(before == keys.map { set.pick(key: $0, at: self.start, avoiding: nil) { _ in 0 } })
    }

    @Test func `without a session the sticky choice goes round`() {
        var set = LoadBalancer(self.settings(3, .sticky))
        #expect(self.picks(&set, 3, at: self.start) == [0, 1, 2])
    }

    @Test func `a second try avoids the target of the first, unless it is the only one there`() {
        var set = LoadBalancer(self.settings(2))
        for _ in 0..<4 { #expect(set.pick(key: 0, at: self.start, avoiding: 0) { _ in 0 } == 1) }
        set.setHealth(1, isUp: false, at: self.start)
        #expect(set.pick(key: 0, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests])
    func `a target that comes back gets its share step by step`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(2, balance, slowStart: .seconds(10)))
        set.setHealth(1, isUp: false, at: self.start)
        set.setHealth(1, isUp: true, at: self.start)
        func part(after seconds: Int64) -> Int {
            var load = [0, 0]
            for _ in 0..<1000 {
                load[set.pick(key: 0, at: self.start + .seconds(seconds), avoiding: nil) { load[$0] }] += 1
            }
            return load[1]
        }
        let parts = [0, 5, 11].map { part(after: Int64($0)) }
        #expect((30...150).contains(parts[0]) && (200...400).contains(parts[1]) && (480...520).contains(parts[2]))
    }

    @Test func `R-33 five failures in a row leave a target out for ten seconds, the next time for twenty`() {
        var set = LoadBalancer(self.settings(2), jitter: { 0 })
        #expect(set.eject(0, after: 4, at: self.start) == nil)
        #expect(set.eject(0, after: 5, at: self.start) == .seconds(10))
        #expect(self.picks(&set, 3, at: self.start + .seconds(9)) == [1, 1, 1])
        #expect(Set(self.picks(&set, 4, at: self.start + .seconds(10))) == [0, 1])
        #expect(set.eject(0, after: 5, at: self.start + .seconds(11)) == .seconds(20))
    }

    @Test func `R-33 the longest time is two minutes, and who was in for so long begins anew`() {
        var ejection = Ejection(EjectionSettings())
        var now = self.start
        var spans: [Int64] = []
        for _ in 0..<14 {
            let span = ejection.begin(at: now, jitter: 0)
            spans.append(span.nanoseconds / 1_000_000_000)
            now = ejection.until
        }
        #expect(spans == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 120, 120])
        #expect(ejection.begin(at: now + .seconds(120), jitter: 0) == .seconds(10))
    }

    @Test(arguments: [(-1.0, 8.0), (1.0, 12.0), (99.0, 12.0)])
    func `R-33 a fifth of the time is left to chance`(jitter: Double, seconds: Double) {
        var ejection = Ejection(EjectionSettings())
        let span = ejection.begin(at: self.start, jitter: jitter)
        #expect(abs(Double(span.nanoseconds) / 1e9 - seconds) < 0.001)
    }

    @Test func `U-05 a target that only refuses connections is left out for a second, however often`() {
        var set = LoadBalancer(self.settings(2), jitter: { 1 })
        var now = self.start
        for _ in 0..<20 {
            #expect(set.eject(0, after: 5, isBrief: true, at: now) == .seconds(1))
            #expect(self.picks(&set, 2, at: now) == [1, 1])
            now = now + .seconds(1)
            #expect(set.isAvailable(0, at: now))
        }
        #expect(set.eject(0, after: 5, at: now) == .seconds(12), "what answers with errors begins at the first time")
    }

    @Test func `U-05 only refused connections make an ejection brief`() {
        let outcomes = TargetOutcomes()
        for _ in 0..<4 { outcomes.failed(isUnreachable: true) }
        #expect(outcomes.isOnlyUnreachable && outcomes.failures == 4)
        outcomes.answered(503)
        #expect(!outcomes.isOnlyUnreachable && outcomes.failures == 5)
        outcomes.answered(200)
        #expect(outcomes.isOnlyUnreachable && outcomes.failures == 0)
        outcomes.failed()
        #expect(!outcomes.isOnlyUnreachable)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `U-05 where nothing listens is not asked twice, even if the others are out`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(2, balance), jitter: { 0 })
        #expect(set.eject(1, after: 5, at: self.start) != nil)
        #expect(set.pick(key: 7, at: self.start, avoiding: 0, isGone: true) { _ in 0 } == 1)
        #expect(set.pick(key: 7, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test func `R-33 the last target is never left out`() {
        var set = LoadBalancer(self.settings(2), jitter: { 0 })
        #expect(set.eject(0, after: 5, at: self.start) != nil)
        #expect(set.eject(1, after: 500, at: self.start) == nil)
        var sick = LoadBalancer(self.settings(2), jitter: { 0 })
        sick.setHealth(0, isUp: false, at: self.start)
        #expect(sick.eject(1, after: 500, at: self.start) == nil)
        var single = LoadBalancer(self.settings(1), jitter: { 0 })
        #expect(single.eject(0, after: 500, at: self.start) == nil)
    }

    @Test func `without ejection nobody is left out`() {
        var none = self.settings(2)
        none.ejection = nil
        var set = LoadBalancer(none)
        #expect(set.eject(0, after: 500, at: self.start) == nil)
        var zero = self.settings(2)
        zero.ejection?.failures = 0
        var other = LoadBalancer(zero)
        #expect(other.eject(0, after: 500, at: self.start) == nil)
    }
}
