// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateHTTP

@Suite struct ConnectionLimiterTests {
    private static func bounds(
        _ connections: Int,
        _ perAddress: Int,
        _ exempt: [String] = []
    ) -> ConnectionLimiter.Bounds {
        var bounds = ConnectionLimiter.Bounds()
        bounds.connections = connections
        bounds.perClientIP = perAddress
        bounds.exempt = exempt.compactMap { CIDRRange($0) }
        return bounds
    }

    @Test func `no more are open than may be, and who leaves makes room`() {
        let gate = ConnectionLimiter(Self.bounds(2, 0))
        #expect(gate.enter())
        #expect(gate.enter())
        #expect(!gate.enter())
        #expect(gate.count == 2)
        gate.leave()
        #expect(gate.enter())
    }

    @Test func `a client has so many and no more, others are not counted with it`() throws {
        let gate = ConnectionLimiter(Self.bounds(100, 2))
        let claims = try ["2001:db8::1", "2001:db8::2"].map { try #require(gate.claim(IPAddress($0))) }
        #expect(gate.claim(IPAddress("2001:db8::3")) == nil)
        #expect(gate.claim(IPAddress("2001:db8:0:1::3")) != nil)
        #expect(gate.claim(IPAddress("192.0.2.1")) != nil)
        gate.release(try #require(claims.first))
        #expect(gate.claim(IPAddress("2001:db8::3")) != nil)
    }

    @Test func `proxies that come for many are not counted`() {
        let gate = ConnectionLimiter(Self.bounds(100, 1, ["192.0.2.0/24"]))
        for _ in 0..<5 { #expect(gate.claim(IPAddress("192.0.2.1")) != nil) }
        for _ in 0..<5 { #expect(gate.claim(nil) != nil) }
        #expect(gate.claim(IPAddress("198.51.100.1")) != nil)
        #expect(gate.claim(IPAddress("198.51.100.1")) == nil)
    }

    @Test func `other bounds hold for those who come from then on`() {
        let gate = ConnectionLimiter(Self.bounds(1, 1))
        #expect(gate.enter())
        #expect(!gate.enter())
        gate.update(Self.bounds(2, 0))
        #expect(gate.enter())
        for _ in 0..<5 { #expect(gate.claim(IPAddress("198.51.100.1")) != nil) }
        gate.update(Self.bounds(1, 0))
        #expect(gate.limit == 1 && gate.count == 2)
        gate.leave()
        #expect(!gate.enter())
    }
}
