// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviderHTTP
import GateTestSupport
import Testing

@testable import GateOperations

/// A host that shows the keys 1, 2 and 3, its own first; the hash of its own certificate is 101.
@Suite struct PinnedHostTests {
    private func host(_ set: PinSet?) throws -> PinnedHost {
        PinnedHost(set: set, chain: try [1, 2, 3].map { try .stub($0) })
    }

    @Test(
        arguments: [
            (.publicKey, 1, 0), (.publicKey, 2, nil), (.publicKey, 3, nil), (.publicKey, 101, nil),
            (.certificate, 101, 0), (.certificate, 1, nil), (.certificate, 102, nil), (.chain, 1, 0), (.chain, 2, 1),
            (.chain, 3, 2), (.chain, 9, nil), (.chain, 101, nil),
        ] as [(PinSet.Match, UInt8, Int?)]
    )
    func `a pin is of the certificate that its set compares`(match: PinSet.Match, pin: UInt8, position: Int?) throws {
        let host = try self.host(.stub(pin, match: match))
        #expect(host.position(of: try .stub(pin)) == position)
        #expect(host.firstMatch?.position == position && host.unusedPins == (position == nil ? 1 : 0))
        for place in 0..<3 { #expect(host.pin(at: place) == (place == position ? 0 : nil)) }
    }

    @Test(
        arguments: [
            ([3, 1], (0, 2)), ([9, 2, 1], (1, 1)), ([9, 8], nil), ([], nil),
        ] as [([UInt8], (pin: Int, position: Int)?)]
    )
    func `the first pin of the set that is shown is the one that matches`(
        keys: [UInt8],
        expected: (pin: Int, position: Int)?
    ) throws {
        let pins = try keys.map { try Pin.stub($0) }
        let match = try self.host(PinSet(match: .chain, pins: pins)).firstMatch
        #expect(match?.pin == expected?.pin && match?.position == expected?.position)
    }

    @Test(arguments: [(.publicKey, 3), (.certificate, 3), (.chain, 2)] as [(PinSet.Match, Int)])
    func `backups that wait are the pins that nothing shown has`(match: PinSet.Match, count: Int) throws {
        #expect(try self.host(.stub(1, 2, 101, 9, match: match)).unusedPins == count)
    }

    @Test func `of a host that has shown nothing yet every pin waits, and none matches`() throws {
        let host = PinnedHost(set: try .stub(1, 2, match: .chain))
        #expect(host.unusedPins == 2 && host.firstMatch == nil && host.pin(at: 0) == nil)
        #expect(try host.position(of: .stub(1)) == nil)
    }

    @Test func `a host without pins has none that match or wait`() throws {
        let host = try self.host(nil)
        #expect(host.unusedPins == 0 && host.firstMatch == nil && host.pin(at: 0) == nil)
    }

    @Test func `hosts are listed by provider, then by address`() throws {
        let names = [("b", "a.example.com"), ("a", "z.example.com"), ("a", "b.example.com")]
        let keys = try names.map { PinnedHost.Key(provider: $0.0, origin: try PinFixture.origin($0.1)) }
        #expect(keys.sorted() == [keys[2], keys[1], keys[0]])
    }
}

/// What `/status` shows of hosts.
@Suite struct PinnedHostStatusTests {
    @Test func `a host with pins shows its chain, its mode and the last results`() throws {
        let end = PinFixture.start.advanced(by: .days(40))
        let set = try PinSet.stub(2, 9, match: .chain, expires: end)
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 8)
        fixture.clock.advance(by: 5)
        try fixture.observe(.matched(pin: 0, position: 1), set, showing: 1, 2)
        fixture.clock.advance(by: 5)
        let json = try #require(fixture.watch.hostStatus.first?.json)
        let chain = [(1, JSON.null), (2, .int(1))].enumerated().map { position, row -> JSON in
            [
                "position": .int(Int64(position)), "subject": "CN=id.example.com",
                "public_key_sha256": .string(Self.text(UInt8(row.0))), "days_left": .int(199), "pin": row.1,
            ]
        }
        let members: [String: JSON] = [
            "provider": "staff", "host": "https://id.example.com", "chain": .array(chain), "surveyed_at": .null,
            "match": "chain", "mode": "enforce", "demand": "enforce", "pins": .int(2), "unused_pins": .int(1),
            "preset": .null, "expires": .string(end.date), "expires_days_left": .int(39),
            "mismatched_at": .int(PinFixture.start.seconds),
            "matched_at": .int(PinFixture.start.seconds + 5), "refused": false,
        ]
        #expect(json == .object(members))
    }

    private static func text(_ key: UInt8) -> String { (try? Pin.stub(key)).map { "\($0)" } ?? "" }

    @Test func `a host without pins shows its chain only`() throws {
        let fixture = PinFixture(["staff": nil])
        let nameless = ProviderCertificate.stub(nil, "", left: .seconds(-1))
        try fixture.survey([nameless])
        let certificate: JSON = [
            "position": .int(0), "subject": "", "public_key_sha256": .null, "days_left": .int(-1), "pin": .null,
        ]
        let members: [String: JSON] = [
            "provider": "staff", "host": "https://id.example.com", "chain": [certificate],
            "surveyed_at": .int(PinFixture.start.seconds),
        ]
        #expect(fixture.watch.hostStatus.json == [.object(members)])
    }

    @Test func `a refused host, an expired set and a list are shown as such`() throws {
        let end = PinFixture.start.advanced(by: .seconds(60))
        let set = try PinSet.stub(1, expires: end, expired: .reject, preset: "google-roots")
        let fixture = PinFixture(set)
        try fixture.observe(.mismatched, set, showing: 9)
        fixture.clock.advance(by: 60)
        let json = try #require(fixture.watch.hostStatus.first?.json)
        #expect(json["refused"] == true && json["preset"] == "google-roots" && json["demand"] == "refuse")
        #expect(json["mode"] == "enforce" && json["matched_at"] == .null)
    }

    @Test func `hosts are in the order of their names`() throws {
        let fixture = PinFixture(["staff": nil, "guests": nil])
        for host in ["b.example.com", "a.example.com"] { try fixture.survey([.stub(1)], at: host) }
        try fixture.survey([.stub(1)], at: "c.example.com", of: "guests")
        let hosts = fixture.watch.hostStatus.map(\.host)
        #expect(hosts == ["https://c.example.com", "https://a.example.com", "https://b.example.com"])
    }
}
