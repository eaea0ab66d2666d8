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
