// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOpenID

@Suite struct FetchScheduleTests {
    private let start = Instant(seconds: 1_790_000_000)
    private let hour = Duration.seconds(3600)

    private func at(_ seconds: Int64) -> Instant { self.start.advanced(by: .seconds(seconds)) }

    private func loaded() -> FetchSchedule {
        var cycle = FetchSchedule()
        _ = cycle.documentWanted(at: self.start)
        cycle.fetched(at: self.start, lifetime: self.hour)
        return cycle
    }

    @Test func `the first caller fetches, all others wait for it`() {
        var cycle = FetchSchedule()
        #expect(cycle.documentWanted(at: self.start) == .fetch)
        #expect(cycle.documentWanted(at: self.start) == .wait)
        #expect(cycle.newerWanted(at: self.start) == .wait)
        cycle.fetched(at: self.start, lifetime: self.hour)
        #expect(cycle.documentWanted(at: self.start) == .use)
    }

    @Test func `at four fifths of its lifetime a document is fetched again while it is used`() {
        var cycle = self.loaded()
        #expect(cycle.documentWanted(at: self.at(2879)) == .use)
        #expect(cycle.documentWanted(at: self.at(2880)) == .useAndFetch)
        #expect(cycle.documentWanted(at: self.at(2881)) == .use)
    }

    @Test func `T-52 an old document is used for a day more if fetching fails, and no longer`() {
        var cycle = self.loaded()
        #expect(cycle.documentWanted(at: self.at(3600)) == .fetch)
        cycle.failed(at: self.at(3600))
        #expect(cycle.documentWanted(at: self.at(3600)) == .use)
        #expect(cycle.documentWanted(at: self.at(7200)) == .useAndFetch)
        #expect(cycle.documentWanted(at: self.at(7200)) == .use)
        cycle.failed(at: self.at(7200))
        #expect(cycle.documentWanted(at: self.at(7200)) == .use)
        #expect(cycle.documentWanted(at: self.at(90_000)) == .fetch)
        cycle.failed(at: self.at(90_000))
        #expect(cycle.documentWanted(at: self.at(90_000)) == .refuse)
    }

    @Test func `X-20: how long a document is used that cannot be fetched is bounded, and its age is known`() {
        var cycle = FetchSchedule()
        cycle.staleness = .seconds(600)
        #expect(cycle.age(at: self.start) == nil)
        _ = cycle.documentWanted(at: self.start)
        cycle.fetched(at: self.start, lifetime: self.hour)
        #expect(cycle.age(at: self.at(3599))?.isStale == false)
        _ = cycle.documentWanted(at: self.at(3600))
        cycle.failed(at: self.at(3600))
        #expect(cycle.age(at: self.at(4199))?.age == .seconds(4199))
        #expect(cycle.age(at: self.at(4199))?.isStale == true)
        #expect(cycle.documentWanted(at: self.at(4199)) == .useAndFetch)
        cycle.failed(at: self.at(4199))
        #expect(cycle.age(at: self.at(4200)) == nil)
        #expect(cycle.documentWanted(at: self.at(4210)) == .fetch)
    }

    @Test func `failures are spaced further and further, but never more than ten seconds`() {
        var cycle = FetchSchedule()
        var now: Int64 = 0
        for pause in [1, 2, 4, 8, 10, 10, 10, 10] as [Int64] {
            #expect(cycle.documentWanted(at: self.at(now)) == .fetch)
            cycle.failed(at: self.at(now))
            #expect(cycle.documentWanted(at: self.at(now + pause - 1)) == .refuse)
            #expect(cycle.newerWanted(at: self.at(now + pause - 1)) == .refuse)
            now += pause
        }
        #expect(cycle.documentWanted(at: self.at(now)) == .fetch)
        cycle.fetched(at: self.at(now), lifetime: self.hour)
        #expect(cycle.newerWanted(at: self.at(now)) == .fetch)
    }

    @Test func `a clock that is set back makes a document old, and stops no fetch`() {
        var cycle = self.loaded()
        #expect(cycle.documentWanted(at: self.at(-86_400)) == .fetch)
        cycle.failed(at: self.at(0))
        #expect(cycle.documentWanted(at: self.at(-5)) == .useAndFetch)
    }

    @Test(
        arguments: [
            (nil, nil, 3600), ("max-age=7200", nil, 7200), ("public, max-age=24873, must-revalidate", "5059", 19_814),
            ("max-age=60", nil, 300), ("max-age=7200", "7100", 300), ("max-age=99999999999999999999", nil, 86_400),
            ("max-age=-1", nil, 3600), ("no-store", nil, 300), ("private, no-cache, max-age=7200", nil, 300),
            ("max-age=banana", nil, 3600), ("Max-Age = 7200", nil, 7200), ("max-age=7200, max-age=600", nil, 600),
            ("max-age=7200", "99999999999999999999", 300),
        ] as [(String?, String?, Int64)]
    )
    func `a response is fresh for max-age less age, from five minutes to a day`(
        control: String?,
        age: String?,
        seconds: Int64
    ) {
        var headers: [(name: String, value: String)] = []
        if let control { headers.append((name: "Cache-Control", value: control)) }
        if let age { headers.append((name: "Age", value: age)) }
        #expect(ProviderResponse(status: 200, headers: headers).documentLifetime == .seconds(seconds))
    }

    @Test func `T-50 of ten thousand unknown names one leads to a fetch, in thirty seconds`() {
        var unknown = UnknownKeyLimiter()
        let fetches = (0..<10_000).filter { unknown.mayFetch("k\($0)", at: self.start) }
        #expect(fetches == [0])
        #expect(unknown.mayFetch("x", at: self.at(29)) == false)
        #expect(unknown.mayFetch("x", at: self.at(30)) == true)
    }

    @Test func `a name that a fetch did not bring is not fetched for again within a minute`() {
        var unknown = UnknownKeyLimiter()
        #expect(unknown.mayFetch("x", at: self.start) == true)
        unknown.stillAbsent("x", at: self.start)
        #expect(unknown.mayFetch("x", at: self.at(59)) == false)
        #expect(unknown.mayFetch("x", at: self.at(60)) == true)
    }

    @Test func `the memory of absent names is bounded and forgets`() {
        var unknown = UnknownKeyLimiter()
        for number in 0..<5000 { unknown.stillAbsent("k\(number)", at: self.start) }
        #expect(unknown.mayFetch("k1023", at: self.at(1)) == false)
        #expect(unknown.mayFetch("k1024", at: self.at(1)) == true)
        unknown.stillAbsent("late", at: self.at(60))
        #expect(unknown.mayFetch("late", at: self.at(100)) == false)
    }
}
