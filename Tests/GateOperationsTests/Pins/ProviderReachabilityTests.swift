// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateOpenID
import GateProviderHTTP
import GateProviders
import GateTestSupport
import Testing

@testable import GateOperations

/// Whether a sign-in may begin; connections have ended here, so that probes find nothing and what is known decides.
@Suite struct ProviderReachabilityTests {
    private static let host = "id.staff.example"
    /// The failure of a sign-in at `staff` with these pins.
    private func rejection(
        _ fixture: PinFixture,
        _ pins: PinPolicy?,
        of provider: String = "staff"
    ) async throws -> String? {
        let line = try CurlTransport(to: provider, trust: ProviderTrust(pins: pins), clock: fixture.clock.clock)
        line.shutdown()
        let board = ProviderTransports([provider: line])
        let reach = ProviderReachability(of: provider, watch: fixture.watch, transports: board)
        let clock = TestClock()
        let transport = FakeProviders(clock: clock)
        let party = try RelyingParty.fake(provider, over: transport, clock: clock.clock)
        do throws(Failure) {
            try await reach.admit(party)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a provider that nothing is known of may be used, with pins and without`() async throws {
        let pins = PinPolicy(standard: try PinSet.stub(1))
        #expect(try await self.rejection(PinFixture(["staff": pins]), pins) == nil)
        #expect(try await self.rejection(PinFixture(["staff": nil]), nil) == nil)
    }

    @Test func `no user is sent to a provider while one of its hosts shows no pinned key`() async throws {
        let set = try PinSet.stub(1)
        let pins = PinPolicy(standard: set)
        let fixture = PinFixture(["staff": pins, "guests": pins])
        try fixture.observe(.mismatched, set, at: Self.host, showing: 9)
        #expect(try await self.rejection(fixture, pins) == "provider.pin_mismatch")
        #expect(try await self.rejection(fixture, pins, of: "guests") == nil)
        try fixture.observe(.matched(pin: 0, position: 0), set, at: Self.host, showing: 1)
        #expect(try await self.rejection(fixture, pins) == nil)
    }

    @Test func `a host that the provider does not call stops no sign-in`() async throws {
        let set = try PinSet.stub(1)
        let pins = PinPolicy(standard: set)
        let fixture = PinFixture(["staff": pins])
        try fixture.observe(.mismatched, set, at: "old.staff.example", showing: 9)
        #expect(try await self.rejection(fixture, pins) == nil)
    }

    @Test func `where pins only report a mismatch stops no sign-in`() async throws {
        let set = try PinSet.stub(1, mode: .report)
        let pins = PinPolicy(standard: set)
        let fixture = PinFixture(["staff": pins])
        try fixture.observe(.mismatched, set, at: Self.host, showing: 9)
        #expect(try await self.rejection(fixture, pins) == nil)
    }

    @Test(
        arguments: [(.report, -1, nil), (.report, 0, nil), (.reject, -1, nil), (.reject, 0, "provider.pins_expired")]
            as [(PinSet.Expired, Int64, String?)]
    )
    func `no user is sent to a provider whose expired pins reject connections`(
        expired: PinSet.Expired,
        second: Int64,
        code: String?
    ) async throws {
        let end = PinFixture.start.advanced(by: .days(40))
        let pins = PinPolicy(standard: try PinSet.stub(1, expires: end, expired: expired))
        let fixture = PinFixture(["staff": pins])
        fixture.clock.advance(by: 40 * 86_400 + second)
        #expect(try await self.rejection(fixture, pins) == code)
    }

    @Test func `no user is sent to a provider one of whose hosts has no pins while pins are enforced`() async throws {
        let pins = PinPolicy(standard: PinSet(pins: []), hosts: ["other.example": try PinSet.stub(1)])
        #expect(try await self.rejection(PinFixture(["staff": pins]), pins) == "provider.pin_missing")
    }
}

/// What is looked at ahead; the connections here have ended, so that no chain is seen.
@Suite struct PinScanTests {
    private let clock = TestClock()
    private let providers: FakeProviders

    init() {
        self.providers = FakeProviders(clock: self.clock)
    }

    private func scan(
        over providers: [String],
        changing change: (inout ProviderSettings) -> Void = { _ in }
    ) async throws -> PinFixture {
        let fixture = PinFixture(["staff": nil, "guests": nil])
        var lines: [String: CurlTransport] = [:]
        for provider in providers {
            let line = try CurlTransport(to: provider, trust: ProviderTrust())
            line.shutdown()
            lines[provider] = line
        }
        let scan = PinScan(watch: fixture.watch, transports: ProviderTransports(lines))
        await scan.run(
            try ["staff", "guests"].map {
                try RelyingParty.fake($0, over: self.providers, clock: self.clock.clock, changing: change)
            }
        )
        return fixture
    }

    @Test func `what a first sign-in needs is fetched ahead`() async throws {
        _ = try await self.scan(over: ["staff", "guests"])
        let documents = ["/.well-known/openid-configuration", "/keys"]
        let wanted = ["staff", "guests"].flatMap { id in documents.map { "https://id.\(id).example\($0)" } }
        #expect(Set(self.providers.requests) == Set(wanted))
    }

    @Test func `a provider without connections is left alone, the others are not`() async throws {
        _ = try await self.scan(over: ["guests"])
        #expect(!self.providers.requests.isEmpty)
        #expect(self.providers.requests.allSatisfy { $0.hasPrefix("https://id.guests.example") })
    }

    @Test func `a provider on plain http is left alone`() async throws {
        _ = try await self.scan(over: ["staff", "guests"]) { $0.issuer = "http://127.0.0.1:8081" }
        #expect(self.providers.requests.isEmpty)
    }

    @Test func `of a host that was not reached nothing is known`() async throws {
        let fixture = try await self.scan(over: ["staff"])
        #expect(fixture.hosts.isEmpty && fixture.lines.all.isEmpty)
    }
}
