// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Synchronization
import Testing

@testable import GateRuntime

@Suite struct SignInLimiterTests {
    private final class Hands: Sendable {
        private let time = Mutex(ContinuousClock.now)
        func advance(_ duration: Duration) { self.time.withLock { $0 += duration } }
        var now: ContinuousClock.Instant { self.time.withLock { $0 } }
    }

    private static func code(_ body: () throws(Failure) -> Void) -> String? {
        do throws(Failure) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `an address may start so many sign-ins a minute, and another address as many`() throws {
        let hands = Hands()
        let signIns = SignInLimiter { hands.now }
        let bounds = SignInLimits()
        let ada = try #require(IPAddress("192.0.2.1"))
        for _ in 0..<30 {
            #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
        }
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == "signin.too_often")
        let eve = IPAddress("192.0.2.2")
        #expect(Self.code { () throws(Failure) in try signIns.start(by: eve, within: bounds) } == nil)
        hands.advance(.seconds(2))
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
    }

    @Test func `an address whose callbacks fail too often is not listened to for a while`() throws {
        let hands = Hands()
        let signIns = SignInLimiter { hands.now }
        let bounds = SignInLimits()
        let ada = try #require(IPAddress("192.0.2.1"))
        for _ in 0..<20 {
            #expect(Self.code { () throws(Failure) in try signIns.refuseIfFailing(ada, within: bounds) } == nil)
            signIns.failed(ada, within: bounds)
        }
        #expect(
            Self.code { () throws(Failure) in try signIns.refuseIfFailing(ada, within: bounds) } == "signin.failing"
        )
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
        hands.advance(.seconds(3))
        #expect(Self.code { () throws(Failure) in try signIns.refuseIfFailing(ada, within: bounds) } == nil)
    }

    @Test func `as many sign-ins as configured are in progress, and one that ends admits another`() {
        let signIns = SignInLimiter()
        var bounds = SignInLimits()
        bounds.inFlight = 1
        #expect(Self.code { () throws(Failure) in try signIns.acquire(within: bounds) } == nil)
        #expect(Self.code { () throws(Failure) in try signIns.acquire(within: bounds) } == "signin.too_many")
        #expect(signIns.count == 1)
        signIns.release()
        #expect(Self.code { () throws(Failure) in try signIns.acquire(within: bounds) } == nil)
    }

    @Test func `while memory is short new sign-ins are rejected, but users on the way back are admitted`() {
        let signIns = SignInLimiter()
        let bounds = SignInLimits()
        signIns.close(true)
        #expect(Self.code { () throws(Failure) in try signIns.start(by: nil, within: bounds) } == "signin.overloaded")
        #expect(Self.code { () throws(Failure) in try signIns.refuseIfFailing(nil, within: bounds) } == nil)
        #expect(Self.code { () throws(Failure) in try signIns.acquire(within: bounds) } == nil)
        signIns.close(false)
        #expect(Self.code { () throws(Failure) in try signIns.start(by: nil, within: bounds) } == nil)
    }
}
