// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateOpenID

@Suite struct AttemptTests {
    private static let now = Instant(seconds: 1_790_000_000)
    private let sealer = Sealer(
        [Secret(text: String(repeating: "k", count: 32))],
        random: countingRandom()
    )

    private func attempt(_ path: String = "/wiki?page=1", replacedTicket: String? = "app") throws -> Attempt {
        Attempt(
            provider: "staff",
            returnPath: try #require(ReturnPath(path)),
            replacedTicket: replacedTicket,
            now: Self.now,
            random: countingRandom()
        )
    }

    @Test(arguments: [nil, "", "wiki.example.com\u{1F600}"])
    func `an attempt comes out of its cookie as it went in`(replacedTicket: String?) throws {
        let attempt = try self.attempt(replacedTicket: replacedTicket)
        let value = attempt.sealed(by: self.sealer, cookie: "__Host-attempt-1")
        #expect(Attempt(sealed: value, by: self.sealer, cookie: "__Host-attempt-1") == attempt)
    }

    @Test func `T-03 a cookie opens under its own name only, and only unchanged`() throws {
        let value = try self.attempt().sealed(by: self.sealer, cookie: "__Host-attempt-1")
        #expect(Attempt(sealed: value, by: self.sealer, cookie: "__Host-attempt-2") == nil)
        let flipped = value.dropLast() + (value.hasSuffix("A") ? "Q" : "A")
        for changed in ["", "A", String(flipped), "\(value)A", "\(value)=", String(value.dropLast(4))] {
            #expect(Attempt(sealed: changed, by: self.sealer, cookie: "__Host-attempt-1") == nil)
        }
        let other = Sealer([Secret(text: String(repeating: "x", count: 32))])
        #expect(Attempt(sealed: value, by: other, cookie: "__Host-attempt-1") == nil)
    }

    private static let login = AuthenticationDemand(
        maxAge: .zero,
        reauthenticates: true,
        asker: "a b",
        isOfClient: true
    )

    /// The release before reads version 1; it knows neither silent attempts nor demands, and must not complete one without the other.
    @Test(
        arguments: [(false, nil, 1), (true, nil, 2), (true, Self.login, 2), (false, Self.login, 3)]
            as [(Bool, AuthenticationDemand?, UInt8)]
    )
    func `R-06: an attempt has the version of the release before unless it is silent or has a demand`(
        isSilent: Bool,
        demand: AuthenticationDemand?,
        version: UInt8
    ) throws {
        let attempt = Attempt(
            provider: "staff",
            returnPath: .root,
            replacedTicket: nil,
            isSilent: isSilent,
            demand: demand,
            now: Self.now,
            random: countingRandom()
        )
        let sealed = try #require(Base64URL.decode(attempt.sealed(by: self.sealer, cookie: "c")))
        #expect(self.sealer.open(sealed, for: "attempt/c")?.first == version)
        let opened = Attempt(sealed: attempt.sealed(by: self.sealer, cookie: "c"), by: self.sealer, cookie: "c")
        #expect(opened == attempt && opened?.isSilent == isSilent && opened?.demand == (isSilent ? nil : demand))
    }

    // E-02
    @Test(arguments: [true, false], [true, false])
    func `what a sign-in is asked for comes out of its cookie as it went in`(isOfClient: Bool, isEnforced: Bool) throws
    {
        for (age, reauthenticates) in [(0, true), (300, false), (86_400, true)] as [(Int64, Bool)] {
            var demand = AuthenticationDemand(
                maxAge: .seconds(age),
                reauthenticates: reauthenticates,
                asker: "an id",
                isOfClient: isOfClient
            )
            demand.isEnforced = isEnforced
            #expect(AuthenticationDemand(encoded: demand.encoded) == demand)
        }
        for text in ["", "0", "0 l", "-1 l a", "x l a"] { #expect(AuthenticationDemand(encoded: text) == nil) }
    }

    @Test func `R-06: an attempt of a newer version does not open`() throws {
        let value = try self.attempt().sealed(by: self.sealer, cookie: "c")
        let sealed = try #require(Base64URL.decode(value))
        var plain = try #require(self.sealer.open(sealed, for: "attempt/c"))
        plain[0] = 4
        let newer = Base64URL.encode(self.sealer.seal(plain, for: "attempt/c"))
        #expect(Attempt(sealed: newer, by: self.sealer, cookie: "c") == nil)
    }

    @Test func `an attempt lasts ten minutes, and the cookie opens afterwards so that it can be reported as expired`()
        throws
    {
        let attempt = try self.attempt()
        #expect(attempt.expiry == Self.now.advanced(by: .seconds(600)))
        #expect(Attempt(sealed: attempt.sealed(by: self.sealer, cookie: "c"), by: self.sealer, cookie: "c") == attempt)
    }

    @Test func `the largest attempt fits 2500 characters and opens, and a longer path becomes the front page`() throws {
        let longest = "/" + String(repeating: "a", count: Attempt.maxReturnPathLength - 1)
        let replacedTicket = String(repeating: "h", count: 256)
        let name = String(repeating: "p", count: 63)
        let attempt = Attempt(
            provider: name,
            returnPath: try #require(ReturnPath(longest)),
            replacedTicket: replacedTicket,
            demand: AuthenticationDemand(
                maxAge: .seconds(3_153_600_000),
                reauthenticates: true,
                asker: String(repeating: "i", count: 22),
                isOfClient: true
            ),
            now: Self.now,
            random: countingRandom()
        )
        #expect(attempt.returnPath.value == longest)
        let value = attempt.sealed(by: self.sealer, cookie: "c")
        #expect(value.utf8.count <= 2500)
        #expect(Attempt(sealed: value, by: self.sealer, cookie: "c") == attempt)
        #expect(try self.attempt().sealed(by: self.sealer, cookie: "c").utf8.count <= 500)
        let shortened = try self.attempt(longest + "a").returnPath
        #expect(shortened.value == "/")
    }

    @Test func `T-04 state, nonce and verifier are random, of 256 bits, and differ per attempt`() throws {
        let random = countingRandom()
        let attempts = (0..<3).map { _ in
            Attempt(provider: "staff", returnPath: .root, replacedTicket: nil, now: Self.now, random: random)
        }
        let secrets = attempts.flatMap { [$0.state, $0.nonce, $0.verifier] }
        #expect(Set(secrets).count == 9)
        #expect(attempts.allSatisfy { $0.verifier.utf8.count == 43 && $0.nonce.utf8.count == 43 })
        #expect(attempts.allSatisfy { Attempt.id(inState: $0.state) == $0.id })
    }

    @Test(arguments: [
        "", ".", "a.b", String(repeating: "a", count: 66), "../etc", String(repeating: "a", count: 100_000),
    ])
    func `a foreign state names no attempt`(state: String) {
        #expect(Attempt.id(inState: state) == nil)
    }

    @Test func `the challenge is the S256 example of RFC 7636`() {
        let attempt = Attempt(
            id: "",
            state: "",
            nonce: "",
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            provider: "",
            returnPath: .root,
            replacedTicket: nil,
            expiry: Self.now,
            isSilent: false,
            demand: nil
        )
        #expect(attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    @Test func `T-02 an attempt is used once until it would have ended`() throws {
        let spent = UsedAttempts()
        let attempt = try self.attempt()
        #expect(spent.insert(attempt, at: Self.now))
        #expect(!spent.insert(attempt, at: Self.now))
        #expect(!spent.insert(attempt, at: Self.now.advanced(by: .seconds(599))))
    }
}
