// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GatePolicy
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct SessionCacheTests {
    private func key(_ ticket: Ticket) throws -> CookieKey {
        let text = Array(ticket.text.utf8)
        let found = CookieKey(text.span)
        return try #require(found)
    }

    @Test(arguments: [0, 1, 43, 55, 57, 4096])
    func `only the length of a ticket makes a key`(length: Int) {
        let text = [UInt8](repeating: 0x61, count: length)
        #expect(CookieKey(text.span) == nil)
    }

    @Test func `keys differ if any character does`() {
        let text = [UInt8](repeating: 0x61, count: 56)
        for position in text.indices {
            var other = text
            other[position] = 0x62
            #expect(CookieKey(other.span) != CookieKey(text.span), "at \(position)")
        }
        #expect(CookieKey(text.span) == CookieKey(text.span))
    }

    @Test func `a session exists on the host of its cookie only`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff(), on: "shop.example.com")
        let cache = SessionCache()
        let key = try self.key(issued.ticket)
        cache.insert(issued.session, for: key, freshFor: .seconds(30), now: .now())
        #expect(cache.session(key, host: "shop.example.com", now: .now()) != nil)
        #expect(cache.session(key, host: GatewayFixture.gate, now: .now()) == nil)
        #expect(cache.session(key, host: "desk.example.com", now: .now()) == nil)
    }

    @Test(arguments: [(100, 30), (30, 30), (5, 5)] as [(Int64, Int64)])
    func `an entry is valid for half a minute or less`(freshFor: Int64, seconds: Int64) async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let cache = SessionCache()
        let key = try self.key(issued.ticket)
        let start = NIODeadline.uptimeNanoseconds(1)
        cache.insert(issued.session, for: key, freshFor: .seconds(freshFor), now: start)
        #expect(cache.session(key, host: GatewayFixture.gate, now: start + .seconds(seconds) - .nanoseconds(1)) != nil)
        #expect(cache.session(key, host: GatewayFixture.gate, now: start + .seconds(seconds)) == nil)
        #expect(cache.count == 0)
    }

    @Test(arguments: [([8, 7], 1), ([8], 0)] as [([UInt8], Int)])
    func `sessions are read again when a secret was removed, and not when one was added`(
        secrets: [UInt8],
        count: Int
    ) async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        #expect(gateway.loop.sessions.count == 1)
        gateway.loop.replace(with: try GatewayFixture(secrets: secrets).runtime)
        #expect(gateway.loop.sessions.count == count)
        // A look-up that began before the reload ends after it.
        gateway.loop.remember(issued.session, of: issued.ticket, in: gateway.runtime.sessions)
        #expect(gateway.loop.sessions.count == count)
    }

    @Test func `a session that has no time left is not cached`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let cache = SessionCache()
        let key = try self.key(issued.ticket)
        cache.insert(issued.session, for: key, freshFor: .seconds(-5), now: .uptimeNanoseconds(10_000_000_000))
        #expect(cache.session(key, host: GatewayFixture.gate, now: .uptimeNanoseconds(10_000_000_000)) == nil)
    }

    @Test func `the end of a family drops all of its sessions and no others`() async throws {
        let gateway = try GatewayFixture()
        let (first, other) = (try await gateway.session(of: .staff()), try await gateway.session(of: .guest))
        let cache = SessionCache()
        for issued in [first, other] {
            cache.insert(issued.session, for: try self.key(issued.ticket), freshFor: .seconds(30), now: .now())
        }
        cache.removeFamily(first.session.familyKey)
        #expect(cache.session(try self.key(first.ticket), host: GatewayFixture.gate, now: .now()) == nil)
        #expect(cache.session(try self.key(other.ticket), host: GatewayFixture.gate, now: .now()) != nil)
        #expect(cache.count == 1)
        cache.insert(first.session, for: try self.key(first.ticket), freshFor: .seconds(30), now: .now())
        #expect(
            cache.session(try self.key(first.ticket), host: GatewayFixture.gate, now: .now()) == nil,
            "by a look-up in progress"
        )
    }

    @Test func `a change of a family drops its sessions, which may come back from the store`() async throws {
        let gateway = try GatewayFixture()
        let (first, other) = (try await gateway.session(of: .staff()), try await gateway.session(of: .guest))
        let cache = SessionCache()
        for issued in [first, other] {
            cache.insert(issued.session, for: try self.key(issued.ticket), freshFor: .seconds(30), now: .now())
        }
        let start = NIODeadline.now()
        cache.familyChanged(first.session.familyKey, now: start)
        let key = try self.key(first.ticket)
        func found(after time: TimeAmount) -> Bool {
            cache.session(key, host: GatewayFixture.gate, now: start + time) != nil
        }
        #expect(!found(after: .zero))
        #expect(cache.session(try self.key(other.ticket), host: GatewayFixture.gate, now: start) != nil)
        cache.insert(first.session, for: key, freshFor: .seconds(30), now: start)
        #expect(found(after: .milliseconds(999)))
        #expect(!found(after: .seconds(1)), "the look-up may have begun before the change")
        cache.insert(first.session, for: key, freshFor: .seconds(30), now: start + .seconds(21))
        #expect(found(after: .seconds(50)))
    }

    @Test func `a family that has ended is remembered for a minute, however many end, and not for ever`() {
        var ended = RecentFamilies(for: .seconds(60))
        let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        ended.insert([1], now: start)
        for number in 0..<60_000 {
            ended.insert([2, UInt8(number & 255), UInt8(number >> 8)], now: start + .seconds(1))
        }
        ended.insert([3], now: start + .seconds(60))
        func contains(_ number: UInt8, after time: Int64) -> Bool {
            ended.contains([number], now: start + .seconds(time))
        }
        #expect(contains(1, after: 60) && contains(3, after: 60) && !contains(4, after: 60))
        ended.insert([4], now: start + .seconds(61))
        #expect(contains(1, after: 61), "the sets take turns")
        ended.insert([5], now: start + .seconds(122))
        #expect(!contains(1, after: 122) && contains(4, after: 122) && contains(4, after: 181))
        #expect(!contains(4, after: 182) && contains(5, after: 241) && !contains(5, after: 242), "nothing else ended")
    }

    @Test func `identity lines are cached for half of the assertion's lifetime`() async throws {
        let gateway = try GatewayFixture()
        let issued = try await gateway.session(of: .staff())
        let session = CachedSession(issued.session, under: .never, freshUntil: .distantFuture)
        let route = try gateway.route("wiki")
        func lines(at now: Instant) throws -> ByteBuffer? {
            guard case .admitted(let lines) = try session.authorization(on: route, runtime: gateway.runtime, now: now)
            else {
                return nil
            }
            return lines
        }
        let first = try lines(at: gateway.clock.now)
        #expect(try first != nil && lines(at: gateway.clock.now.advanced(by: .seconds(59))) == first)
        #expect(try lines(at: gateway.clock.now.advanced(by: .seconds(60))) != first)
        session.dropAuthorizations()
        #expect(try lines(at: gateway.clock.now) != first)
    }
    @Test(arguments: [(30, 30), (60, 60), (119, 119), (600, 120)])
    func `no assertion outlives the date at which a rule ends the access`(end: Int64, lifetime: Int64) async throws {
        let clock = TestClock()
        var app = try GatewayFixture.app("dated", "dated.example.com", "/", ["staff"])
        var entry = AccessEntry(at: RulePlace(line: 1))
        entry.request = [.until(clock.now.advanced(by: .seconds(end)))]
        app.route.access = .entries([entry])
        app.identity.signature = .headers
        let gateway = try GatewayFixture(more: [app])
        let issued = try await gateway.session(of: .staff(), on: "dated.example.com")
        let session = CachedSession(issued.session, under: .never, freshUntil: .distantFuture)
        let route = try gateway.route("dated")
        func lines(after seconds: Int64) throws -> String? {
            let now = clock.now.advanced(by: .seconds(seconds))
            guard case .depends(_, let lines) = try session.authorization(on: route, runtime: gateway.runtime, now: now)
            else { return nil }
            return String(buffer: lines)
        }
        let first = try #require(try lines(after: 0))
        let token = try #require(first.split(separator: "Assertion: ").last)
        let claims = try JSON(parsing: try #require(Base64URL.decode(token.split(separator: ".")[1].utf8)))
        let expiry = clock.now.seconds + lifetime
        #expect(claims["exp"] == .int(expiry))
        #expect(first.contains(";expires=\(expiry);"))
        #expect(try lines(after: min(end, 60) - 1) == first)
        #expect(try lines(after: min(end, 60)) != first, "lines are made again at the end of the access")
    }
}
