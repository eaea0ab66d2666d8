// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import GateTestSupport
import Testing

@testable import GateOperations

private let day: Int64 = 86_400

@Suite struct ExpirySeverityTests {
    @Test(
        arguments: [
            (30 * day + 1, nil), (30 * day, .notice), (30 * day - 1, .notice), (14 * day + 1, .notice),
            (14 * day, .warning), (14 * day - 1, .warning), (3 * day + 1, .warning), (3 * day, .critical),
            (3 * day - 1, .critical), (0, .critical), (-1, .critical), (-400 * day, .critical),
        ] as [(Int64, SecurityEvent.Severity?)]
    )
    func `30, 14 and 3 days before its end something becomes more urgent`(
        left: Int64,
        severity: SecurityEvent.Severity?
    ) {
        let end = PinFixture.start.advanced(by: .seconds(left))
        #expect(SecurityEvent.Severity(of: end, at: PinFixture.start) == severity)
        // Of ten years that is far less than a third.
        #expect(SecurityEvent.Severity(of: end, life: .days(3650), at: PinFixture.start) == severity)
    }

    @Test(
        arguments: [
            (90, 30 * day, nil), (90, 30 * day - 1, .notice), (45, 15 * day, nil), (45, 15 * day - 1, .notice),
            (45, 14 * day, .warning), (30, 10 * day, nil), (30, 10 * day - 1, .warning), (9, 3 * day, nil),
            (9, 3 * day - 1, .critical), (6, 2 * day, nil), (6, 2 * day - 1, .critical), (6, 0, .critical),
            (6, -1, .critical), (0, 0, .critical),
        ] as [(Int64, Int64, SecurityEvent.Severity?)]
    )
    func `what lives shortly is not urgent while a third of its life is left`(
        life: Int64,
        left: Int64,
        severity: SecurityEvent.Severity?
    ) {
        let end = PinFixture.start.advanced(by: .seconds(left))
        #expect(SecurityEvent.Severity(of: end, life: .days(life), at: PinFixture.start) == severity)
    }
}

@Suite struct ExpiryTests {
    @Test func `each certificate that expires soon is reported, with its name, its day and its chain`() throws {
        let fixture = PinFixture(["staff": nil])
        let chain: [ProviderCertificate] = [
            try .stub(1, "CN=leaf", left: .days(2)), try .stub(2, "CN=between", left: .days(20)),
            try .stub(3, "CN=root", left: .days(31)),
        ]
        try fixture.survey(chain)
        #expect(fixture.events.map(\.name) == [.expiring, .expiring])
        #expect(fixture.events.map(\.severity) == [.critical, .notice])
        for (event, certificate) in zip(fixture.events, chain) {
            #expect(event.detail.contains(certificate.subject))
            #expect(event.detail.contains("on \(certificate.notAfter.date)"))
            #expect(event.host == PinFixture.host && event.presented == chain.compactMap(\.publicKeyPin))
        }
        #expect(fixture.lines.events.count == 2)
    }

    @Test func `a certificate without a name is reported as such`() throws {
        let fixture = PinFixture(["staff": nil])
        try fixture.survey([.stub(1, "", left: .days(2))])
        #expect(fixture.events.first?.detail.contains("a certificate without subject") == true)
    }

    @Test func `while nothing expires soon nothing is reported`() throws {
        let fixture = PinFixture(try PinSet.stub(1, expires: PinFixture.start.advanced(by: .days(31))))
        try fixture.survey([.stub(1, age: .days(60), left: .days(30))])
        fixture.watch.tick()
        #expect(fixture.events.isEmpty)
    }

    @Test(arguments: [0, 3600, 85_999] as [Int64])
    func `an expiry is reported at most once a day, however often the host is scanned`(second: Int64) throws {
        let fixture = PinFixture(["staff": nil])
        let chain: [ProviderCertificate] = [try .stub(1, left: .days(10))]
        try fixture.survey(chain)
        fixture.clock.advance(by: second)
        try fixture.survey(chain)
        #expect(fixture.events.count == 1)
    }

    @Test func `a scan once a day reports each day`() throws {
        let fixture = PinFixture(["staff": nil])
        for _ in 0..<3 {
            try fixture.survey([.stub(1, left: .days(20))])
            fixture.clock.advance(by: day)
        }
        #expect(fixture.events.map(\.severity) == [.notice, .notice, .notice])
    }

    @Test func `a new threshold is reported at once`() throws {
        let fixture = PinFixture(["staff": nil])
        let chain: [ProviderCertificate] = [try .stub(1, left: .seconds(14 * day + 60))]
        try fixture.survey(chain)
        fixture.clock.advance(by: 60)
        try fixture.survey(chain)
        #expect(fixture.events.map(\.severity) == [.notice, .warning])
    }

    @Test func `two certificates of a chain with one threshold are two events`() throws {
        let fixture = PinFixture(["staff": nil])
        try fixture.survey([.stub(1, "CN=leaf", left: .days(2)), .stub(2, "CN=between", left: .days(2))])
        #expect(fixture.events.count == 2)
    }
}

/// What of pins ends soon or has ended, whatever hosts show.
@Suite struct PinExpiryTests {
    @Test(
        arguments: [
            (.report, "mismatches are only noted"), (.reject, "all connections are refused"),
        ] as [(PinSet.Expired, String)]
    )
    func `pins that expire are reported with the consequence`(expired: PinSet.Expired, words: String) throws {
        let end = PinFixture.start.advanced(by: .days(14))
        let fixture = PinFixture(try PinSet.stub(1, expires: end, expired: expired))
        #expect(fixture.events.map(\.name) == [.expiring] && fixture.events.first?.severity == .warning)
        let event = try #require(fixture.events.first)
        #expect(event.detail.contains("on \(end.date)") && event.detail.contains(words) && event.host == nil)
    }

    @Test(
        arguments: [
            (.enforce, .report, 0, true), (.enforce, .report, -1, false), (.enforce, .reject, 0, false),
            (.report, .report, 0, false), (.report, .reject, 0, false),
        ] as [(PinSet.Mode, PinSet.Expired, Int64, Bool)]
    )
    func `pins that were enforced until they expired no longer protect, and that is reported`(
        mode: PinSet.Mode,
        expired: PinSet.Expired,
        second: Int64,
        isBypassed: Bool
    ) throws {
        let end = PinFixture.start.advanced(by: .days(1))
        let fixture = PinFixture(try PinSet.stub(1, mode: mode, expires: end, expired: expired))
        fixture.clock.advance(by: day + second)
        fixture.watch.tick()
        let bypassed = fixture.events.filter { $0.name == .bypassed }
        #expect(bypassed.count == (isBypassed ? 1 : 0))
        #expect(bypassed.allSatisfy { $0.severity == .warning && $0.detail.contains("expired on \(end.date)") })
    }

    @Test func `each set of a provider is reported separately`() throws {
        let end = PinFixture.start.advanced(by: .days(10))
        let hosts = ["a.example.com": try PinSet.stub(2, expires: end), "b.example.com": try PinSet.stub(3)]
        let fixture = PinFixture(["staff": PinPolicy(standard: try PinSet.stub(1, expires: end), hosts: hosts)])
        #expect(fixture.events.map(\.host) == [nil, "a.example.com"])
    }

    @Test(arguments: [0, 3600, 85_999] as [Int64])
    func `an expiry is reported at most once a day, however often pins are checked`(second: Int64) throws {
        let fixture = PinFixture(try PinSet.stub(1, expires: PinFixture.start.advanced(by: .days(10))))
        fixture.clock.advance(by: second)
        for _ in 0..<3 { fixture.watch.tick() }
        #expect(fixture.events.count == 1)
    }

    @Test func `the days until pins expire are reported until they are renewed`() throws {
        let fixture = PinFixture(try PinSet.stub(1, expires: PinFixture.start.advanced(by: .days(4))))
        for _ in 0..<3 {
            fixture.clock.advance(by: day)
            fixture.watch.tick()
        }
        #expect(fixture.events.map(\.severity) == [.warning, .critical, .critical, .critical])
        fixture.watch.adopt(["staff": PinPolicy(standard: try PinSet.stub(1))])
        fixture.clock.advance(by: day)
        fixture.watch.tick()
        #expect(fixture.events.count == 4)
    }
}
