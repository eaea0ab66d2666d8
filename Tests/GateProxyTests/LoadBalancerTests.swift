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

    @Test func `round robin gives each target the same share`() {
        var set = LoadBalancer(self.settings(3))
        #expect(self.picks(&set, 7, at: self.start) == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `a single target is always chosen`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(1, balance))
        set.setHealth(0, isUp: false, at: self.start)
        #expect(self.picks(&set, 3, key: 9, at: self.start) == [0, 0, 0])
        #expect(set.pick(key: 9, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `an unhealthy target is not used, but if all are unhealthy, all are used`(balance: LoadBalancing) {
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

    @Test func `the target with the fewest requests is chosen, round robin among equals`() {
        var set = LoadBalancer(self.settings(3, .leastRequests))
        #expect(self.picks(&set, 3, at: self.start, load: { [5, 2, 9][$0] }) == [1, 1, 1])
        #expect(Set(self.picks(&set, 3, at: self.start)) == [0, 1, 2])
    }

    @Test func `a session keeps its target, and only sessions of an unavailable target move`() {
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

    @Test func `without a session sticky balancing is round robin`() {
        var set = LoadBalancer(self.settings(3, .sticky))
        #expect(self.picks(&set, 3, at: self.start) == [0, 1, 2])
    }

    @Test func `a retry avoids the first target, unless it is the only one available`() {
        var set = LoadBalancer(self.settings(2))
        for _ in 0..<4 { #expect(set.pick(key: 0, at: self.start, avoiding: 0) { _ in 0 } == 1) }
        set.setHealth(1, isUp: false, at: self.start)
        #expect(set.pick(key: 0, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests])
    func `a returning target gets its share gradually`(balance: LoadBalancing) {
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

    @Test func `R-33 five consecutive failures eject a target for ten seconds, the next time for twenty`() {
        var set = LoadBalancer(self.settings(2), jitter: { 0 })
        #expect(set.eject(0, after: 4, at: self.start) == nil)
        #expect(set.eject(0, after: 5, at: self.start) == .seconds(10))
        #expect(self.picks(&set, 3, at: self.start + .seconds(9)) == [1, 1, 1])
        #expect(Set(self.picks(&set, 4, at: self.start + .seconds(10))) == [0, 1])
        #expect(set.eject(0, after: 5, at: self.start + .seconds(11)) == .seconds(20))
    }

    @Test func `R-33 the maximum time is two minutes, and after as long without ejection it starts over`() {
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
    func `R-33 the ejection time has 20 % jitter`(jitter: Double, seconds: Double) {
        var ejection = Ejection(EjectionSettings())
        let span = ejection.begin(at: self.start, jitter: jitter)
        #expect(abs(Double(span.nanoseconds) / 1e9 - seconds) < 0.001)
    }

    @Test func `U-05 a target that only refuses connections is ejected for a second, however often`() {
        var set = LoadBalancer(self.settings(2), jitter: { 1 })
        var now = self.start
        for _ in 0..<20 {
            #expect(set.eject(0, after: 5, isBrief: true, at: now) == .seconds(1))
            #expect(self.picks(&set, 2, at: now) == [1, 1])
            now = now + .seconds(1)
            #expect(set.isAvailable(0, at: now))
        }
        #expect(set.eject(0, after: 5, at: now) == .seconds(12), "error responses start at the first ejection time")
    }

    @Test func `U-05 only refused connections make an ejection brief`() {
        let outcomes = TargetOutcomes()
        for _ in 0..<4 { outcomes.failed(isUnreachable: true) }
        #expect(outcomes.isOnlyUnreachable && outcomes.failures == 4)
        outcomes.responded(503)
        #expect(!outcomes.isOnlyUnreachable && outcomes.failures == 5)
        outcomes.responded(200)
        #expect(outcomes.isOnlyUnreachable && outcomes.failures == 0)
        outcomes.failed()
        #expect(!outcomes.isOnlyUnreachable)
    }

    @Test(arguments: [LoadBalancing.roundRobin, .leastRequests, .sticky])
    func `U-05 an unreachable target is not retried, even if the others are ejected`(balance: LoadBalancing) {
        var set = LoadBalancer(self.settings(2, balance), jitter: { 0 })
        #expect(set.eject(1, after: 5, at: self.start) != nil)
        #expect(set.pick(key: 7, at: self.start, avoiding: 0, isGone: true) { _ in 0 } == 1)
        #expect(set.pick(key: 7, at: self.start, avoiding: 0) { _ in 0 } == 0)
    }

    @Test func `R-33 the last target is never ejected`() {
        var set = LoadBalancer(self.settings(2), jitter: { 0 })
        #expect(set.eject(0, after: 5, at: self.start) != nil)
        #expect(set.eject(1, after: 500, at: self.start) == nil)
        var sick = LoadBalancer(self.settings(2), jitter: { 0 })
        sick.setHealth(0, isUp: false, at: self.start)
        #expect(sick.eject(1, after: 500, at: self.start) == nil)
        var single = LoadBalancer(self.settings(1), jitter: { 0 })
        #expect(single.eject(0, after: 500, at: self.start) == nil)
    }

    @Test func `without ejection no target is left out`() {
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
