// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite struct FloodLimiterTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `H-11 H-12 so many resets are counted together, and forgotten after a while`() {
        var guardian = FloodLimiter(now: self.start)
        let first = (0..<FloodLimiter.resets).map { _ in guardian.countReset(at: self.start) }
        #expect(!first.contains(false))
        let (late, later) = (
            guardian.countReset(at: self.start + .seconds(30)), guardian.countReset(at: self.start + .seconds(31))
        )
        #expect(!late && later)
    }

    @Test func `H-14 credit is used up by frames that carry nothing`() {
        var guardian = FloodLimiter(now: self.start)
        let first = (0..<(FloodLimiter.maxCredit / 5)).map { _ in guardian.spend(5, at: self.start) }
        let last = guardian.spend(5, at: self.start)
        #expect(!first.contains(false) && !last)
    }

    @Test func `H-14 credit grows with time and with what is carried, up to a bound`() {
        var guardian = FloodLimiter(now: self.start)
        let second = self.start + .seconds(1)
        var answers = [guardian.spend(FloodLimiter.maxCredit, at: self.start)]
        answers += [guardian.spend(100, at: second), guardian.spend(100, at: second)]
        guardian.earn(300)
        answers.append(guardian.spend(100, at: second))
        guardian.earn(1_000_000)
        answers.append(guardian.spend(FloodLimiter.maxCredit + 1, at: second))
        #expect(answers == [true, true, false, true, false])
    }

    @Test func `H-14 bytes that carry nothing are let through up to a bound`() {
        var guardian = FloodLimiter(now: self.start)
        var answers = [guardian.receive(FloodLimiter.overhead), guardian.receive(100)]
        guardian.carry(1000)
        answers += [guardian.receive(100), guardian.receive(7000), guardian.receive(8000)]
        #expect(answers == [true, false, true, true, false])
    }
}
