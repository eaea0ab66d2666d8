// SPDX-License-Identifier: Apache-2.0

import GateAssertion
import GateCore
import Testing

@Suite struct RotationScheduleTests {
    private let schedule = RotationSchedule(publishAhead: .seconds(100), overlap: .seconds(30))

    private func roles(_ created: [Int64], at now: Int64) -> [RotationSchedule.Role] {
        self.schedule.roles(of: created.map(Instant.init(seconds:)), at: Instant(seconds: now))
    }

    @Test func `the first key is active immediately`() {
        #expect(self.roles([1000], at: 1000) == [.active])
        #expect(self.roles([], at: 1000) == [])
    }

    @Test(arguments: [
        (1999, [RotationSchedule.Role.next, .active]), (2099, [.next, .active]), (2100, [.active, .previous]),
        (2129, [.active, .previous]), (2130, [.active, .expired]),
    ])
    func `a key is published before it is active, and the one before it stays valid for a while`(
        now: Int,
        roles: [RotationSchedule.Role]
    ) {
        #expect(self.roles([2000, 1000], at: Int64(now)) == roles)
    }

    @Test func `exactly one key is active at each time, and none expires while it is needed`() {
        let created: [Int64] = [1500, 1180, 1050, 1020, 1000]
        var active = 4
        for now in Int64(1000)...2000 {
            let roles = self.roles(created, at: now)
            #expect(roles.filter { $0 == .active }.count == 1)
            let index = roles.firstIndex(of: .active) ?? 0
            #expect(index <= active)
            active = index
        }
    }

    @Test func `a key expires at the same time whether or not later rotations follow`() {
        // The successor of the first key is used from 300 on, so what the first has sealed is over at 1300.
        let schedule = RotationSchedule(publishAhead: .seconds(100), overlap: .seconds(1000))
        for interval: Int64 in [100, 200, 400, 2000] {
            let created: [Int64] = [0, 200] + stride(from: 200 + interval, through: 1300, by: Int64.Stride(interval))
            let roles: [(Int64, RotationSchedule.Role)] = [(1299, .previous), (1300, .expired)]
            for (now, role) in roles {
                let known = created.filter { $0 <= now }.reversed().map(Instant.init(seconds:))
                #expect(schedule.roles(of: known, at: Instant(seconds: now)).last == role, "every \(interval) s")
            }
        }
    }

    @Test func `keys from the future do not sign while there is another`() {
        #expect(self.roles([5000, 1000], at: 2000) == [.next, .active])
        #expect(self.roles([5000, 4000], at: 2000) == [.next, .active])
    }
}
