// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateSessions
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct MachineCacheTests {
    private static let tokens = Result { try MachineCacheTests.made(3 * MachineCache.maxRejected + 2) }
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private var cache = MachineCache()

    /// Tokens as requests bring them.
    private static func made(_ count: Int) throws -> [MachineCredential] {
        let names = FieldNames(alsoManaged: [])
        return try (0..<count).map { number in
            var parser = RequestParser(names: names, isSecure: true)
            var buffer = ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer t\(number)\r\n\r\n")
            let head = try #require(try parser.head(from: &buffer))
            guard case .token(let found) = MachineCredential.field(of: head, takesBasic: false) else {
                throw Failure(.tokenRejected, "a token is not read")
            }
            return found
        }
    }

    private func token(_ number: Int) throws -> MachineCredential { try Self.tokens.get()[number] }

    private mutating func keep(_ number: Int, at now: NIODeadline, for lifetime: TimeAmount = .minutes(1)) throws {
        let profile = Profile(provider: "token", issuer: "https://gate.example.com", subject: "a")
        let session = Session.machine(profile, id: "id", family: "family", now: Instant(seconds: 0))
        let known = CachedSession(session, under: .never, freshUntil: .distantFuture)
        let entry = MachineCache.Entry.valid(known, ends: nil)
        self.cache.insert(entry, for: try self.token(number), at: nil, lifetime: lifetime, now: now)
    }

    private mutating func reject(_ number: Int, at now: NIODeadline, _ failure: Failure.Reason = .tokenRejected) throws
    {
        let entry = MachineCache.Entry.rejected(Failure(failure, "no"))
        self.cache.insert(entry, for: try self.token(number), at: nil, lifetime: .zero, now: now)
    }

    private func isKnown(_ number: Int, at now: NIODeadline) throws -> Bool {
        self.cache.entry(try self.token(number), at: nil, now: now) != nil
    }

    /// How many tokens the cache has.
    private func count(at now: NIODeadline) throws -> Int {
        try Self.tokens.get().count { self.cache.entry($0, at: nil, now: now) != nil }
    }

    @Test mutating func `a full cache drops what is stale, and keeps what is valid`() throws {
        for number in 0..<100 { try self.keep(number, at: self.start, for: .seconds(5)) }
        for number in 100..<MachineCache.maxValid { try self.keep(number, at: self.start) }
        let later = self.start + .seconds(6)
        try self.keep(MachineCache.maxValid, at: later)
        #expect(try self.count(at: later) == MachineCache.maxValid - 100 + 1)
        // At the time of the first ones they would be known if they were still there.
        #expect(try !self.isKnown(0, at: self.start) && !self.isKnown(99, at: self.start))
    }

    @Test mutating func `valid tokens over the limit are not kept beside all others`() throws {
        for number in 0..<MachineCache.maxValid { try self.keep(number, at: self.start) }
        #expect(try self.count(at: self.start) == MachineCache.maxValid)
        try self.keep(MachineCache.maxValid, at: self.start)
        #expect(try self.count(at: self.start) == 1)
        #expect(try self.isKnown(MachineCache.maxValid, at: self.start))
    }

    @Test mutating func `rejected tokens are bounded, and remove no valid one`() throws {
        let limit = MachineCache.maxRejected
        try self.keep(0, at: self.start)
        for number in 1...2 * limit { try self.reject(number, at: self.start) }
        #expect(try self.count(at: self.start) == 2 * limit + 1)
        for number in 2 * limit + 1...3 * limit + 1 {
            try self.reject(number, at: self.start)
        }
        #expect(try self.count(at: self.start) == limit + 1 + 1)
        #expect(try self.isKnown(0, at: self.start) && self.isKnown(3 * limit + 1, at: self.start))
        #expect(try !self.isKnown(1, at: self.start))
    }

    @Test mutating func `a rejection counts for ten seconds, a failure for one, a valid token as long as it may`()
        throws
    {
        try self.reject(1, at: self.start)
        try self.reject(2, at: self.start, .providerUserinfoUnavailable)
        try self.keep(3, at: self.start, for: .seconds(30))
        let (start, known) = (self.start, self.isKnown)
        func after(_ milliseconds: Int64) throws -> [Bool] {
            try (1...3).map { try known($0, start + .milliseconds(milliseconds)) }
        }
        #expect(try after(999) == [true, true, true])
        #expect(try after(1000) == [true, false, true])
        #expect(try after(9999) == [true, false, true])
        #expect(try after(10_000) == [false, false, true])
        #expect(try after(30_000) == [false, false, false])
    }

    @Test mutating func `a token that is rejected is not valid any more`() throws {
        try self.keep(1, at: self.start)
        try self.reject(1, at: self.start)
        guard case .rejected? = self.cache.entry(try self.token(1), at: nil, now: self.start) else {
            Issue.record("it is rejected")
            return
        }
    }
}
