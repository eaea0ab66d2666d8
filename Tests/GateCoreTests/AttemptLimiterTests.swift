// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GateCore

/// F-04: what may fail is counted before it is looked at.
@Suite struct AttemptLimiterTests {
    private final class Clock: Sendable {
        private let time = Mutex(Duration.zero)
        func advance(_ duration: Duration) { self.time.withLock { $0 += duration } }
        var now: Duration { self.time.withLock { $0 } }
    }

    private let clock = Clock()
    private let rate = TokenBucket.Rate(perMinute: 3)

    private func limiter() -> AttemptLimiter<String> {
        AttemptLimiter(capacity: 8) { [clock] in clock.now }
    }

    @Test(arguments: [3, 4, 28, 1000])
    func `of any number of attempts at once as many begin as may fail, for each key`(count: Int) {
        let limiter = self.limiter()
        for key in ["ada", "eve"] {
            let begun = (0..<count).compactMap { _ in try? limiter.begin(key, within: self.rate) }
            #expect(begun.count == 3)
        }
    }

    @Test func `who may not begin gets the time to wait, and does not wait longer for having asked`() throws {
        let limiter = self.limiter()
        for _ in 0..<3 { _ = try limiter.begin("ada", within: self.rate) }
        for _ in 0..<5 {
            #expect(throws: TooManyAttempts(wait: .seconds(20))) { try limiter.begin("ada", within: self.rate) }
        }
        self.clock.advance(.seconds(20))
        _ = try limiter.begin("ada", within: self.rate)
    }

    @Test func `an attempt that is released costs nothing, however often it is released`() throws {
        let limiter = self.limiter()
        _ = try limiter.begin("ada", within: self.rate)
        for _ in 0..<100 {
            let attempt = try limiter.begin("ada", within: self.rate)
            attempt.release()
            attempt.release()
        }
        for _ in 0..<2 { _ = try limiter.begin("ada", within: self.rate) }
        #expect(throws: TooManyAttempts.self) { try limiter.begin("ada", within: self.rate) }
    }

    @Test func `an attempt whose token has come back by itself releases none`() throws {
        let limiter = self.limiter()
        let slow = try limiter.begin("ada", within: self.rate)
        self.clock.advance(.seconds(20))
        for _ in 0..<3 { _ = try limiter.begin("ada", within: self.rate) }
        slow.release()
        #expect(throws: TooManyAttempts.self) { try limiter.begin("ada", within: self.rate) }
    }

    @Test func `an attempt that fails after it was released counts, once`() throws {
        let limiter = self.limiter()
        for _ in 0..<3 {
            let attempt = try limiter.begin("ada", within: self.rate)
            attempt.fail()
            attempt.release()
            attempt.fail()
            attempt.fail()
        }
        #expect(throws: TooManyAttempts(wait: .seconds(20))) { try limiter.begin("ada", within: self.rate) }
    }

    @Test func `without a key or a rate nothing is counted`() throws {
        let limiter = self.limiter()
        for _ in 0..<100 {
            _ = try limiter.begin(nil, within: self.rate)
            _ = try limiter.begin("ada", within: TokenBucket.Rate(perMinute: 0))
        }
        _ = try limiter.begin("ada", within: self.rate)
    }
}
