// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import Testing

/// Invalid `pins`, and their diagnostics.
@Suite struct PinDiagnosticsTests {
    private static let first = PinsTests.first
    private static let second = PinsTests.second
    private static let both = PinsTests.both

    private func messages(_ pins: String) -> [String] { Fixture.messages(PinsTests.file(pins)) }

    private func severities(_ pins: String) -> [Diagnostic.Severity] {
        Fixture.parse(PinsTests.file(pins)).diagnostics.map(\.severity)
    }

    @Test func `each wrong pin of a list is named, and nothing else follows from it`() {
        let messages = self.messages("{ sha256: [ first, \"\(Self.first)\", second ] }")
        #expect(messages.map { $0.prefix(8) } == ["'first' ", "'second'"])
    }

    @Test func `a duplicate pin is rejected with the location of the first`() {
        let pins = "    tls:\n      pins:\n        sha256:"
        let list = [Self.first, Self.second, Self.first].map { "\n          - \($0)" }.joined()
        let diagnostics = Fixture.parse(Fixture.smallest(provider: pins + list)).diagnostics
        #expect(diagnostics.map(\.message) == ["'\(Self.first)' is here twice; first in line 13"])
        #expect(diagnostics.first?.location?.line == 15)
    }

    @Test(
        arguments: [
            ("{}", "no pin is given; write the pins as 'sha256', or the name of a list as 'preset'"),
            (
                "{ mode: report, expires: 2027-06-01 }",
                "no pin is given; write the pins as 'sha256', or the name of a list as 'preset'"
            ),
            (
                "{ \(both), hosts: { h: { mode: report } } }",
                "no pin is given; write the pins as 'sha256', or the name of a list as 'preset'"
            ),
            (
                "{ sha256: [] }",
                "the list has no pin; write the pin of the key in use and that of a backup; "
                    + "'gatehouse pins HOST' prints them"
            ),
            ("{ hosts: {} }", "the mapping is empty; it needs at least one entry"),
            (
                "",
                "expected the name of a preset or a mapping with 'sha256', found nothing; write a value or remove the key"
            ),
            (
                "[ \"\(first)\", \"\(second)\" ]",
                "expected the name of a preset or a mapping with 'sha256', found a list"
            ),
            ("{ sha256: \"\(first)\" }", "expected a list of pins, found a single value"),
        ]
    )
    func `pins without a pin are rejected`(text: String, message: String) {
        #expect(self.messages(text) == [message])
    }

    @Test(
        arguments: [
            ("googel-roots", "'googel-roots' is not a preset; did you mean 'google-roots'?"),
            ("all", "'all' is not a preset; write one of google-roots, github-roots, microsoft-roots"),
            ("{ preset: github-root }", "'github-root' is not a preset; did you mean 'github-roots'?"),
            ("{ \(both), match: leaf }", "'leaf' is not a kind of match; write one of public_key, certificate, chain"),
            ("{ \(both), mode: off }", "'off' is not a mode; write one of enforce, report"),
            (
                "{ \(both), expires: 2027-06-01, on_expiry: ignore }",
                "'ignore' is not an action for expired pins; write one of report, reject"
            ),
            ("{ sha256: [ \"\(first)\" ], mode: reprot }", "'reprot' is not a mode; did you mean 'report'?"),
            (
                "{ \(both), mode: reprot, hosts: { h: { sha256: [ \"\(first)\" ] } } }",
                "'reprot' is not a mode; did you mean 'report'?"
            ),
            ("{ sha265: x }", "unknown key 'sha265' in pins; did you mean 'sha256'?"),
            (
                "{ \(both), hosts: { h: { \(both), hosts: {} } } }",
                "unknown key 'hosts' in the pins of a host; it has the keys preset, match, mode, sha256, expires, on_expiry, "
                    + "allow_single_pin"
            ),
        ]
    )
    func `an unknown name is rejected`(text: String, message: String) {
        #expect(self.messages(text) == [message])
    }

    @Test(arguments: ["2027-6-1", "01.06.2027", "2027-02-29", "12h", "2027-06-01T00:00:00Z"])
    func `an end is a day of the calendar`(text: String) {
        let wanted = "'\(text)' is not a date such as 2027-06-01"
        #expect(self.messages("{ \(Self.both), expires: '\(text)' }") == [wanted])
    }

    @Test(arguments: ["public_key", "certificate"])
    func `a preset is compared with the chain only`(match: String) {
        let wanted = "the pins of a preset are those of roots, so its 'match' is 'chain'; remove this"
        #expect(self.messages("{ preset: google-roots, match: \(match) }") == [wanted])
        #expect(self.messages("{ \(Self.both), hosts: { h: { preset: google-roots, match: \(match) } } }") == [wanted])
    }

    @Test(
        arguments: [
            "{ sha256: [ \"\(first)\" ] }", "{ sha256: [ \"\(first)\" ], match: chain }",
            "{ sha256: [ \"\(first)\" ], allow_single_pin: false }",
            "{ \(both), hosts: { h: { sha256: [ \"\(first)\" ] } } }",
            "{ preset: google-roots, hosts: { h: { sha256: [ \"\(first)\" ] } } }",
            "{ \(both), mode: report, hosts: { h: { sha256: [ \"\(first)\" ], mode: enforce } } }",
            "{ \(both), allow_single_pin: true, hosts: { h: { sha256: [ \"\(first)\" ], allow_single_pin: false } } }",
        ]
    )
    func `a single pin is not enforced, unless that is asked for`(text: String) {
        let wanted =
            "a replaced key would make every sign-in fail; add the pin of a backup key, which 'gatehouse pins' "
            + "prints, or write 'allow_single_pin: true'"
        #expect(self.messages(text) == [wanted])
        #expect(self.severities(text) == [.error])
    }

    @Test(
        arguments: [
            "{ sha256: [ \"\(first)\" ], allow_single_pin: true }",
            "{ \(both), allow_single_pin: true, hosts: { h: { sha256: [ \"\(first)\" ] } } }",
        ]
    )
    func `a single pin of a key that is renewed is a warning`(text: String) {
        let wanted = "with a single pin the next renewal with a new key stops all sign-ins; add the pin of a backup key"
        #expect(self.messages(text) == [wanted])
        #expect(self.severities(text) == [.warning])
    }

    @Test(
        arguments: [
            "{ sha256: [ \"\(first)\" ], mode: report }",
            "{ sha256: [ \"\(first)\" ], preset: google-roots, mode: enforce }",
            "{ sha256: [ \"\(first)\" ], match: chain, allow_single_pin: true }",
            "{ mode: report, \(both), hosts: { h: { sha256: [ \"\(first)\" ] } } }",
        ]
    )
    func `a single pin that cannot lock users out is accepted without a warning`(text: String) {
        #expect(self.messages(text) == [])
    }

    @Test func `pins of certificates are a warning, since a renewal breaks them`() {
        let wanted = "every renewal makes a new certificate, which these pins do not match; 'public_key' can last"
        let text = "{ match: certificate, \(Self.both), hosts: { h: { \(Self.both) } } }"
        #expect(self.messages(text) == [wanted])
        #expect(self.severities(text) == [.warning])
    }

    @Test(
        arguments: [
            ("{ \(both), on_expiry: reject }", true), ("{ \(both), on_expiry: reject, expires: 2027-06-01 }", false),
            ("{ \(both), hosts: { h: { \(both), on_expiry: report } } }", true),
            ("{ \(both), expires: 2027-06-01, hosts: { h: { \(both), on_expiry: report } } }", false),
            ("{ \(both), on_expiry: reject, hosts: { h: { \(both), expires: 2027-06-01 } } }", false),
            ("{ \(both), on_expiry: reject, hosts: { h: { \(both), expires: 2027-06-01, on_expiry: report } } }", true),
        ]
    )
    func `an end that never comes is a warning`(text: String, isWarned: Bool) {
        #expect(self.messages(text) == (isWarned ? ["'on_expiry' has no effect without 'expires'"] : []))
        #expect(self.severities(text) == (isWarned ? [.warning] : []))
    }

    @Test(arguments: [(64, []), (65, ["more than 64 pins"])] as [(Int, [String])])
    func `a set has at most 64 pins`(count: Int, messages: [String]) throws {
        let pins = try (0..<count).map { index in
            try #require(Pin([UInt8](repeating: UInt8(index), count: 32))).description
        }
        #expect(self.messages("{ sha256: [ \(pins.joined(separator: ", ")) ] }") == messages)
    }

    @Test(arguments: [(32, []), (33, ["more than 32 hosts"])] as [(Int, [String])])
    func `at most 32 hosts have pins of their own`(count: Int, messages: [String]) {
        let hosts = (0..<count).map { "h\($0): google-roots" }.joined(separator: ", ")
        #expect(self.messages("{ hosts: { \(hosts) } }") == messages)
    }

    @Test(
        arguments: [
            (
                "'https://h.example.com/x'",
                "'https://h.example.com/x' cannot be the name of a host; it is a URL; write the host alone: "
                    + "'h.example.com'"
            ),
            (
                "'h.example.com:443'",
                "'h.example.com:443' cannot be the name of a host; it has a port; a host matches whatever the port, "
                    + "write 'h.example.com'"
            ),
            ("h/x", "'h/x' cannot be the name of a host; it has a path; write the host alone"),
            (
                "'*.example.com'",
                "'*.example.com' cannot be the name of a host; it is not a host name; wildcards are not supported"
            ),
        ]
    )
    func `a host is a name without anything else`(name: String, message: String) {
        #expect(self.messages("{ hosts: { \(name): google-roots } }") == [message])
    }

    @Test func `a host occurs once, in any spelling`() {
        let text = "{ hosts: { keys.example.com: google-roots, KEYS.example.com.: github-roots } }"
        #expect(self.messages(text) == ["'KEYS.example.com.' is the same as 'keys.example.com' in line 10"])
    }
}
