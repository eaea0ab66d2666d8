// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GateCore
import GateProviderHTTP
import GateTestSupport
import Testing

@testable import GateOperations

extension PrometheusRegistry {
    /// All that it has, in the Prometheus text format.
    var text: String { String(decoding: MetricsText.bytes(of: self), as: UTF8.self) }

    /// The series, one in each line, without the lines about their kinds.
    var lines: [String] { self.text.split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") } }
}

@Suite struct PinGaugeTests {
    private let registry = PrometheusRegistry()

    /// All gauges but those of the same times in seconds.
    private func recorded(_ fixture: PinFixture) -> [String] {
        withMetricsFactory(self.registry) { fixture.watch.record() }
        return self.registry.lines.filter { !$0.contains("_remaining_seconds{") }
    }

    @Test func `what is left of certificates and pins is there in seconds as well`() throws {
        let set = try PinSet.stub(1, expires: PinFixture.start.advanced(by: .days(40)))
        let fixture = PinFixture(set)
        try fixture.survey([.stub(1, left: .days(50))], at: "id.example.com")
        fixture.clock.advance(by: 40 * 86_400 + 1)
        _ = self.recorded(fixture)
        let place = "provider=\"staff\",host=\"id.example.com\""
        #expect(
            self.registry.lines.filter { $0.contains("_remaining_seconds{") } == [
                "gatehouse_pin_set_remaining_seconds{\(place)} -1.0",
                "gatehouse_provider_certificate_remaining_seconds{\(place),position=\"0\"} 863999.0",
            ]
        )
    }

    @Test func `a host with pins has gauges for its certificates, its pins and their end`() throws {
        let set = try PinSet.stub(2, 8, 9, match: .chain, expires: PinFixture.start.advanced(by: .days(40)))
        let fixture = PinFixture(set)
        try fixture.survey([.stub(1, left: .days(50)), .stub(2, left: .days(60))], at: "id.example.com")
        fixture.clock.advance(by: 1)
        let place = "provider=\"staff\",host=\"id.example.com\""
        #expect(
            self.recorded(fixture) == [
                "gatehouse_pin_backups_unused{\(place)} 2.0", "gatehouse_pin_enforced{\(place)} 1.0",
                "gatehouse_pin_set_days_left{\(place)} 39.0",
                "gatehouse_provider_certificate_days_left{\(place),position=\"0\"} 49.0",
                "gatehouse_provider_certificate_days_left{\(place),position=\"1\"} 59.0",
            ]
        )
    }

    @Test func `a host without pins has gauges for its certificates only, the port in its name`() throws {
        let fixture = PinFixture(["staff": nil])
        let origin = try #require(Origin(scheme: "https", host: "a.example.com", port: 8443))
        fixture.watch.survey("staff", at: origin, [try .stub(1, left: .days(5))])
        let place = "provider=\"staff\",host=\"a.example.com:8443\""
        #expect(
            self.recorded(fixture) == ["gatehouse_provider_certificate_days_left{\(place),position=\"0\"} 5.0"]
        )
    }

    @Test(
        arguments: [
            (.enforce, .report, -1, 1), (.enforce, .report, 0, 0), (.enforce, .reject, 0, 1), (.report, .report, -1, 0),
            (.report, .reject, 0, 1),
        ] as [(PinSet.Mode, PinSet.Expired, Int64, Int)]
    )
    func `pins count as enforced while a mismatch is refused`(
        mode: PinSet.Mode,
        expired: PinSet.Expired,
        second: Int64,
        value: Int
    ) throws {
        let end = PinFixture.start.advanced(by: .days(1))
        let fixture = PinFixture(try PinSet.stub(1, mode: mode, expires: end, expired: expired))
        try fixture.survey([.stub(1)])
        fixture.clock.advance(by: 86_400 + second)
        let line = self.recorded(fixture).first { $0.hasPrefix("gatehouse_pin_enforced{") }
        #expect(line?.hasSuffix("} \(value).0") == true)
    }

    @Test func `gauges follow what is known`() throws {
        let set = try PinSet.stub(1, 2)
        let fixture = PinFixture(set)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1, 3)
        #expect(
            self.recorded(fixture).filter { $0.contains("days_left") }.map { $0.suffix(6) } == [" 200.0", " 200.0"]
        )
        fixture.clock.advance(by: 86_400)
        try fixture.observe(.matched(pin: 0, position: 0), set, showing: 1)
        let lines = self.recorded(fixture)
        #expect(lines.count == 3 && lines.last?.hasSuffix("position=\"0\"} 199.0") == true)
    }

    @Test func `the gauges of a host that is gone disappear, those of the others stay`() throws {
        let set = try PinSet.stub(1)
        let fixture = PinFixture(["staff": PinPolicy(standard: set), "guests": nil])
        for provider in ["staff", "guests"] { try fixture.survey([.stub(1)], of: provider) }
        #expect(self.recorded(fixture).count == 4)
        fixture.watch.adopt(["guests": nil])
        let lines = self.recorded(fixture)
        #expect(lines.count == 1 && lines.first?.contains("provider=\"guests\"") == true)
        #expect(!self.registry.text.contains("gatehouse_pin_"))
        fixture.watch.adopt([:])
        #expect(self.recorded(fixture).isEmpty)
    }

    @Test func `a host that comes back has its gauges again`() throws {
        let fixture = PinFixture(["staff": nil])
        try fixture.survey([.stub(1)])
        let lines = self.recorded(fixture)
        fixture.watch.adopt([:])
        #expect(self.recorded(fixture).isEmpty)
        fixture.watch.adopt(["staff": nil])
        try fixture.survey([.stub(1)])
        #expect(self.recorded(fixture) == lines && !lines.isEmpty)
    }
}

@Suite struct PinCounterTests {
    @Test func `handshakes are counted by the pin that matched and the mode that a mismatch met`() throws {
        let registry = PrometheusRegistry()
        let (set, reporting) = (try PinSet.stub(1, 2, match: .chain), try PinSet.stub(1, mode: .report))
        try withMetricsFactory(registry) {
            let fixture = PinFixture(["a": PinPolicy(standard: set), "b": PinPolicy(standard: reporting)])
            for _ in 0..<2 { try fixture.observe(.matched(pin: 1, position: 3), set, of: "a", showing: 5, 6, 7, 2) }
            try fixture.observe(.mismatched, set, of: "a", showing: 9)
            try fixture.observe(.mismatched, reporting, of: "b", showing: 9)
        }
        let (a, b) = ("provider=\"a\",host=\"id.example.com\"", "provider=\"b\",host=\"id.example.com\"")
        let match = "gatehouse_pin_matches_total{\(a),pin=\"\(try Pin.stub(2))\",position=\"3\"} 2"
        #expect(registry.lines.contains(match))
        #expect(registry.lines.contains("gatehouse_pin_mismatches_total{\(a),mode=\"enforce\"} 1"))
        #expect(registry.lines.contains("gatehouse_pin_mismatches_total{\(b),mode=\"report\"} 1"))
    }

    @Test func `a provider that invents hosts does not make more series than hosts are kept in mind`() throws {
        let registry = PrometheusRegistry()
        try withMetricsFactory(registry) {
            let set = try PinSet.stub(1)
            let fixture = PinFixture(set)
            for number in 0..<70 {
                try fixture.observe(.matched(pin: 0, position: 0), set, at: "h\(number).example.com", showing: 1)
            }
        }
        #expect(registry.lines.count == 64)
    }
}

@Suite struct DestroyedGaugeTests {
    private func gauge(_ registry: PrometheusRegistry, _ name: String, host: String) -> any RecorderHandler {
        registry.makeRecorder(label: name, dimensions: [("host", host)], aggregate: false)
    }

    @Test func `a gauge that is taken away takes no other along`() {
        let registry = PrometheusRegistry()
        registry.makeCounter(label: "c_total", dimensions: []).increment(by: 1)
        registry.makeTimer(label: "t", dimensions: []).recordNanoseconds(1)
        let before = registry.lines
        let gone = self.gauge(registry, "a", host: "x")
        self.gauge(registry, "a", host: "y").record(Int64(2))
        self.gauge(registry, "b", host: "x").record(Int64(3))
        registry.destroyRecorder(gone)
        #expect(registry.lines.filter { !before.contains($0) } == ["a{host=\"y\"} 2.0", "b{host=\"x\"} 3.0"])
        #expect(Set(before).isSubset(of: registry.lines))
    }

    @Test func `with the last gauge of a name its kind is printed no more`() {
        let registry = PrometheusRegistry()
        registry.destroyRecorder(self.gauge(registry, "a", host: "x"))
        #expect(registry.text.isEmpty)
    }

    @Test func `a gauge that is looked up again is a new one, and the old one does no harm`() {
        let registry = PrometheusRegistry()
        let old = self.gauge(registry, "a", host: "x")
        old.record(Int64(5))
        registry.destroyRecorder(old)
        let new = self.gauge(registry, "a", host: "x")
        #expect(registry.lines == ["a{host=\"x\"} 0.0"])
        new.record(Int64(1))
        old.record(Int64(9))
        registry.destroyRecorder(old)
        #expect(registry.lines == ["a{host=\"x\"} 1.0"])
    }
}
