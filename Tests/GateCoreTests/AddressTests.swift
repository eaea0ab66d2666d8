// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("::", [UInt8](repeating: 0, count: 16)), ("::1", [UInt8](repeating: 0, count: 15) + [1]),
        ("1.2.3.4", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4]),
        ("::ffff:1.2.3.4", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4]),
        ("2001:DB8::a:0", [0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0]),
        ("1:2:3:4:5:6:7:8", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]),
        ("1:2:3:4:5:6:7::", [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0]),
    ])
    func `an address is sixteen bytes`(text: String, bytes: [UInt8]) {
        #expect(IPAddress(text)?.bytes == bytes)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.+4", "1.2.3.4 ", "0x1.2.3.4", "1..2.3", ":", ":::",
        "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::", "fe80::1%eth0", "[::1]",
        "1.2.3.4::", "::1.2.3.4:5", "1:2:3:4:5:6:7:1.2.3.4", "\u{661}.2.3.4", "::1\n",
    ])
    func `any other text is not an IP address`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
        ("10.1.2.3", "10.1.2.3", true), ("10.1.2.3", "10.1.2.4", false), ("0.0.0.0/0", "255.1.1.1", true),
        ("0.0.0.0/0", "::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("::1/128", "::1", true),
    ])
    func `a network holds its addresses`(range: String, address: String, isInside: Bool) throws {
        let address = try #require(IPAddress(address))
        #expect(CIDRRange(range)?.contains(address) == isInside)
    }

    @Test(arguments: [
        "", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.1/8", "10.0.0.0/8/8",
        "::/129", "fe80::1/64", "ten/8", "10.0.0.0/99999999999999999999",
    ])
    func `any other text is not a network`(text: String) {
        #expect(CIDRRange(text) == nil)
    }
}

@Suite struct OriginTests {
    @Test(
        arguments: [
            ("https", "Example.COM.", nil, "https://example.com"), ("HTTP", "localhost", 8080, "http://localhost:8080"),
            ("https", "a.example", 443, "https://a.example"), ("http", "a.example", 443, "http://a.example:443"),
            ("https", "[::1]", 8443, "https://[::1]:8443"), ("https", "my_host-1", nil, "https://my_host-1"),
        ] as [(String, String, Int?, String)]
    )
    func `an origin has one spelling`(scheme: String, host: String, port: Int?, text: String) {
        #expect(Origin(scheme: scheme, host: host, port: port)?.description == text)
    }

    @Test(
        arguments: [
            ("ftp", "a.example", nil), ("https", "", nil), ("https", ".", nil), ("https", "a..b", nil),
            ("https", ".a", nil),
            ("https", "a b", nil), ("https", "a/b", nil), ("https", "a@b", nil), ("https", "a:1", nil),
            ("https", "[::1", nil),
            ("https", "[]", nil), ("https", "[:::]", nil), ("https", "[1.2.3.4]", nil), ("https", "a\u{0}", nil),
            ("https", "wor\u{212A}.example", nil), ("https", "b\u{FC}cher.example", nil), ("https", "a%2e", nil),
            ("https", "a.example", 0), ("https", "a.example", 65_536), ("https", "a.example", -1),
            ("https", "a.example..", nil),
        ] as [(String, String, Int?)]
    )
    func `anything else is not an origin`(scheme: String, host: String, port: Int?) {
        #expect(Origin(scheme: scheme, host: host, port: port) == nil)
    }

    @Test(arguments: [
        ("localhost", true), ("a.localhost", true), ("127.0.0.1", true), ("127.255.1.1", true), ("[::1]", true),
        ("128.0.0.1", false), ("notlocalhost", false), ("127.0.0.1.example.com", false), ("localhost.example", false),
        ("127.evil.example.com", false),
    ])
    func `only this machine is loopback`(host: String, isLoopback: Bool) {
        #expect(Origin(scheme: "http", host: host)?.isLoopback == isLoopback)
    }
}

@Suite struct WebAddressTests {
    @Test(arguments: [
        ("https://Example.com", "https://example.com/"), ("http://a:8080/b?c=d", "http://a:8080/b?c=d"),
        ("https://a?x", "https://a/?x"), ("https://[::1]:8443/p", "https://[::1]:8443/p"),
        ("https://a:443/", "https://a/"),
        ("HTTPS://a/?", "https://a/?"),
    ])
    func `an address has one spelling`(text: String, normal: String) {
        #expect(WebURL(text)?.description == normal)
    }

    @Test(arguments: [
        "", "a", "//a", "https:a", "https:/a", "https:///a", "https://", "ftp://a/", "javascript://a/%0aalert(1)",
        "https://u@a/", "https://u:p@a/", "https://a/#f", "https://a:/", "https://a:0/", "https://a:65536/",
        "https://a:+80/", "https://a:8_0/", "https://a b/", "https://a\\b/", "https://a/\n", "https://\u{FC}.example/",
        "https://[::1/", "https://[::1]x/", "https://a/{x}", "https://a\t/", "https://a,b/", " https://a/",
    ])
    func `anything else is not a URL`(text: String) {
        #expect(WebURL(text) == nil)
    }

    @Test func `an address has a bound`() {
        let base = "https://a/"
        #expect(WebURL(base + String(repeating: "a", count: 8192 - base.count)) != nil)
        #expect(WebURL(base + String(repeating: "a", count: 8193 - base.count)) == nil)
    }
}
