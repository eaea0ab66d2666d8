// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import GateProviders
import GateTestSupport
import Logging
import Testing

@testable import GateOperations

@Suite struct PinAdviceTests {
    private func remarks(
        _ set: PinSet?,
        leafAge: Duration = .days(200),
        now: Instant = PinFixture.start
    ) throws -> [String] {
        PinnedHost(set: set, chain: [try .stub(1, age: leafAge), try .stub(2)]).remarks(now: now)
    }

    @Test(arguments: PinPreset.allCases, [(0, false), (1, true), (86_400, true), (-86_400 * 400, false)])
    func `a list that ships with the gateway is old after 180 days`(
        preset: PinPreset,
        second: (after: Int64, isOld: Bool)
    ) throws {
        let end = try #require(Instant(date: preset.date)).advanced(by: .days(180))
        let set = PinSet(match: .chain, mode: .report, pins: preset.pins, preset: preset.name)
        let remarks = try self.remarks(set, now: end.advanced(by: .seconds(second.after)))
        #expect(remarks.count == (second.isOld ? 1 : 0))
        #expect(remarks.allSatisfy { $0.contains(preset.name) && $0.contains(preset.date) })
    }

    @Test func `an old list is reported before its host has shown anything`() throws {
        let set = PinSet(match: .chain, pins: PinPreset.google.pins, preset: PinPreset.google.name)
        let later = PinFixture.start.advanced(by: .days(400))
        #expect(PinnedHost(set: set).remarks(now: later).count == 1)
    }

    @Test(
        arguments: [(.seconds(0), true), (.seconds(100 * 86_400 - 1), true), (.days(100), false), (.days(-1), true)]
            as [(Duration, Bool)]
    )
    func `one pin on a certificate of less than 100 days may be one on a key that does not stay`(
        age: Duration,
        isDoubtful: Bool
    ) throws {
        let remarks = try self.remarks(.stub(1), leafAge: age)
        #expect(remarks.count == (isDoubtful ? 1 : 0) && remarks.allSatisfy { $0.contains("there is one pin") })
    }

    @Test func `pins of a certificate never match the renewed one`() throws {
        let remarks = try self.remarks(.stub(101, 102, match: .certificate))
        let end = PinFixture.start.advanced(by: .days(200)).date
        #expect(remarks.count == 1 && remarks.first?.contains("ends on \(end)") == true)
    }

    @Test func `what is doubtful in two ways has two remarks`() throws {
        #expect(try self.remarks(.stub(101, match: .certificate), leafAge: .days(1)).count == 2)
    }

    @Test(
        arguments: [
            (.enforce, .report, 0, "only noted"), (.enforce, .reject, 0, "refused"), (.enforce, .report, 1, nil),
            (.report, .report, 0, nil), (.report, .reject, 0, "refused"), (.report, .reject, 1, nil),
        ] as [(PinSet.Mode, PinSet.Expired, Int64, String?)]
    )
    func `expired pins are reported where that has a consequence`(
        mode: PinSet.Mode,
        expired: PinSet.Expired,
        left: Int64,
        words: String?
    ) throws {
        let end = PinFixture.start.advanced(by: .seconds(left))
        let remarks = try self.remarks(.stub(1, 2, mode: mode, expires: end, expired: expired))
        #expect(remarks.count == (words == nil ? 0 : 1))
        #expect(remarks.allSatisfy { $0.contains(words ?? "") && $0.contains(end.date) })
    }

    @Test func `without pins, with a backup or above the certificate itself nothing is doubtful`() throws {
        #expect(try self.remarks(nil, leafAge: .days(1)).isEmpty)
        #expect(try self.remarks(.stub(1, 2), leafAge: .days(1)).isEmpty)
        #expect(try self.remarks(.stub(2, match: .chain), leafAge: .days(1)).isEmpty)
        #expect(PinnedHost(set: try .stub(1)).remarks(now: PinFixture.start).isEmpty)
    }

    @Test func `a survey warns of what is doubtful, once for each remark`() throws {
        let fixture = PinFixture(try PinSet.stub(101, match: .certificate))
        try fixture.survey([.stub(1, age: .days(1))])
        let lines = fixture.lines.all.filter { $0.message == "pins" }
        #expect(lines.count == 2 && lines.allSatisfy { $0.level == .warning && $0.values["host"] == PinFixture.host })
    }
}
