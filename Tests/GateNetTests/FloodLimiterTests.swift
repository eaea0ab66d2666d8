// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateNet

@Suite struct FloodLimiterTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    @Test func `H-11 H-12 resets are counted within a window, which then starts over`() {
        var limiter = FloodLimiter(now: self.start)
        let first = (0..<FloodLimiter.resets).map { _ in limiter.countReset(at: self.start) }
        #expect(!first.contains(false))
        let (late, later) = (
            limiter.countReset(at: self.start + .seconds(30)), limiter.countReset(at: self.start + .seconds(31))
        )
        #expect(!late && later)
    }

    @Test func `H-14 frames without content use up the credit`() {
        var limiter = FloodLimiter(now: self.start)
        let first = (0..<(FloodLimiter.maxCredit / 5)).map { _ in limiter.spend(5, at: self.start) }
        let last = limiter.spend(5, at: self.start)
        #expect(!first.contains(false) && !last)
    }

    @Test func `H-14 credit grows with time and with content, up to a limit`() {
        var limiter = FloodLimiter(now: self.start)
        let second = self.start + .seconds(1)
        var results = [limiter.spend(FloodLimiter.maxCredit, at: self.start)]
        results += [limiter.spend(100, at: second), limiter.spend(100, at: second)]
        limiter.earn(300)
        results.append(limiter.spend(100, at: second))
        limiter.earn(1_000_000)
        results.append(limiter.spend(FloodLimiter.maxCredit + 1, at: second))
        #expect(results == [true, true, false, true, false])
    }

    @Test func `H-14 bytes without content are accepted up to a limit`() {
        var limiter = FloodLimiter(now: self.start)
        var results = [limiter.receive(FloodLimiter.overhead), limiter.receive(100)]
        limiter.carry(1000)
        results += [limiter.receive(100), limiter.receive(7000), limiter.receive(8000)]
        #expect(results == [true, false, true, true, false])
    }
}
