// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateRuntime

/// F-06: requests for one kind of link, or for one domain, stop no other.
@Suite struct AccountMailerLimitsTests {
    private final class Clock: Sendable {
        private let time = Mutex(Duration.zero)
        func advance(_ duration: Duration) { self.time.withLock { $0 += duration } }
        var now: Duration { self.time.withLock { $0 } }
    }

    private let clock = Clock()

    private func limits() -> AccountMailer.Limits { AccountMailer.Limits { [clock] in clock.now } }

    private func address(_ text: String) throws -> EmailAddress { try #require(EmailAddress(text)) }

    /// How many of as many mailboxes of some domains get a message.
    private func sent(
        _ count: Int,
        at domains: Int = 1,
        _ purpose: AccountMailer.Limits.Purpose,
        _ limits: AccountMailer.Limits
    ) throws -> Int {
        try (0..<count).count { number in
            let address = try self.address("user\(number)@d\(number % domains).example")
            return (try? limits.admit(to: address, for: purpose)) != nil
        }
    }

    @Test(arguments: AccountMailer.Limits.Purpose.allCases)
    func `however many ask for links of one kind, users get those of the other`(
        purpose: AccountMailer.Limits.Purpose
    ) throws {
        let limits = self.limits()
        #expect(try self.sent(2000, at: 50, purpose, limits) == 300)
        for other in AccountMailer.Limits.Purpose.allCases where other != purpose {
            #expect(try self.sent(100, at: 1, other, limits) == 100)
        }
    }

    @Test(arguments: AccountMailer.Limits.Purpose.allCases)
    func `the mailboxes of one domain get a hundred an hour, and leave those of others theirs`(
        purpose: AccountMailer.Limits.Purpose
    ) throws {
        let limits = self.limits()
        #expect(try self.sent(320, purpose, limits) == 100)
        _ = try limits.admit(to: self.address("ada@other.example"), for: purpose)
        self.clock.advance(.seconds(36))
        #expect(try self.sent(3, purpose, limits) == 1)
    }

    @Test(arguments: AccountMailer.Limits.Purpose.allCases)
    func `a mailbox gets five an hour, whatever follows a plus sign or in upper case`(
        purpose: AccountMailer.Limits.Purpose
    ) throws {
        let limits = self.limits()
        for text in [
            "ada@example.com", "Ada@example.com", "ada+1@example.com", "ada+2@EXAMPLE.com", "ADA+x+y@example.com",
        ] {
            _ = try limits.admit(to: self.address(text), for: purpose)
        }
        #expect(throws: Failure.self) { try limits.admit(to: self.address("ada+9@example.com"), for: purpose) }
        _ = try limits.admit(to: self.address("eve@example.com"), for: purpose)
    }

    // F-04: what is counted is counted at the start, and released.
    @Test func `a message that is not sent counts for nothing, and one that is over one limit counts for no other`()
        throws
    {
        let limits = self.limits()
        let ada = try self.address("ada@d0.example")
        for _ in 0..<1000 { try limits.admit(to: ada, for: .recovery).release() }
        for _ in 0..<5 { _ = try limits.admit(to: ada, for: .recovery) }
        for _ in 0..<1000 { #expect(throws: Failure.self) { try limits.admit(to: ada, for: .recovery) } }
        #expect(try self.sent(200, .recovery, limits) == 95)
    }

    @Test func `F-04: a mailbox gets what the limit of its domain held up, once that lets it`() throws {
        let limits = self.limits()
        #expect(try self.sent(100, .recovery, limits) == 100)
        let ada = try self.address("ada@d0.example")
        for _ in 0..<10 { #expect(throws: Failure.self) { try limits.admit(to: ada, for: .recovery) } }
        self.clock.advance(.seconds(36))
        _ = try limits.admit(to: ada, for: .recovery)
    }

    @Test func `a client network asks for twenty an hour`() throws {
        let limits = self.limits()
        let client = IPAddress("192.0.2.1")
        let admitted = (0..<100).count { _ in (try? limits.admit(client)) != nil }
        #expect(admitted == 20)
        try limits.admit(IPAddress("192.0.2.2"))
        self.clock.advance(.seconds(180))
        try limits.admit(client)
        #expect(throws: Failure.self) { try limits.admit(client) }
    }
}
