// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateSessions

@Suite struct RecheckBreakerTests {
    private var breaker = RecheckBreaker()

    private mutating func fail(_ count: Int, at now: Duration) {
        for _ in 0..<count { self.breaker.failed(at: now, wait: nil, jitter: 0) }
    }

    @Test mutating func `it opens after five failures in a row`() {
        self.fail(4, at: .zero)
        #expect(self.breaker.admit(at: .zero) == nil)
        self.breaker.succeeded(at: .zero)
        self.fail(4, at: .zero)
        #expect(self.breaker.admit(at: .zero) == nil)
        self.fail(1, at: .zero)
        #expect(self.breaker.admit(at: .seconds(1)) == .seconds(9))
    }

    @Test mutating func `while it is open, one probe begins every ten seconds`() {
        self.fail(5, at: .zero)
        #expect(self.breaker.admit(at: .seconds(10)) == nil)
        #expect(self.breaker.admit(at: .seconds(10)) == .seconds(10))
        #expect(self.breaker.admit(at: .seconds(19)) == .seconds(1))
        self.fail(1, at: .seconds(12))
        #expect(self.breaker.admit(at: .seconds(21)) == .seconds(1))
    }

    @Test mutating func `R-41 after an outage at most twenty re-checks begin in a second, for a minute`() {
        self.fail(5, at: .zero)
        #expect(self.breaker.admit(at: .seconds(20)) == nil)
        self.breaker.succeeded(at: .seconds(20))
        var begun = 0
        for step in 0..<1000 where self.breaker.admit(at: .seconds(20) + .milliseconds(step)) == nil { begun += 1 }
        #expect(begun == 20)
        #expect((0..<100).allSatisfy { _ in self.breaker.admit(at: .seconds(81)) == nil })
    }

    @Test mutating func `a provider's Retry-After is honored, for five minutes at most`() {
        self.breaker.failed(at: .zero, wait: .seconds(120), jitter: 0)
        #expect(self.breaker.admit(at: .zero) == nil)
        self.breaker.failed(at: .zero, wait: .seconds(120), jitter: 0)
        #expect(self.breaker.admit(at: .zero) == .seconds(120))
        self.breaker.failed(at: .zero, wait: .seconds(86_400), jitter: 0)
        #expect(self.breaker.admit(at: .zero) == .seconds(300))
    }
}

/// Which requests wait for a re-check, and when the next one of a family may begin.
@Suite struct RechecksInProgressTests {
    private let rechecks = Rechecks()
    private let family: [UInt8] = [1]

    @Test func `more than 256 requests do not wait for one re-check`() async {
        let (end, ended) = AsyncStream.makeStream(of: Void.self)
        let recheck = self.rechecks.recheck(of: self.family) {
            for await _ in end {}
            return .changed
        }
        guard let recheck else {
            Issue.record("no re-check")
            return
        }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<300 {
                group.addTask { await recheck.outcome(within: .seconds(60)) == nil }
            }
            var rejected = 0
            while rejected < 44, await group.next() == true { rejected += 1 }
            #expect(rejected == 300 - RecheckInProgress.maxWaiting)
            ended.finish()
            while let isRejected = await group.next() { #expect(!isRejected) }
        }
    }

    @Test func `requests of one family share one re-check`() async {
        let (end, ended) = AsyncStream.makeStream(of: Void.self)
        let first = self.rechecks.recheck(of: self.family) {
            for await _ in end {}
            return .needsUser
        }
        let second = self.rechecks.recheck(of: self.family) { .ended }
        #expect(first === second)
        ended.finish()
        guard case .needsUser = await second?.outcome(within: .seconds(60)) else {
            Issue.record("it is another one")
            return
        }
    }

    @Test(arguments: [(1, 10), (2, 20), (3, 40), (5, 160), (6, 300), (100, 300)] as [(Int, Int)])
    func `each failure about the same user doubles the pause, up to five minutes`(count: Int, seconds: Int) {
        let failure = Failure(.idTokenNonce, "test")
        #expect(FailedRecheck(failure: failure, inRow: count, at: .seconds(7)).end == .seconds(7 + seconds))
    }

    @Test func `an outage of the provider pauses a family for ten seconds, however often it fails`() {
        let failure = Failure(.providerTimeout, "test")
        #expect(FailedRecheck(failure: failure, inRow: 0, at: .zero).end == .seconds(10))
        self.rechecks.failed(self.family, failure, isOutage: true)
        #expect(self.rechecks.recentFailure(of: self.family)?.reason == .providerTimeout)
        self.rechecks.succeeded(self.family)
        #expect(self.rechecks.recentFailure(of: self.family) == nil)
    }
}
