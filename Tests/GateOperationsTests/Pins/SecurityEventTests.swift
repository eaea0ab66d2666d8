// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GateCore
import GateProviderHTTP
import GateTestSupport
import Logging
import Testing

@testable import GateOperations

/// The events of handshakes.
@Suite struct SecurityEventTests {
    @Test(
        arguments: [(.enforce, .critical), (.report, .warning)] as [(PinSet.Mode, SecurityEvent.Severity)]
    )
    func `a mismatch is as urgent as what it leads to`(mode: PinSet.Mode, severity: SecurityEvent.Severity) throws {
        let set = try PinSet.stub(1, mode: mode)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 8, 9)
        let event = try #require(fixture.events.first)
        #expect(event.name == .mismatch && event.severity == severity && event.at == fixture.clock.now)
        #expect(event.provider == "staff" && event.host == PinFixture.host)
        #expect(try event.presented == [.stub(8), .stub(9)])
    }

    @Test func `a mismatch presents what was shown with it, not what was shown before`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1)
        try fixture.observe(.mismatched, set)
        #expect(fixture.events.map(\.presented) == [[]])
    }

    @Test(
        arguments: [
            ([0, 1], nil, true), ([1, 2], nil, true), ([0, 2, 2], nil, true), ([0], nil, false), ([1], nil, false),
            ([2, 1, 0], nil, false), ([0, 0], nil, false), ([0, 1], "google-roots", false),
        ] as [([Int], String?, Bool)]
    )
    func `a host that switches to a later pin is reported, unless the pins are of a list without order`(
        pins: [Int],
        preset: String?,
        isReported: Bool
    ) throws {
        let set = try PinSet.stub(1, 2, 3, preset: preset)
        let fixture = PinFixture(set)
        for pin in pins { try fixture.observe(.matched(pin: pin, position: 0), set, showing: UInt8(pin + 1)) }
        #expect(fixture.events.map(\.name) == (isReported ? [.backupMatched] : []))
        let words = "pin \((pins.last ?? 0) + 1) of 3"
        #expect(fixture.events.allSatisfy { $0.severity == .warning && $0.detail.contains(words) })
    }

    @Test func `a mismatch in between does not hide that a host went over to a later pin`() throws {
        let set = try PinSet.stub(1, 2)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1)
        try fixture.observe(.mismatched, set, showing: 9)
        try fixture.observe(.matched(pin: 1, position: 0), set, showing: 2)
        #expect(fixture.events.map(\.name) == [.mismatch, .backupMatched])
    }

    @Test(arguments: [1, 599])
    func `a mismatch that goes on is reported once in ten minutes`(seconds: Int64) throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        for _ in 0..<3 { try fixture.observe(.mismatched, set, showing: 9) }
        fixture.clock.advance(by: seconds)
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(fixture.events.count == 1 && fixture.lines.events.count == 1)
        fixture.clock.advance(by: 600 - seconds)
        for _ in 0..<3 { try fixture.observe(.mismatched, set, showing: 9) }
        #expect(fixture.events.count == 2 && fixture.lines.events.count == 2)
    }

    @Test func `a match in between does not make the same mismatch news`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1)
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(fixture.events.count == 1)
    }

    @Test func `another host and another provider are reported at once`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)])
        try fixture.observe(.mismatched, set, showing: 9)
        try fixture.observe(.mismatched, set, at: "api.example.com", showing: 9)
        try fixture.observe(.mismatched, set, of: "guests", showing: 9)
        #expect(fixture.events.count == 3)
    }

    @Test func `a host with ever new keys does not fill the log`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        for key in 10..<60 as Range<UInt8> { try fixture.observe(.mismatched, set, showing: key) }
        #expect(fixture.events.count == 1 && fixture.lines.events.count == 1)
    }

    @Test func `a clock that is set back does not silence what happens then`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.clock.advance(by: -86_400)
        for _ in 0..<3 { try fixture.observe(.mismatched, set, showing: 9) }
        #expect(fixture.events.count == 2)
        fixture.clock.advance(by: 600)
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(fixture.events.count == 3)
    }

    @Test func `of each provider the last 20 events are kept, so that none hides those of another`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)])
        try fixture.observe(.mismatched, set, of: "guests", showing: 9)
        for number in 0..<25 { try fixture.observe(.mismatched, set, at: "h\(number).example.com", showing: 9) }
        let hosts = (5..<25).map { Optional("h\($0).example.com") }
        #expect(fixture.events.map(\.host) == [PinFixture.host] + hosts)
        #expect(fixture.events.first?.provider == "guests")
    }

    @Test func `the last 100 events of all providers are shown, the newest first`() throws {
        let set = try PinSet.stub(1)
        let names = (0..<6).map { "p\($0)" }
        let fixture = PinFixture(Dictionary(uniqueKeysWithValues: names.map { ($0, PinPolicy(standard: set)) }))
        for number in 0..<20 {
            for name in names {
                try fixture.observe(.mismatched, set, at: "h\(number).example.com", of: name, showing: 9)
            }
        }
        let shown = fixture.watch.events.map { "\($0.host ?? "") \($0.provider)" }
        let all = (0..<20).flatMap { number in names.map { "h\(number).example.com \($0)" } }
        #expect(shown == Array(all.reversed().prefix(100)))
    }

    @Test func `the events of a provider that is removed are not shown any more`() throws {
        let set = try PinSet.stub(1)
        let policies: [String: PinPolicy?] = ["staff": PinPolicy(standard: set), "guests": PinPolicy(standard: set)]
        let fixture = PinFixture(policies)
        for provider in ["staff", "guests"] { try fixture.observe(.mismatched, set, of: provider, showing: 9) }
        fixture.watch.adopt(["guests": PinPolicy(standard: set)])
        #expect(fixture.events.map(\.provider) == ["guests"])
    }

    @Test func `events of a provider that was removed and comes back are reported again`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.watch.adopt([:])
        fixture.watch.adopt(["staff": PinPolicy(standard: set)])
        try fixture.observe(.mismatched, set, showing: 9)
        #expect(fixture.events.map(\.name) == [.mismatch] && fixture.lines.events.count == 2)
    }

    @Test func `an event has its members in JSON, and no host if it is about all`() throws {
        let pin = try Pin.stub(9)
        var event = SecurityEvent(
            name: .mismatch,
            severity: .critical,
            provider: "staff",
            host: "id.example.com:8443",
            presented: [pin],
            detail: "why",
            at: Instant(seconds: 5)
        )
        let members: [String: JSON] = [
            "event": "pin.mismatch", "severity": "critical", "provider": "staff", "host": "id.example.com:8443",
            "presented": [.string("\(pin)")], "detail": "why", "at": .int(5),
        ]
        #expect(event.json == .object(members))
        event = SecurityEvent(name: .bypassed, severity: .warning, provider: "a", host: nil, detail: "", at: event.at)
        #expect(event.json["host"] == .null && event.json["presented"] == [])
    }
}

/// How an event is reported.
@Suite struct SecurityEventLineTests {
    @Test(
        arguments: [(.enforce, .critical), (.report, .warning)] as [(PinSet.Mode, Logger.Level)]
    )
    func `an event is one line of the log with all its facts`(
        mode: PinSet.Mode,
        level: Logger.Level
    ) throws {
        let set = try PinSet.stub(1, mode: mode)
        let fixture = PinFixture(["staff": PinPolicy(standard: set)])
        let before = fixture.lines.all.count
        try fixture.observe(.mismatched, set, at: "id.example.com", showing: 8, 9)
        let lines = fixture.lines.all.dropFirst(before)
        let line = try #require(lines.first)
        #expect(lines.count == 1 && line.message == "security event" && line.level == level)
        #expect(line.values["event"] == "pin.mismatch" && line.values["severity"] == "\(level)")
        #expect(line.values["provider"] == "staff" && line.values["host"] == PinFixture.host)
        #expect(line.values["presented"] == "\(try Pin.stub(8)) \(try Pin.stub(9))")
        #expect(line.values["detail"]?.isEmpty == false)
    }

    @Test(arguments: SecurityEvent.Severity.allCases)
    func `the level of the line is the severity`(severity: SecurityEvent.Severity) {
        let lines = LogLines()
        SecurityLog(logger: lines.logger).event(
            SecurityEvent(
                name: .expiring,
                severity: severity,
                provider: "staff",
                host: nil,
                detail: "CN=a\nb\u{7F}",
                at: PinFixture.start
            )
        )
        #expect(lines.all.map { "\($0.level)" } == [severity.rawValue])
        #expect(lines.all.first?.values["host"] == "all" && lines.all.first?.values["detail"] == "CN=a\\nb\\u{7F}")
    }

    @Test func `an event that is reported is counted, one that is suppressed is not`() throws {
        let registry = PrometheusRegistry()
        try withMetricsFactory(registry) {
            let set = try PinSet.stub(1)
            let fixture = PinFixture(set)
            for _ in 0..<3 { try fixture.observe(.mismatched, set, showing: 9) }
        }
        let line = "gatehouse_security_events_total{event=\"pin.mismatch\",severity=\"critical\"} 1"
        #expect(registry.lines.contains(line))
    }
}
