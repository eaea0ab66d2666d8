// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GateOperations

/// Pins that a reload disables.
@Suite struct PinChangeTests {
    private static let host = "api.example.com"
    private static let past = PinFixture.start.advanced(by: .seconds(-1))

    /// The pins of a provider, in short.
    enum Pins: String, CaseIterable {
        case none
        case enforced
        case enforcedWithOthers
        case reported
        case expiredIntoReport
        case expiredIntoRejection
        case hostEnforced
        case hostReported
        case hostEnforcedOthersReported
        case hostsOnly
    }

    private func policy(_ pins: Pins) throws -> PinPolicy? {
        let enforced = try PinSet.stub(1)
        let reported = try PinSet.stub(1, mode: .report)
        return switch pins {
        case .none: nil
        case .enforced: PinPolicy(standard: enforced)
        case .enforcedWithOthers: PinPolicy(standard: try PinSet.stub(2, 3, match: .chain))
        case .reported: PinPolicy(standard: reported)
        case .expiredIntoReport: PinPolicy(standard: try PinSet.stub(1, expires: Self.past))
        case .expiredIntoRejection: PinPolicy(standard: try PinSet.stub(1, expires: Self.past, expired: .reject))
        case .hostEnforced: PinPolicy(standard: enforced, hosts: [Self.host: try PinSet.stub(4)])
        case .hostReported: PinPolicy(standard: enforced, hosts: [Self.host: reported])
        case .hostEnforcedOthersReported: PinPolicy(standard: reported, hosts: [Self.host: enforced])
        case .hostsOnly: PinPolicy(standard: PinSet(pins: []), hosts: [Self.host: enforced])
        }
    }

    private func event(from old: Pins, to new: Pins) throws -> SecurityEvent? {
        .bypass(of: "staff", from: try self.policy(old), to: try self.policy(new), at: PinFixture.start)
    }

    @Test(
        arguments: [
            (.enforced, .reported), (.enforced, .none), (.enforced, .expiredIntoReport),
            (.expiredIntoRejection, .reported), (.expiredIntoRejection, .none), (.hostEnforced, .reported),
            (.hostEnforced, .none), (.hostsOnly, .reported), (.hostsOnly, .none),
        ] as [(Pins, Pins)]
    )
    func `pins that were enforced for every host and no longer are reported`(old: Pins, new: Pins) throws {
        let event = try #require(try self.event(from: old, to: new))
        #expect(event.name == .bypassed && event.severity == .warning && event.at == PinFixture.start)
        #expect(event.provider == "staff" && event.host == nil)
        #expect(event.detail.contains("removed from the file") == (new == .none))
    }

    @Test(
        arguments: [
            (.hostEnforced, .hostReported), (.enforced, .hostReported), (.hostEnforcedOthersReported, .reported),
            (.hostEnforcedOthersReported, .none), (.hostsOnly, .hostReported),
        ] as [(Pins, Pins)]
    )
    func `if only one host's pins are disabled, the event names it`(old: Pins, new: Pins) throws {
        let event = try self.event(from: old, to: new)
        #expect(event?.name == .bypassed && event?.host == Self.host)
    }

    @Test(
        arguments: [
            (.reported, .reported), (.reported, .none), (.reported, .enforced), (.none, .none), (.none, .reported),
            (.none, .enforced), (.enforced, .enforced), (.enforced, .enforcedWithOthers), (.enforced, .hostsOnly),
            (.enforced, .expiredIntoRejection), (.enforced, .hostEnforced), (.hostEnforced, .enforced),
            (.hostReported, .enforced), (.hostReported, .hostReported), (.expiredIntoReport, .reported),
            (.expiredIntoReport, .none), (.hostEnforcedOthersReported, .enforced),
        ] as [(Pins, Pins)]
    )
    func `a reload that disables no pins reports nothing`(old: Pins, new: Pins) throws {
        #expect(try self.event(from: old, to: new) == nil)
    }

    @Test(arguments: [Pins.none, .enforced, .reported, .hostReported, .hostEnforcedOthersReported, .hostsOnly])
    func `at the start nothing counts as disabled`(pins: Pins) throws {
        #expect(PinFixture(["staff": try self.policy(pins)]).events.isEmpty)
    }

    @Test(arguments: Pins.allCases)
    func `a provider that is removed does not count, since no user can sign in with it`(pins: Pins) throws {
        let fixture = PinFixture(["staff": try self.policy(pins)])
        let before = fixture.lines.events.count
        fixture.watch.adopt([:])
        #expect(fixture.lines.events.count == before)
    }

    @Test func `each reload that disables pins is reported, however soon after the last`() throws {
        let fixture = PinFixture(["staff": try self.policy(.enforced)])
        for pins in [.reported, .enforced, .reported] as [Pins] {
            fixture.watch.adopt(["staff": try self.policy(pins)])
        }
        #expect(fixture.events.map(\.name) == [.bypassed, .bypassed] && fixture.lines.events.count == 2)
        #expect(fixture.lines.events.first?.values["host"] == "all")
    }

    @Test func `every provider that loses its pins is reported`() throws {
        let (old, new) = (try self.policy(.enforced), try self.policy(.reported))
        let fixture = PinFixture(["staff": old, "guests": old, "others": old])
        fixture.watch.adopt(["staff": new, "guests": nil, "others": old])
        #expect(fixture.events.map(\.provider) == ["guests", "staff"])
    }
}
