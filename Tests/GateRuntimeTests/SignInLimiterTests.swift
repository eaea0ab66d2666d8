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

    @Test func `an address may start ten times as many sign-ins a minute as a browser, and another address as many`()
        throws
    {
        let hands = Hands()
        let signIns = SignInLimiter { hands.now }
        let bounds = SignInLimits()
        let ada = try #require(IPAddress("192.0.2.1"))
        #expect(bounds.perMinute == 30)
        for _ in 0..<300 {
            #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
        }
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == "signin.too_often")
        let eve = IPAddress("192.0.2.2")
        #expect(Self.code { () throws(Failure) in try signIns.start(by: eve, within: bounds) } == nil)
        hands.advance(.seconds(2))
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
    }

    @Test func `B-11: a browser that starts sign-ins in a loop takes no place of the others behind its address`() throws
    {
        let hands = Hands()
        let signIns = SignInLimiter { hands.now }
        let bounds = SignInLimits()
        let office = try #require(IPAddress("192.0.2.1"))
        func start(_ browser: String?) -> String? {
            Self.code { () throws(Failure) in try signIns.start(by: office, browser: browser, within: bounds) }
        }
        let looping = (0..<500).map { _ in start("looping") }
        #expect(looping.prefix(30).allSatisfy { $0 == nil })
        #expect(looping.dropFirst(30).allSatisfy { $0 == "signin.too_often" })
        #expect((0..<200).allSatisfy { start("colleague \($0)") == nil })
        #expect(start(nil) == nil)
        hands.advance(.seconds(2))
        #expect(start("looping") == nil && start("looping") == "signin.too_often")
    }

    @Test func `B-11: confirmations count for their session only, whatever its network does, also if memory is short`()
        throws
    {
        let signIns = SignInLimiter()
        let bounds = SignInLimits()
        let office = try #require(IPAddress("192.0.2.1"))
        func confirm(_ family: [UInt8]) -> String? {
            Self.code { () throws(Failure) in try signIns.confirm(family, within: bounds) }
        }
        for _ in 0..<bounds.perNetwork { try signIns.start(by: office, within: bounds) }
        #expect(Self.code { () throws(Failure) in try signIns.start(by: office, within: bounds) } == "signin.too_often")
        signIns.close(true)
        #expect((0..<2000).allSatisfy { confirm([UInt8($0 >> 8), UInt8($0 & 0xFF)]) == nil })
        #expect((1..<30).allSatisfy { _ in confirm([0, 0]) == nil })
        #expect(confirm([0, 0]) == "signin.too_often")
    }

    // F-04: what is counted is counted at the start.
    @Test(arguments: [false, true])
    func `an address whose attempts fail too often is not listened to for a while, also if they begin at once`(
        isLogout: Bool
    ) throws {
        let hands = Hands()
        let signIns = SignInLimiter { hands.now }
        let bounds = SignInLimits()
        let ada = try #require(IPAddress("192.0.2.1"))
        func begin(_ client: IPAddress?) throws(Failure) -> AttemptLimiter<ClientNetwork>.Attempt {
            try isLogout ? signIns.logout(by: client, within: bounds) : signIns.attempt(by: client, within: bounds)
        }
        let begun = (0..<184).compactMap { _ in try? begin(ada) }
        #expect(begun.count == bounds.failuresPerMinute)
        let code = isLogout ? "logout.too_often" : "signin.failing"
        #expect(Self.code { () throws(Failure) in _ = try begin(ada) } == code)
        #expect(Self.code { () throws(Failure) in try signIns.start(by: ada, within: bounds) } == nil)
        #expect(Self.code { () throws(Failure) in _ = try begin(IPAddress("192.0.2.2")) } == nil)
        hands.advance(.seconds(3))
        #expect(Self.code { () throws(Failure) in _ = try begin(ada) } == nil)
        #expect(Self.code { () throws(Failure) in _ = try begin(ada) } == code)
    }

    @Test func `sign-ins that fail delay no logout, and logouts that fail no sign-in`() throws {
        let signIns = SignInLimiter()
        let bounds = SignInLimits()
        let ada = try #require(IPAddress("192.0.2.1"))
        for _ in 0..<bounds.failuresPerMinute { _ = try signIns.attempt(by: ada, within: bounds) }
        for _ in 0..<bounds.failuresPerMinute { _ = try signIns.logout(by: ada, within: bounds) }
        #expect(Self.code { () throws(Failure) in _ = try signIns.logout(by: ada, within: bounds) } != nil)
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
        #expect(Self.code { () throws(Failure) in _ = try signIns.attempt(by: nil, within: bounds) } == nil)
        #expect(Self.code { () throws(Failure) in try signIns.acquire(within: bounds) } == nil)
        signIns.close(false)
        #expect(Self.code { () throws(Failure) in try signIns.start(by: nil, within: bounds) } == nil)
    }
}
