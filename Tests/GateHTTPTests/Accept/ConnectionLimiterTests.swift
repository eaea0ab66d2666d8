// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateHTTP

@Suite struct ConnectionLimiterTests {
    private static func limits(
        _ connections: Int,
        _ perClientIP: Int,
        _ exempt: [String] = []
    ) -> ConnectionLimiter.Limits {
        var limits = ConnectionLimiter.Limits()
        limits.connections = connections
        limits.perClientIP = perClientIP
        limits.exempt = exempt.compactMap { CIDRRange($0) }
        return limits
    }

    @Test func `at the limit no connection is admitted until another one closes`() {
        let limiter = ConnectionLimiter(Self.limits(2, 0))
        #expect(limiter.admit())
        #expect(limiter.admit())
        #expect(!limiter.admit())
        #expect(limiter.count == 2)
        limiter.connectionClosed()
        #expect(limiter.admit())
    }

    @Test func `a client may open connections up to its limit, and others are counted separately`() throws {
        let limiter = ConnectionLimiter(Self.limits(100, 2))
        let claims = try ["2001:db8::1", "2001:db8::2"].map { try #require(limiter.claim(IPAddress($0))) }
        #expect(limiter.claim(IPAddress("2001:db8::3")) == nil)
        #expect(limiter.claim(IPAddress("2001:db8:0:1::3")) != nil)
        #expect(limiter.claim(IPAddress("192.0.2.1")) != nil)
        limiter.release(try #require(claims.first))
        #expect(limiter.claim(IPAddress("2001:db8::3")) != nil)
    }

    @Test func `exempt proxies are not counted`() {
        let limiter = ConnectionLimiter(Self.limits(100, 1, ["192.0.2.0/24"]))
        for _ in 0..<5 { #expect(limiter.claim(IPAddress("192.0.2.1")) != nil) }
        for _ in 0..<5 { #expect(limiter.claim(nil) != nil) }
        #expect(limiter.claim(IPAddress("198.51.100.1")) != nil)
        #expect(limiter.claim(IPAddress("198.51.100.1")) == nil)
    }

    @Test func `changed limits apply to new connections`() {
        let limiter = ConnectionLimiter(Self.limits(1, 1))
        #expect(limiter.admit())
        #expect(!limiter.admit())
        limiter.update(Self.limits(2, 0))
        #expect(limiter.admit())
        for _ in 0..<5 { #expect(limiter.claim(IPAddress("198.51.100.1")) != nil) }
        limiter.update(Self.limits(1, 0))
        #expect(limiter.limit == 1 && limiter.count == 2)
        limiter.connectionClosed()
        #expect(!limiter.admit())
    }
}
