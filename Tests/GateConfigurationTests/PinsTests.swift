// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateProviders
import Testing

/// What `pins` turns into.
@Suite struct PinsTests {
    /// SHA-256 of nothing and of `abc`, FIPS 180-2.
    static let first = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    static let second = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
    static let both = "sha256: [ \"\(first)\", \"\(second)\" ]"

    /// A whole file with these pins, in flow style.
    static func file(_ pins: String) -> String {
        Fixture.smallest(provider: "    tls: { pins: \(pins) }")
    }

    private func policy(_ pins: String) throws -> PinPolicy {
        let provider = try #require(Fixture.configuration(Self.file(pins)).providers.first)
        return try #require(provider.pins)
    }

    private func pins(_ texts: String...) throws -> [Pin] {
        try texts.map { try #require(Pin(base64: $0)) }
    }

    @Test func `without the key nothing is pinned`() throws {
        #expect(try Fixture.configuration(Fixture.smallest()).providers.first?.pins == nil)
    }

    @Test func `pins alone are enforced, of the public key and without an end`() throws {
        let pins = try self.pins(Self.first, Self.second)
        #expect(try self.policy("{ \(Self.both) }") == PinPolicy(standard: PinSet(pins: pins)))
    }

    @Test(arguments: PinSet.Match.allCases)
    func `what is compared is as written`(match: PinSet.Match) throws {
        let result = Fixture.parse(Self.file("{ match: \(match.rawValue), \(Self.both) }"))
        #expect(result.configuration?.providers.first?.pins?.standard.match == match)
    }

    @Test func `every term of a set is as written`() throws {
        let text = "{ mode: report, expires: 2027-06-01, on_expiry: reject, \(Self.both) }"
        let set = try self.policy(text).standard
        #expect(set.mode == .report)
        #expect(set.expires == Instant(seconds: 1_811_808_000))
        #expect(set.expired == .reject)
    }

    @Test(arguments: ["2027-06-01", "\"2027-06-01\"", "'2027-06-01'"])
    func `a day may be in quotes`(text: String) throws {
        #expect(try self.policy("{ expires: \(text), \(Self.both) }").standard.expires?.date == "2027-06-01")
    }

    @Test(arguments: PinPreset.allCases)
    func `the name of a preset reports on its roots, anywhere in the chain`(preset: PinPreset) throws {
        let wanted = PinSet(match: .chain, mode: .report, pins: preset.pins, preset: preset.name)
        #expect(try self.policy(preset.name) == PinPolicy(standard: wanted))
        #expect(try self.policy("{ preset: \(preset.name) }") == PinPolicy(standard: wanted))
        #expect(try self.policy("{ preset: \(preset.name), match: chain }") == PinPolicy(standard: wanted))
    }

    @Test func `a preset may be enforced, and its pins count beside written ones`() throws {
        let known = try #require(PinPreset.google.pins.first)
        let text = "{ preset: google-roots, mode: enforce, sha256: [ \"\(Self.first)\", \"\(known)\" ] }"
        let set = try self.policy(text).standard
        #expect(set.mode == .enforce)
        #expect(set.match == .chain)
        #expect(try set.pins.prefix(2) == self.pins(Self.first) + [known])
        #expect(Set(set.pins) == Set(try self.pins(Self.first) + PinPreset.google.pins))
        #expect(set.pins.count == PinPreset.google.pins.count + 1)
    }

    @Test func `a host has pins of its own, under the normal form of its name`() throws {
        let policy = try self.policy(
            "{ \(Self.both), hosts: { WWW.GoogleApis.com.: google-roots, \"[2001:DB8::1]\": { \(Self.both) } } }"
        )
        #expect(policy.hosts.keys.sorted() == ["[2001:db8::1]", "www.googleapis.com"])
        #expect(policy.set(for: "www.googleapis.com").preset == "google-roots")
        #expect(policy.set(for: "id.example.com").preset == nil)
    }

    @Test func `what is written above holds for hosts, but neither preset nor pins`() throws {
        let terms = "match: chain, mode: report, expires: 2027-06-01, on_expiry: reject"
        let policy = try self.policy(
            "{ \(terms), \(Self.both), hosts: { keys.example.com: { sha256: [ \"\(Self.first)\" ] } } }"
        )
        var wanted = policy.standard
        wanted.pins = try self.pins(Self.first)
        #expect(policy.set(for: "keys.example.com") == wanted)
    }

    @Test func `a key of a host overrides the one above`() throws {
        let terms = "match: chain, mode: report, expires: 2027-06-01, on_expiry: reject"
        let own = "match: public_key, mode: enforce, expires: 2028-02-29, on_expiry: report"
        let policy = try self.policy(
            "{ \(terms), \(Self.both), hosts: { keys.example.com: { \(own), \(Self.both) } } }"
        )
        let set = policy.set(for: "keys.example.com")
        #expect(set.match == .publicKey)
        #expect(set.mode == .enforce)
        #expect(set.expires?.date == "2028-02-29")
        #expect(set.expired == .report)
    }

    @Test(
        arguments: [
            // A default is not inherited, neither that of a preset nor that of a set without one.
            ("preset: google-roots, hosts: { h: { \(both) } }", .publicKey, .enforce),
            ("\(both), hosts: { h: google-roots }", .chain, .report),
            // What is written is, but a preset always compares the chain.
            ("preset: google-roots, match: chain, hosts: { h: { \(both) } }", .chain, .enforce),
            ("match: public_key, \(both), hosts: { h: google-roots }", .chain, .report),
            ("mode: enforce, \(both), hosts: { h: google-roots }", .chain, .enforce),
            ("mode: report, \(both), hosts: { h: { \(both) } }", .publicKey, .report),
        ] as [(String, PinSet.Match, PinSet.Mode)]
    )
    func `a host inherits what is written, not what holds by default`(
        text: String,
        match: PinSet.Match,
        mode: PinSet.Mode
    ) throws {
        let set = try self.policy("{ \(text) }").set(for: "h")
        #expect(set.match == match)
        #expect(set.mode == mode)
    }

    @Test func `with pins for hosts alone every other host is a mismatch`() throws {
        let policy = try self.policy("{ hosts: { keys.example.com: { \(Self.both) } } }")
        #expect(policy.standard == PinSet(pins: []))
        #expect(policy.set(for: "keys.example.com").pins.count == 2)
    }

    @Test func `the same pin may be in a preset, in a list and in the list of a host`() throws {
        let known = try #require(PinPreset.google.pins.first)
        let list = "sha256: [ \"\(known)\" ]"
        let policy = try self.policy(
            "{ preset: google-roots, \(list), hosts: { h: { preset: google-roots, \(list) } } }"
        )
        #expect(policy.standard.pins.count == PinPreset.google.pins.count)
        #expect(policy.set(for: "h") == policy.standard)
    }

    @Test func `pins may come through a reference`() throws {
        var environment = Fixture.environment
        environment["PIN"] = Self.first
        let text = Self.file("{ sha256: [ \"${env:PIN}\", \"\(Self.second)\" ] }")
        let configuration = try Fixture.configuration(text, environment: environment)
        #expect(configuration.providers.first?.pins?.standard.pins == (try self.pins(Self.first, Self.second)))
    }
}
