// SPDX-License-Identifier: Apache-2.0

import GateClients
import Testing

/// Which URIs of requests are those that a client has registered: A-84, RFC 9700 §4.1.3.
@Suite struct RedirectMatchTests {
    /// One URI of each kind and form.
    static let registered = [
        "https://good.example/cb", "https://good.example", "https://good.example:8443/cb?x=1",
        "http://127.0.0.1:8400/cb",
        "http://127.0.0.1", "http://[::1]:8400/cb?x=1", "http://localhost:8400/cb", "com.example.good:/cb",
        "com.example.good://cb",
    ]

    @Test(arguments: ClientSettings.Kind.allCases, registered)
    func `a registered URI matches itself`(kind: ClientSettings.Kind, uri: String) throws {
        let client = try ClientSettings.with(kind, [uri])
        #expect(client.redirectURI(uri))
        #expect(client.postLogoutRedirectURI(uri))
    }

    @Test func `a client without URIs redirects nowhere`() throws {
        let client = try ClientSettings.with(.native)
        for uri in RedirectMatchTests.registered + [""] { #expect(!client.redirects(to: uri)) }
    }

    @Test func `a URI after a sign-out is not one for a code, nor the other way round`() throws {
        var client = try ClientSettings.with(.native, ["https://good.example/cb"])
        client.postLogoutRedirectURIs = [try RedirectURI("https://good.example/bye")]
        #expect(!client.redirectURI("https://good.example/bye"))
        #expect(!client.postLogoutRedirectURI("https://good.example/cb"))
    }

    /// Forms of open redirects: A-01 to A-05, A-53 and A-84, with the corpus of return paths put behind the origin.
    static let corpus: [String] = {
        let hosts = [
            "good.example.evil", "good.example@evil", "good.example:443@evil", "good.example%40evil",
            "good.example%2eevil",
            "evil.good.example", "badgood.example", "goodXexample", "good.example.", "good.example:443",
            "good.example:80",
            "good.example:", "good.example:0443", "GOOD.example", "good.\u{65}\u{301}xample", "good\u{3002}example",
            "good\u{FF0E}example",
            "good.example\\evil", "good.example\\@evil", "good.example\u{9}", "good.example\u{A}", "good.example%00",
            "good.example%23evil",
            "evil#good.example", "evil?good.example", "evil/good.example", "evil\\good.example", "evil;good.example",
            "evil%2fgood.example",
            "good.example%2f%2fevil", "evil\u{2215}good.example", "[good.example]", "good.example,evil", "*.example",
            "good.example*",
            "good.ex\u{AD}ample", "g\u{43E}\u{43E}d.example", "good.example\u{2044}evil",
        ]
        let paths = [
            "/cb/", "/cb//", "//cb", "/cb/..", "/cb/../cb", "/./cb", "/cb/.", "/CB", "/%63b", "/cb%20", "/cb%00",
            "/cb%2f", "/cb%2F..%2f",
            "/cb%5c", "/cb\\", "/cb?", "/cb?x", "/cb#", "/cb#x", "/cb;x", "/cb/x", "/cbx", "/c", "/", "", "/cb ",
            " /cb", "/cb\u{9}",
            "/cb\u{A}", "/cb\u{D}\u{A}Location: https://evil", "/cb\u{0}", "/cb@evil", "/cb/@evil", "/cb%0d%0a",
            "/cb%3f", "/cb%23",
            "/evil?/cb", "/evil#/cb", "/cb?x=1&code=y", "/redirect?to=/cb", "/%2e%2e/cb", "/cb/%2e%2e/%2e%2e/evil",
        ]
        let loopback = [
            "http://127.0.0.1.evil/cb", "http://127.0.0.1.evil:8400/cb", "http://127.0.0.1:80@evil/cb",
            "http://127.0.0.1@evil/cb",
            "http://127.0.0.1:8400@evil/cb", "http://127.0.0.1:8400:80/cb", "http://127.0.0.1:/cb",
            "http://127.0.0.1:0/cb",
            "http://127.0.0.1:65536/cb", "http://127.0.0.1:08400/cb", "http://127.0.0.1:+8400/cb",
            "http://127.0.0.1:-1/cb",
            "http://127.0.0.1:84 00/cb", "http://127.0.0.1:8400.evil/cb", "http://127.0.0.1:8400evil/cb",
            "http://127.0.0.1:8400\\@evil/cb",
            "http://127.0.0.1:8400#@evil/cb", "http://127.0.0.1:8400?@evil/cb", "http://127.0.0.1\\evil/cb",
            "http://127.0.0.1%2eevil/cb",
            "http://127.0.0.1%3a8400/cb", "http://127.0.0.1./cb", "http://127.0.0.1.:8400/cb", "http://127.0.0.2/cb",
            "http://127.0.0.11/cb",
            "http://127.1/cb", "http://127.0.1/cb", "http://2130706433/cb", "http://0x7f.0.0.1/cb",
            "http://0x7f000001/cb",
            "http://0177.0.0.1/cb", "http://127.000.000.001/cb", "http://127.0.0.1:8400/CB",
            "http://127.0.0.1:8400/cb/", "http://127.0.0.1:8400//cb",
            "http://127.0.0.1:8400/cb?x", "http://127.0.0.1:8400/cb#x", "http://127.0.0.1:8400/../cb",
            "https://127.0.0.1:8400/cb",
            "HTTP://127.0.0.1:8400/cb", "http:127.0.0.1:8400/cb", "http:///127.0.0.1:8400/cb",
            "http:/127.0.0.1:8400/cb",
            "http://user@127.0.0.1:8400/cb", "http://@127.0.0.1:8400/cb", "http://[127.0.0.1]:8400/cb", "http://0/cb",
            "http://0.0.0.0:8400/cb",
            "http://\u{FF11}27.0.0.1:8400/cb", "http://127\u{3002}0\u{3002}0\u{3002}1:8400/cb",
            "http://127.0.0.1:\u{FF18}400/cb",
            "http://127.0.0.1:8\u{664}00/cb", "http://127.0.0.1:840\u{9}0/cb", "http://127.0.0.1\u{A}:8400/cb",
            " http://127.0.0.1:8400/cb",
            "http://[::1%25lo]:8400/cb?x=1", "http://[::1%lo]:8400/cb?x=1", "http://[::1].evil:8400/cb?x=1",
            "http://[::1]@evil/cb?x=1",
            "http://[::1]evil/cb?x=1", "http://[::1]:8400@evil/cb?x=1", "http://[0:0:0:0:0:0:0:1]:8400/cb?x=1",
            "http://[::01]:8400/cb?x=1",
            "http://[::ffff:127.0.0.1]:8400/cb?x=1", "http://::1:8400/cb?x=1", "http://[::1]:8400/cb?x=2",
            "http://[::1]:8400/cb",
            "http://[::1]:8400/cb?x=1&y", "http://[::1/cb?x=1", "http://[::2]:8400/cb?x=1", "http://[::1]:8400/cb?X=1",
            // RFC 8252 §8.3: the name is not the address, and its port is not free.
            "http://localhost:8401/cb", "http://localhost/cb", "http://LOCALHOST:8400/cb", "http://localhost.:8400/cb",
            "http://localhost.evil:8400/cb", "http://localhost:8400@evil/cb", "http://evil.localhost:8400/cb",
        ]
        let schemes = [
            "com.example.good:cb", "com.example.good:///cb", "com.example.good:/cb/", "com.example.good://cb/",
            "com.example.good://CB",
            "com.example.good://evil@cb", "com.example.good://cb@evil", "com.example.good://cb:80",
            "com.example.good:/evil", "com.example.goo:/cb",
            "com.example.good.evil:/cb", "COM.example.good:/cb", "com.example.good:\\cb", "com.example.good:/cb?x",
            "com.example.good:/cb#x",
            "com.example.good%3a/cb", "com.example.good :/cb", "good:/cb", "javascript:/cb",
            "javascript:com.example.good:/cb", "data:/cb",
            "file:///cb", "intent://cb", "vbscript:/cb", "com.example.good:/%63b", "com.example.good:/./cb",
        ]
        let others = [
            "", "/", "/cb", "//good.example/cb", "///good.example/cb", "\\\\good.example/cb", "/\\good.example/cb",
            "good.example/cb",
            "http://good.example/cb", "HTTPS://good.example/cb", "https:good.example/cb", "https:/good.example/cb",
            "https:///good.example/cb",
            "https:\\\\good.example/cb", "https://good.example/cb https://evil", "https://evil/https://good.example/cb",
            "https://evil",
            "https://good.example/cb,https://evil", "javascript:alert(1)", "java%0d%0ascript:alert(1)",
            "java\u{9}script:alert(1)",
            "data:text/html,x", "about:blank", "null", "*", "%68ttps://good.example/cb", "https%3a//good.example/cb",
            "https://good.example/cb%",
            " https://good.example/cb", "https://good.example/cb ", "\u{FEFF}https://good.example/cb",
            "https://good.example/cb\u{200B}",
            "\u{2068}https://good.example/cb", "https://good.example:8443/cb", "https://good.example:8443/cb?x=1&y=2",
            "https://good.example/cb?x=1",
            "https://good.example:8443/cb?x=1#", "https://good.example:8444/cb?x=1", "https://good.example:443/cb",
            "urn:ietf:wg:oauth:2.0:oob",
            "https://3627734734/cb", "https://[::ffff:1.2.3.4]/cb", "http:0xd8.0x3a.0xd6.0xce",
            "&#106;avascript:alert(1)",
        ]
        return hosts.map { "https://\($0)/cb" } + paths.filter { !$0.isEmpty }.map { "https://good.example\($0)" }
            + loopback + schemes + others
    }()

    @Test(arguments: ClientSettings.Kind.allCases, corpus)
    func `A-53 A-84: no form of an open redirect matches`(kind: ClientSettings.Kind, uri: String) throws {
        #expect(!(try ClientSettings.with(kind, RedirectMatchTests.registered)).redirects(to: uri))
    }

    @Test(arguments: [
        ("http://127.0.0.1:8400/cb", "http://127.0.0.1:1/cb"),
        ("http://127.0.0.1:8400/cb", "http://127.0.0.1:65535/cb"),
        ("http://127.0.0.1:8400/cb", "http://127.0.0.1/cb"), ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
        ("http://[::1]/cb?x=1", "http://[::1]:51004/cb?x=1"), ("http://127.0.0.1", "http://127.0.0.1:51004"),
    ])
    func `RFC 8252 §7.3: only a native app has a free port on loopback`(registered: String, requested: String) throws {
        #expect(try ClientSettings.with(.native, [registered]).redirectURI(requested))
        #expect(try ClientSettings.with(.native, [registered]).postLogoutRedirectURI(requested))
        #expect(!(try ClientSettings.with(.singlePage, [registered])).redirects(to: requested))
        #expect(!(try ClientSettings.with(.confidential, [registered])).redirects(to: requested))
    }

    @Test func `the Kelvin sign is another character than K, although texts with either are equal`() throws {
        let client = try ClientSettings.with(.native, ["https://good.example/K", "http://127.0.0.1/K"])
        #expect("https://good.example/K" == "https://good.example/\u{212A}")
        #expect(!client.redirects(to: "https://good.example/\u{212A}"))
        #expect(!client.redirects(to: "http://127.0.0.1:1/\u{212A}"))
    }

    /// All texts one byte away from another: a byte replaced, inserted or removed.
    private static func neighbors(of text: String) -> [String] {
        let bytes = Array(text.utf8)
        var neighbors: [[UInt8]] = []
        for position in 0...bytes.count {
            for byte in UInt8.min...UInt8.max {
                neighbors.append(bytes[..<position] + [byte] + bytes[position...])
                if position < bytes.count, byte != bytes[position] {
                    neighbors.append(bytes[..<position] + [byte] + bytes[(position + 1)...])
                }
            }
            if position < bytes.count { neighbors.append(bytes[..<position] + Array(bytes[(position + 1)...])) }
        }
        return neighbors.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: ClientSettings.Kind.allCases, registered)
    func `a URI one byte away never matches, but for the port of a native app`(
        kind: ClientSettings.Kind,
        uri: String
    ) throws {
        let client = try ClientSettings.with(kind, [uri])
        let port = /(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::([0-9]{1,5}))?((?:[\/?].*)?)/
        let own = try? port.wholeMatch(in: uri)
        for neighbor in RedirectMatchTests.neighbors(of: uri) where neighbor.utf8.elementsEqual(uri.utf8) == false {
            let other = try? port.wholeMatch(in: neighbor)
            let number = other?.2.map { Int($0) ?? 0 } ?? 80
            let isFree =
                kind == .native && own != nil && own?.1 == other?.1 && own?.3 == other?.3
                && (1...65_535).contains(number)
                && other?.2?.hasPrefix("0") != true
            #expect(client.redirectURI(neighbor) == isFree, "\(neighbor)")
            #expect(client.postLogoutRedirectURI(neighbor) == isFree, "\(neighbor)")
        }
    }

    @Test(arguments: [
        (ClientSettings.Kind.native, "com.example.good:/cb", true), (.singlePage, "com.example.good:/cb", false),
        (.confidential, "com.example.good:/cb", false), (.singlePage, "https://good.example/cb", true),
        (.confidential, "http://127.0.0.1/cb", true), (.singlePage, "http://localhost:8400/cb", true),
    ])
    func `only a native app has a scheme of its own`(kind: ClientSettings.Kind, uri: String, isAccepted: Bool) throws {
        #expect(try kind.accepts(RedirectURI(uri).kind) == isAccepted)
    }
}
