// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import GateTestSupport
import Logging
import Testing

@testable import GateOperations

@Suite struct PinDiagnosticsTests {
    @Test func `a host without a pinned key refuses new sign-ins where pins are enforced`() throws {
        let set = try PinSet.stub(1, 2)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        let rejected = try #require(fixture.watch.rejectedHosts(of: "staff", among: [PinFixture.origin()]).first)
        #expect(try rejected.origin == PinFixture.origin())
        #expect(rejected.failure.kind == .providerFailed && rejected.failure.reason == .providerPinMismatch)
    }

    @Test func `a host without a pinned key is not rejected where pins only report`() throws {
        let set = try PinSet.stub(1, 2, mode: .report)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(try fixture.refused().isEmpty && fixture.known()?.mismatchedAt == fixture.clock.now)
    }

    @Test(arguments: [0, 1])
    func `a pinned key ends the rejection, also that of a backup`(pin: Int) throws {
        let set = try PinSet.stub(1, 2)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.clock.advance(by: 5)
        try fixture.observe(.matched(pin: pin, position: 0), set, showing: 1)
        #expect(try fixture.refused().isEmpty)
        let host = try #require(try fixture.known())
        #expect(host.mismatchedAt == PinFixture.start && host.matchedAt == PinFixture.start.advanced(by: .seconds(5)))
    }

    @Test(arguments: PinSet.Expired.allCases, [false, true])
    func `pins that have expired refuse no host by what it showed before or shows now`(
        expired: PinSet.Expired,
        isShownAgain: Bool
    ) throws {
        let set = try PinSet.stub(1, 2, expires: PinFixture.start.advanced(by: .seconds(60)), expired: expired)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.clock.advance(by: 59)
        #expect(try fixture.refused() == [PinFixture.host])
        fixture.clock.advance(by: 1)
        if isShownAgain { try fixture.observe(.mismatched, set, showing: 9) }
        #expect(try fixture.refused().isEmpty)
        if isShownAgain { #expect(try fixture.known()?.failure == nil) }
    }

    @Test func `each host is refused until it shows a pinned key, and only those that are called count`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        let (a, b, c) = ("a.example.com", "b.example.com", "c.example.com")
        for host in [b, a] { try fixture.observe(.mismatched, set, at: host, showing: 9) }
        #expect(try fixture.refused(a, b, c) == [a, b] && fixture.refused(c, b) == [b] && fixture.refused(c).isEmpty)
        try fixture.observe(.matched(pin: 0, position: 0), set, at: a, showing: 1)
        #expect(try fixture.refused(a, b, c) == [b])
    }

    @Test func `the rejection of one provider does not affect another that calls the same host`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)])
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(try fixture.refused() == [PinFixture.host] && fixture.refused(of: "guests").isEmpty)
    }
}

@Suite struct PinWatchTests {
    @Test func `a handshake under pins that are no longer in force changes nothing`() throws {
        let (old, new) = (try PinSet.stub(1), try PinSet.stub(2))
        let fixture = PinFixture(old)
        fixture.watch.adopt(["staff": PinPolicy(standard: new)])
        try fixture.observe(.mismatched, old, showing: 2)
        #expect(try fixture.hosts.isEmpty && fixture.events.isEmpty && fixture.refused().isEmpty)
        fixture.watch.adopt(["staff": nil])
        try fixture.observe(.mismatched, new, showing: 3)
        #expect(try fixture.hosts.isEmpty && fixture.refused().isEmpty)
    }

    @Test func `a host is judged by its own pins, not by those of the others`() throws {
        let (own, others) = (try PinSet.stub(1), try PinSet.stub(2))
        let fixture = PinFixture(["staff": PinPolicy(standard: others, hosts: [PinFixture.host: own])])
        try fixture.observe(.mismatched, others, showing: 9)
        #expect(fixture.hosts.isEmpty)
        try fixture.observe(.mismatched, own, showing: 9)
        #expect(try fixture.known()?.set == own)
    }

    @Test func `reports about an unknown provider are ignored`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, of: "missing", showing: 9)
        try fixture.survey([.stub(9, left: .days(1))], of: "missing")
        #expect(fixture.hosts.isEmpty && fixture.events.isEmpty && fixture.lines.all.isEmpty)
    }

    @Test func `of one provider 64 hosts are kept in mind, and those go on being watched`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)])
        for number in 0..<70 {
            try fixture.observe(.matched(pin: 0, position: 0), set, at: "h\(number).example.com", showing: 1)
        }
        #expect(fixture.hosts.count == 64)
        try fixture.observe(.mismatched, set, at: "h69.example.com", showing: 9)
        try fixture.observe(.mismatched, set, at: "h0.example.com", showing: 9)
        #expect(try fixture.refused("h69.example.com", "h0.example.com") == ["h0.example.com"])
        try fixture.observe(.matched(pin: 0, position: 0), set, of: "guests", showing: 1)
        #expect(fixture.hosts.count == 65)
    }

    @Test func `a survey keeps no more hosts in mind either`() throws {
        let fixture = PinFixture(["staff": nil])
        for number in 0..<70 { try fixture.survey([.stub(1)], at: "h\(number).example.com") }
        #expect(fixture.hosts.count == 64)
    }

    @Test func `a chain that was too large to be shown does not replace the one that is known`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1, 2)
        try fixture.observe(.matched(pin: 0, position: 0), set)
        #expect(try fixture.known()?.chain.map(\.publicKeyPin) == [.stub(1), .stub(2)])
    }

    @Test func `a scan records the chain and the pins of a host, and when`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        fixture.clock.advance(by: 7)
        try fixture.survey([.stub(1), .stub(2)])
        let host = try #require(try fixture.known())
        #expect(host.set == set && host.chain.count == 2 && host.surveyedAt == fixture.clock.now)
        let line = try #require(fixture.lines.all.first { $0.message == "provider chain" })
        #expect(line.level == .info && line.values["host"] == PinFixture.host && line.values["provider"] == "staff")
        #expect(line.values["chain"]?.contains("\(try Pin.stub(1)) is pin 1") == true)
    }

    @Test func `a scan neither rejects a provider nor ends a rejection`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.survey([.stub(9)])
        #expect(try fixture.refused().isEmpty)
        try fixture.observe(.mismatched, set, showing: 9)
        try fixture.survey([.stub(1)])
        #expect(try fixture.refused() == [PinFixture.host])
    }
}

/// What becomes of it when all hosts of a provider were looked at.
@Suite struct PinSurveyedTests {
    @Test func `hosts that a provider calls no more are forgotten, those of others are not`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)])
        for host in ["a.example.com", "b.example.com"] {
            for provider in ["staff", "guests"] {
                try fixture.observe(.mismatched, set, at: host, of: provider, showing: 9)
            }
        }
        fixture.watch.surveyed("staff", [try PinFixture.origin("b.example.com")])
        let known = fixture.hosts.keys.sorted().map { "\($0.provider) \($0.origin.host)" }
        #expect(known == ["guests a.example.com", "guests b.example.com", "staff b.example.com"])
    }

    @Test(arguments: [(0, nil, false), (1, nil, true), (1, "google-roots", false)] as [(Int, String?, Bool)])
    func `a backup that is in use is reported once a day`(pin: Int, preset: String?, isReported: Bool) throws {
        let set = try PinSet.stub(1, 2, preset: preset)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: pin, position: 0), set, showing: UInt8(pin + 1))
        for _ in 0..<3 { fixture.watch.surveyed("staff", [try PinFixture.origin()]) }
        #expect(fixture.events.map(\.name) == (isReported ? [.backupMatched] : []))
        fixture.clock.advance(by: 86_400)
        fixture.watch.surveyed("staff", [try PinFixture.origin()])
        #expect(fixture.events.count == (isReported ? 2 : 0))
    }

    @Test func `of pins that several hosts share each may use its own`() throws {
        let set = try PinSet.stub(1, 2, 3)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: 0, position: 0), set, at: "a.example.com", showing: 1)
        try fixture.observe(.matched(pin: 1, position: 0), set, at: "b.example.com", showing: 2)
        fixture.watch.surveyed(
            "staff",
            [try PinFixture.origin("a.example.com"), try PinFixture.origin("b.example.com")]
        )
        #expect(fixture.events.isEmpty)
    }

    @Test func `what another host with pins of its own uses makes no backup the one in use`() throws {
        let (set, own) = (try PinSet.stub(1, 2), try PinSet.stub(3, 4))
        let fixture = PinFixture(["staff": PinPolicy(standard: set, hosts: ["b.example.com": own])])
        try fixture.observe(.matched(pin: 1, position: 0), set, at: "a.example.com", showing: 2)
        try fixture.observe(.matched(pin: 0, position: 0), own, at: "b.example.com", showing: 3)
        fixture.watch.surveyed(
            "staff",
            [try PinFixture.origin("a.example.com"), try PinFixture.origin("b.example.com")]
        )
        #expect(fixture.events.map(\.host) == ["a.example.com"])
    }
}

@Suite struct PinAdoptionTests {
    @Test func `what is known stays as long as the pins stay`() throws {
        let set = try PinSet.stub(1)
        let policies: [String: PinPolicy?] = ["staff": PinPolicy(standard: set), "guests": nil]
        let fixture = PinFixture(policies)
        try fixture.observe(.mismatched, set, showing: 9)
        try fixture.survey([.stub(3)], of: "guests")
        fixture.watch.adopt(policies)
        #expect(try fixture.hosts.count == 2 && fixture.refused() == [PinFixture.host])
    }

    @Test func `with other pins nothing is known of that provider, and of the others what was`() throws {
        let (old, new) = (try PinSet.stub(1), try PinSet.stub(9))
        let fixture = PinFixture(["staff": PinPolicy(standard: old), "guests": PinPolicy(standard: old)])
        for provider in ["staff", "guests"] { try fixture.observe(.mismatched, old, of: provider, showing: 9) }
        fixture.watch.adopt(["staff": PinPolicy(standard: new), "guests": PinPolicy(standard: old)])
        #expect(fixture.hosts.keys.map(\.provider) == ["guests"])
        #expect(try fixture.refused().isEmpty && fixture.refused(of: "guests") == [PinFixture.host])
    }

    @Test(arguments: [false, true])
    func `a provider that loses its pins or goes is known no more`(isGone: Bool) throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.watch.adopt(isGone ? [:] : ["staff": nil])
        #expect(try fixture.hosts.isEmpty && fixture.refused().isEmpty)
    }

    @Test func `pins that only report are logged each time they come into force`() throws {
        let reporting = try PinSet.stub(1, mode: .report, preset: "google-roots")
        let hosts = ["api.example.com": try PinSet.stub(1, mode: .report), "id.example.com": try PinSet.stub(1)]
        let policies: [String: PinPolicy?] = [
            "staff": PinPolicy(standard: reporting, hosts: hosts), "plain": nil,
            "hostsOnly": PinPolicy(standard: PinSet(mode: .report, pins: [])),
        ]
        let fixture = PinFixture(policies)
        let lines = fixture.lines.all.filter { $0.message == "pins are in mode report" }
        #expect(lines.map { $0.values["provider"] } == ["staff", "staff"])
        #expect(lines.map { $0.values["host"] } == ["all", "api.example.com"])
        #expect(lines.map { $0.values["preset"] } == ["google-roots", "none"])
        fixture.watch.adopt(policies)
        #expect(fixture.lines.all.count == 2 * lines.count)
    }
}
