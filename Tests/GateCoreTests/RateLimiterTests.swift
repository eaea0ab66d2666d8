// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateCore

@Suite struct RateLimiterTests {
    private static func client(_ text: String) throws -> ClientNetwork {
        ClientNetwork(of: try #require(IPAddress(text)))
    }

    @Test func `a client may do at once what it may do in a minute, then a step at a time`() throws {
        var table = RateLimiter<ClientNetwork>(capacity: 8)
        let ada = try Self.client("192.0.2.1")
        for _ in 0..<30 {
            let wait = table.take(ada, perMinute: 30, at: .seconds(5))
            #expect(wait == nil)
        }
        let wait1 = table.take(ada, perMinute: 30, at: .seconds(5))
        #expect(wait1 == .seconds(2))
        let wait2 = table.take(ada, perMinute: 30, at: .milliseconds(6999))
        #expect(wait2 == .milliseconds(1))
        let wait3 = table.take(ada, perMinute: 30, at: .seconds(7))
        #expect(wait3 == nil)
        let wait4 = table.take(ada, perMinute: 30, at: .seconds(7))
        #expect(wait4 == .seconds(2))
    }

    @Test func `after a quiet minute a bucket is full and no fuller`() throws {
        var table = RateLimiter<ClientNetwork>(capacity: 8)
        let ada = try Self.client("192.0.2.1")
        _ = table.take(ada, perMinute: 2, at: .zero)
        for _ in 0..<2 {
            let wait = table.take(ada, perMinute: 2, at: .seconds(3600))
            #expect(wait == nil)
        }
        let wait5 = table.take(ada, perMinute: 2, at: .seconds(3600))
        #expect(wait5 != nil)
    }

    @Test func `who is refused does not wait longer for having asked`() throws {
        var table = RateLimiter<ClientNetwork>(capacity: 8)
        let ada = try Self.client("192.0.2.1")
        _ = table.take(ada, perMinute: 1, at: .zero)
        for second in 1...59 {
            let wait = table.take(ada, perMinute: 1, at: .seconds(second))
            #expect(wait == .seconds(60 - second))
        }
        let wait6 = table.take(ada, perMinute: 1, at: .seconds(60))
        #expect(wait6 == nil)
    }

    @Test func `without a rate there is no limit, and nothing is remembered`() throws {
        var table = RateLimiter<ClientNetwork>(capacity: 8)
        let ada = try Self.client("192.0.2.1")
        for _ in 0..<1000 {
            let wait = table.take(ada, perMinute: 0, at: .zero)
            #expect(wait == nil)
        }
        #expect(table.count == 0)
    }

    @Test func `the table never knows more than its capacity, and forgets who was seen longest ago`() throws {
        var table = RateLimiter<ClientNetwork>(capacity: 100)
        let first = try Self.client("10.0.0.1")
        let regular = try Self.client("10.0.0.2")
        _ = table.take(first, perMinute: 1, at: .zero)
        for number in 0..<1000 {
            _ = table.take(try Self.client("10.1.\(number / 250).\(number % 250)"), perMinute: 1, at: .zero)
            if number % 20 == 0 { _ = table.take(regular, perMinute: 100, at: .zero) }
            #expect(table.count <= 100)
        }
        #expect(table.refill(of: first) == nil)
        #expect(table.refill(of: regular) != nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
        ("2001:db8::1", "2001:db8::ffff:2", true), ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true), ("::1", "192.0.2.1", false),
    ])
    func `one IPv4 address is one client, and so is a whole IPv6 network of 64 bits`(
        one: String,
        other: String,
        isSame: Bool
    ) throws {
        #expect(try (Self.client(one) == Self.client(other)) == isSame)
    }

    @Test(arguments: ["192.0.2.1", "255.0.0.255", "2001:db8::1", "::", "fe80::1:2:3:4"])
    func `an address is made of its bytes`(text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(IPAddress(packed: address.bytes) == address)
        if address.isIPv4 { #expect(IPAddress(packed: Array(address.bytes.suffix(4))) == address) }
        #expect(IPAddress(packed: Array(address.bytes.prefix(5))) == nil)
    }
}
