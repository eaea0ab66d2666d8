// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProviders
import Testing

@testable import GateConfiguration

@Suite struct ScalarShapeTests {
    @Test(
        arguments: [
            ("30s", Duration.seconds(30)), ("15m", .seconds(900)), ("12h", .seconds(43_200)), ("7d", .seconds(604_800)),
            ("0s", .zero), ("999999999d", .seconds(86_399_999_913_600)), ("1h30m", .seconds(5400)),
            ("1w", .seconds(604_800)), ("1w2d3h4m5s", .seconds(788_645)),
        ])
    func `Z-07: a duration is whole numbers with units, the longest first`(text: String, duration: Duration) {
        #expect(DurationText.parse(text) == duration)
    }

    @Test(arguments: [
        "", "s", "12", "-1s", "+1s", "1.5h", "1 h", "30m1h", "1h1h", "1h30", "1h-30m", "10S", "9999999999s",
        "\u{0661}s", "1ms",
    ])
    func `a text without unit, or with one twice or out of order, is not a duration`(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1:9901", "127.0.0.1", 9901), ("[::1]:443", "::1", 443), ("localhost:0", "localhost", 0),
            ("0.0.0.0:65535", "0.0.0.0", 65_535),
        ])
    func `an address to listen on is a host and a port, IPv6 in brackets`(text: String, host: String, port: Int) {
        #expect(BindAddress(text) == BindAddress(host: host, port: port))
        #expect(BindAddress(text)?.description == text)
    }

    @Test(arguments: [
        "", ":80", "80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1]", "[::g]:80", "a b:80", "h:-1",
    ])
    func `a text without host or port is not an address to listen on`(text: String) {
        #expect(BindAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("127.0.0.1:80", "127.0.0.1:80", true), ("0.0.0.0:80", "10.0.0.1:80", true), ("[::]:80", "[::1]:80", true),
            ("127.0.0.1:80", "127.0.0.2:80", false), ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:0", "127.0.0.1:0", false),
        ])
    func `two addresses collide when one port would be taken twice`(one: String, other: String, collide: Bool) throws {
        let first = try #require(BindAddress(one))
        let second = try #require(BindAddress(other))
        #expect(first.collides(with: second) == collide)
        #expect(second.collides(with: first) == collide)
    }

    @Test(
        arguments: [
            ("https://gate.example.com", true), ("http://localhost:8080", true), ("http://127.0.0.1", true),
            ("http://gate.localhost", false), ("https://10.0.0.1", false), ("https://gate", false),
            ("https://gate.local", false), ("https://127.0.0.1:8443", true),
        ])
    func `Google takes public names, and http on this machine`(address: String, isTaken: Bool) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect((ProviderType.google.redirects.rejection(of: origin) == nil) == isTaken)
    }

    @Test(
        arguments: [
            ("https://gate.internal", true), ("http://localhost:8080", true), ("http://127.0.0.1:8080", false),
            ("http://[::1]:8080", false), ("https://10.0.0.1", true),
        ])
    func `Microsoft takes http for localhost only`(address: String, isTaken: Bool) throws {
        let origin = try #require(WebURL(address)?.origin)
        #expect((ProviderType.microsoft.redirects.rejection(of: origin) == nil) == isTaken)
    }

    @Test(arguments: ["X-WEBAUTH-USER", "Remote-User", "X-Email"])
    func `a header name of letters, digits and hyphens can be used`(name: String) {
        #expect(IdentityHeaderName.reason(against: name) == nil)
    }

    @Test(
        arguments: [
            "", "X_User", "X.User", "X User", "Host", "COOKIE", "authorization", "Transfer-Encoding", "Content-Length",
            "Connection", "X-Forwarded-For", "x-forwarded-host", "Forwarded", "X-Request-Id", "Pragma",
            "X-Gatehouse-Assertion",
            String(repeating: "a", count: 65), "X-\u{00C9}",
        ])
    func `a header name with a meaning of its own, or of other characters, cannot`(name: String) {
        #expect(IdentityHeaderName.reason(against: name) != nil)
    }

    @Test func `a concealed place shows as stars and keeps its columns`() {
        var mask = SecretMask()
        mask.conceal(from: YAMLMark(line: 2, column: 4), to: YAMLMark(line: 2, column: 7))
        #expect(mask.applied(to: "a: xyz # b", line: 2) == "a: *** # b")
        #expect(mask.applied(to: "a: xyz # b", line: 3) == "a: xyz # b")
    }

    @Test(
        arguments: [
            ("  client_secret: \"hunter2", "  client_secret: \"*******"),
            ("  secret: ${env:NAME}", "  secret: ${env:NAME}"),
            ("  Password: x", "  Password: *"), ("  client_id: x", "  client_id: x"), ("# a secret", "# a secret"),
        ])
    func `a line that speaks of a secret is shown without what follows`(line: String, shown: String) {
        #expect(SecretMask().applied(to: line, line: 1) == shown)
    }
}
