// SPDX-License-Identifier: Apache-2.0

import GateNet
import NIOCore
import NIOEmbedded
import Testing

@Suite struct DeadlineSweepTests {
    private final class Member: Expiring {
        var deadline: NIODeadline
        private(set) var expiries = 0

        init(_ deadline: NIODeadline) { self.deadline = deadline }

        func expire() {
            self.expiries += 1
            self.deadline = .distantFuture
        }
    }

    private final class Other: Expiring {
        let deadline = NIODeadline.distantFuture

        func expire() {}
    }

    @Test func `only those whose deadline has passed are told, and once`() {
        let sweep = DeadlineSweep()
        let (early, late, never) = (
            Member(.uptimeNanoseconds(10)), Member(.uptimeNanoseconds(20)), Member(.distantFuture)
        )
        for member in [early, late, never] {
            sweep.add(member)
        }
        sweep.sweep(at: .uptimeNanoseconds(9))
        #expect(early.expiries == 0)
        sweep.sweep(at: .uptimeNanoseconds(10))
        sweep.sweep(at: .uptimeNanoseconds(11))
        #expect(early.expiries == 1 && late.expiries == 0 && never.expiries == 0)
    }

    @Test func `who is removed is told nothing`() {
        let sweep = DeadlineSweep()
        let member = Member(.uptimeNanoseconds(10))
        sweep.add(member)
        sweep.add(member)
        #expect(sweep.count == 1)
        sweep.remove(member)
        sweep.sweep(at: .uptimeNanoseconds(20))
        #expect(member.expiries == 0 && sweep.count == 0)
    }

    @Test func `the loop looks four times a second`() {
        let loop = EmbeddedEventLoop()
        let sweep = DeadlineSweep()
        let member = Member(.uptimeNanoseconds(1))
        sweep.add(member)
        sweep.start(on: loop)
        loop.advanceTime(by: .milliseconds(249))
        #expect(member.expiries == 0)
        loop.advanceTime(by: .milliseconds(1))
        #expect(member.expiries == 1)
        sweep.stop()
        member.deadline = .uptimeNanoseconds(1)
        loop.advanceTime(by: .seconds(10))
        #expect(member.expiries == 1 && sweep.count == 0)
    }

    @Test func `members are found by their type`() {
        let sweep = DeadlineSweep()
        sweep.add(Member(.distantFuture))
        var found = 0
        sweep.forEach(Member.self) { _ in found += 1 }
        sweep.forEach(Other.self) { _ in found += 10 }
        #expect(found == 1)
    }
}
