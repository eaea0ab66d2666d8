// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateAccounts

extension PasswordThrottle {
    /// Lets an attempt begin that fails; returns how long to wait instead.
    fileprivate func admit(_ name: [UInt8], from source: Source) -> Duration? {
        do throws(TooManyAttempts) {
            _ = try self.begin(name, from: source)
            return nil
        } catch {
            return error.wait
        }
    }
}

@Suite struct PasswordThrottleTests {
    /// A monotonic clock that tests move.
    private final class Timer: Sendable {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        var now: ContinuousClock.Instant { self.start + self.passed.withLock { $0 } }

        func move(_ time: Duration) { self.passed.withLock { $0 += time } }
    }

    private func network(_ number: Int) throws -> PasswordThrottle.Source {
        .network(ClientNetwork(of: try #require(IPAddress("198.51.\(number / 250).\(number % 250 + 1)"))))
    }

    private let account: [UInt8] = [1]

    @Test func `five attempts are free, then each waits twice as long as the one before`() throws {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        let source = try self.network(1)
        for _ in 0..<5 { #expect(throttle.admit(self.account, from: source) == nil) }
        for exponent in 0..<8 {
            let wait = try #require(throttle.admit(self.account, from: source))
            #expect(wait == .seconds(1 << exponent))
            timer.move(wait)
            #expect(throttle.admit(self.account, from: source) == nil)
        }
    }

    @Test func `an attempt that has to wait does not count`() throws {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        let source = try self.network(1)
        for _ in 0..<5 { _ = throttle.admit(self.account, from: source) }
        for _ in 0..<1000 { #expect(throttle.admit(self.account, from: source) == .seconds(1)) }
    }

    @Test func `the right password ends the wait of its source only`() throws {
        let throttle = PasswordThrottle()
        let (first, second) = (try self.network(1), try self.network(2))
        for source in [first, second] { for _ in 0..<4 { _ = throttle.admit(self.account, from: source) } }
        let right = try throttle.begin(self.account, from: first)
        #expect(throttle.admit(self.account, from: second) == nil)
        right.succeeded()
        #expect(throttle.admit(self.account, from: first) == nil)
        #expect(throttle.admit(self.account, from: second) != nil)
    }

    @Test func `an attempt that is taken back does not count, and takes no other one back`() throws {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        let source = try self.network(1)
        for _ in 0..<4 { #expect(throttle.admit(self.account, from: source) == nil) }
        for _ in 0..<100 { try throttle.begin(self.account, from: source).withdrawn() }
        #expect(throttle.admit(self.account, from: source) == nil)
        #expect(throttle.admit(self.account, from: source) == .seconds(1))
        timer.move(.seconds(1))
        try throttle.begin(self.account, from: source).withdrawn()
        #expect(throttle.admit(self.account, from: source) == nil)
        #expect(throttle.admit(self.account, from: source) == .seconds(2))
        let others = try (2..<100).count { try throttle.admit(self.account, from: self.network($0)) == nil }
        #expect(others == 14, "20 from all networks, of which this one has used six")
    }

    @Test func `another account waits for nothing`() throws {
        let throttle = PasswordThrottle()
        let source = try self.network(1)
        for _ in 0..<6 { _ = throttle.admit(self.account, from: source) }
        #expect(throttle.admit([2], from: source) == nil)
    }

    @Test func `from all networks together there are 20 free attempts, then 20 an hour`() throws {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        let admitted = try (0..<10_000).count { try throttle.admit(self.account, from: self.network($0)) == nil }
        #expect(admitted == 20)
        timer.move(.seconds(3600))
        let later = try (10_000..<20_000).count { try throttle.admit(self.account, from: self.network($0)) == nil }
        #expect(later == 20)
    }

    @Test func `right passwords are not counted`() throws {
        let throttle = PasswordThrottle()
        for number in 0..<1000 {
            let source = try self.network(number)
            try throttle.begin(self.account, from: source).succeeded()
        }
    }

    @Test func `ten thousand guesses do not stop a device that the user has signed in from`() throws {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        for number in 0..<10_000 {
            _ = try throttle.admit(self.account, from: self.network(number))
            timer.move(.milliseconds(10))
        }
        #expect(throttle.admit(self.account, from: .device([7])) == nil)
        #expect(throttle.admit(self.account, from: try self.network(20_000)) != nil)
    }

    @Test func `a device waits as well, but never for more than half a minute`() {
        let timer = Timer()
        let throttle = PasswordThrottle { timer.now }
        var longest = Duration.zero
        for _ in 0..<50 {
            guard let wait = throttle.admit(self.account, from: .device([7])) else { continue }
            longest = max(longest, wait)
            timer.move(wait)
        }
        #expect(longest == .seconds(30))
    }

    // F-04: what is counted is counted at the start.
    @Test(arguments: [5, 6, 28, 184])
    func `of many attempts at once from one source five begin, and twenty from all`(count: Int) throws {
        let throttle = PasswordThrottle()
        let source = try self.network(1)
        let begun = (0..<count).compactMap { _ in try? throttle.begin(self.account, from: source) }
        #expect(begun.count == 5)
        let sources = try (2..<200).map { try self.network($0) }
        let others = sources.compactMap { try? throttle.begin(self.account, from: $0) }
        #expect(others.count == 15)
    }

    @Test func `what is remembered is bounded`() throws {
        let throttle = PasswordThrottle(capacity: 64)
        let source = try self.network(1)
        for _ in 0..<5 { _ = throttle.admit(self.account, from: source) }
        for number in 0..<10_000 {
            _ = throttle.admit(accountDigest("test", "\(number)".utf8), from: source)
        }
        #expect(throttle.admit(self.account, from: source) == nil, "the oldest one is dropped")
    }
}
