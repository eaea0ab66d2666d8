// SPDX-License-Identifier: Apache-2.0

import GateClients
import Testing

@Suite struct RedirectURITests {
    @Test(
        arguments: [
            ("https://notes.example.com/callback", .web(host: "notes.example.com")),
            ("https://notes.example.com", .web(host: "notes.example.com")),
            ("https://notes.example.com?next=/a/b", .web(host: "notes.example.com")),
            ("https://notes.example.com:8443/a/b/?tenant=1&x=%2e%2F", .web(host: "notes.example.com")),
            ("https://notes.example.com/a%20b/@me/~ada/...", .web(host: "notes.example.com")),
            ("https://xn--bcher-kva.example/cb", .web(host: "xn--bcher-kva.example")),
            ("https://192.0.2.7/cb", .web(host: "192.0.2.7")),
            ("https://[2001:db8::7]:8443/cb", .web(host: "[2001:db8::7]")),
            ("https://3d.example.0x-labs/cb", .web(host: "3d.example.0x-labs")),
            ("http://127.0.0.1/cb", .loopback(host: "127.0.0.1")),
            ("http://127.0.0.1:8400", .loopback(host: "127.0.0.1")),
            ("http://[::1]:8400/cb?x=1", .loopback(host: "[::1]")),
            ("http://localhost:8400/cb", .localhost),
            ("com.example.notes:/callback", .customScheme("com.example.notes")),
            ("com.example.notes://callback", .customScheme("com.example.notes")),
            ("com.example.notes:///callback?x=1", .customScheme("com.example.notes")),
            ("com.example-labs.notes2://Host/Path", .customScheme("com.example-labs.notes2")),
        ] as [(String, RedirectURI.Kind)]
    )
    func `a URI of each kind can be registered`(text: String, kind: RedirectURI.Kind) throws {
        let uri = try RedirectURI(text)
        #expect(uri.kind == kind)
        #expect(uri.text == text)
    }

    static let rejected: [(String, RedirectURIFailure)] = [
        ("https://e.example/" + String(repeating: "a", count: RedirectURI.maxLength - 17), .tooLong),
        // RFC 3986 §2: what no URI has.
        ("https://e.example/a b", .character), ("https://e.example/\u{9}a", .character),
        ("\u{A}https://e.example/", .character),
        ("https://e.example/\u{0}", .character), ("https://e.example/\u{7F}", .character),
        ("https://b\u{FC}cher.example/", .character),
        ("https://e\u{3002}example/cb", .character), ("https://e\u{FF0E}example/cb", .character),
        ("https://\u{212A}.example/cb", .character), ("https://e.example\u{FF0F}cb", .character),
        ("https://e.example/<script>", .character), ("https://e.example/{id}", .character),
        ("https://e.example/`", .character),
        ("https://e.example\\cb", .backslash), ("https://good.example\\@e.example/", .backslash),
        ("https://*.example.com/cb", .wildcard), ("https://e.example/*", .wildcard),
        ("com.example.notes://*", .wildcard),
        // RFC 6749 §3.1.2: no fragment.
        ("https://e.example/cb#", .fragment), ("https://e.example/#/cb", .fragment),
        ("com.example.notes:/cb#x", .fragment),
        ("https://e.example/%", .escape), ("https://e.example/%2", .escape), ("https://e.example/%zz", .escape),
        ("https://e.example/a%2Fb", .escape), ("https://e.example/a%5cb", .escape),
        ("https://e.example/%2e%2e/b", .escape),
        ("https://e.example/%2E", .escape), ("https://e.example/%0d%0aSet-Cookie", .escape),
        ("https://e.example/%00", .escape),
        ("https://e.example/%7f", .escape), ("https://e.example/cb?x=%zz", .escape),
        ("", .relative), ("/callback", .relative), ("//e.example/callback", .relative),
        ("e.example/callback", .relative),
        ("https:e.example/cb", .relative), ("https:/e.example/cb", .relative), ("localhost:8400/cb", .relative),
        ("com.example.notes:callback", .relative), ("urn", .relative), (":", .relative),
        ("http:/127.0.0.1/cb", .relative),
        ("HTTPS://e.example/cb", .capitals), ("https://E.example/cb", .capitals), ("Com.example.notes:/cb", .capitals),
        ("http://LOCALHOST/cb", .capitals), ("https://[2001:DB8::7]/cb", .capitals),
        ("javascript:alert(1)", .forbiddenScheme), ("JavaScript:alert(1)", .forbiddenScheme),
        ("javascript://e.example/%0aalert(1)", .forbiddenScheme), ("data:text/html,x", .forbiddenScheme),
        ("file:///etc/passwd", .forbiddenScheme), ("vbscript:x", .forbiddenScheme),
        ("blob:https://e.example/1", .forbiddenScheme),
        ("view-source:https://e.example/", .forbiddenScheme), ("intent://e/#Intent", .fragment),
        ("intent://e/", .forbiddenScheme),
        ("urn:ietf:wg:oauth:2.0:oob", .forbiddenScheme), ("ftp://e.example/cb", .forbiddenScheme),
        ("wss://e.example/cb", .forbiddenScheme), ("about:blank", .forbiddenScheme),
        ("mailto:a@e.example", .forbiddenScheme),
        // RFC 8252 §7.1: a domain in reverse order, which others cannot own.
        ("notes://callback", .schemeWithoutDomain), ("notes:/callback", .schemeWithoutDomain),
        ("com.:/cb", .schemeWithoutDomain),
        (".com:/cb", .schemeWithoutDomain), ("com..notes:/cb", .schemeWithoutDomain),
        ("1com.notes:/cb", .schemeWithoutDomain),
        ("com.example+notes:/cb", .schemeWithoutDomain), ("com.ex_ample:/cb", .schemeWithoutDomain),
        ("://e.example", .schemeWithoutDomain),
        // RFC 8252 §7.3 and §8.3: plain http on the two addresses of loopback only.
        ("http://e.example/cb", .plainHTTP), ("http://127.0.0.2/cb", .plainHTTP),
        ("http://127.0.0.1.e.example/cb", .plainHTTP),
        ("http://[::2]/cb", .plainHTTP), ("http://[0:0:0:0:0:0:0:1]/cb", .plainHTTP),
        ("http://[::ffff:127.0.0.1]/cb", .plainHTTP),
        ("http://localhost.e.example/cb", .plainHTTP), ("http://0.0.0.0/cb", .plainHTTP),
        ("http://app.localhost/cb", .plainHTTP),
        ("https://good.example@e.example/cb", .userName), ("https://@e.example/cb", .userName),
        ("https://good.example:443@e.example/cb", .userName), ("http://127.0.0.1:80@e.example/cb", .userName),
        ("http://127.0.0.1@e.example/cb", .userName), ("com.example.notes://good@e.example/", .userName),
        ("https:///cb", .host), ("https://:443/cb", .host), ("https://e..example/cb", .host),
        ("https://e%2eexample/cb", .host),
        ("https://[::1%25lo]/cb", .host), ("http://[::1%lo]/cb", .host), ("https://[::1/cb", .host),
        ("https://[]/cb", .host),
        ("http://127.1/cb", .host), ("http://2130706433/cb", .host), ("http://0x7f.0.0.1/cb", .host),
        ("http://0177.0.0.1/cb", .host),
        ("https://e.example.0x7f/cb", .host), ("https://[::1]e.example/cb", .host),
        ("https://e.example./cb", .trailingDot), ("http://127.0.0.1./cb", .trailingDot),
        ("http://localhost./cb", .trailingDot),
        ("https://e.example:/cb", .port), ("https://e.example:0/cb", .port), ("https://e.example:65536/cb", .port),
        ("https://e.example:0443/cb", .port), ("https://e.example:443:80/cb", .port),
        ("https://e.example:+80/cb", .port),
        ("http://127.0.0.1:x/cb", .port), ("https://e.example:99999999999999999999/cb", .port),
        ("https://e.example/../cb", .dotSegment), ("https://e.example/a/./cb", .dotSegment),
        ("https://e.example/..", .dotSegment),
        ("https://e.example/.", .dotSegment), ("com.example.notes:/../cb", .dotSegment),
        ("http://127.0.0.1/a/../cb", .dotSegment),
        // A parameter that occurs twice in the response has two readings, RFC 6749 §3.1.
        ("https://e.example/cb?code=x", .responseParameter), ("https://e.example/cb?a=b&st%61te=x", .responseParameter),
        ("https://e.example/cb?iss", .responseParameter),
    ]

    @Test(arguments: rejected)
    func `a URI that can be read in two ways is rejected with its reason`(text: String, reason: RedirectURIFailure) {
        #expect(throws: reason) { try RedirectURI(text) }
    }

    @Test func `every reason has an example`() {
        #expect(Set(RedirectURITests.rejected.map(\.1)) == Set(RedirectURIFailure.allCases))
    }

    @Test(arguments: RedirectURIFailure.allCases)
    func `every reason states what is wrong and what to do`(reason: RedirectURIFailure) {
        let parts = reason.message.split(separator: "; ")
        #expect(parts.count == 2)
        #expect(reason.message.hasPrefix("has ") || reason.message.hasPrefix("is "))
        #expect(!reason.message.hasSuffix("."))
    }

    @Test func `a URI may have 2 KiB`() throws {
        let text = "https://e.example/" + String(repeating: "a", count: 2048 - 18)
        #expect(try RedirectURI(text).text == text)
        #expect(throws: RedirectURIFailure.tooLong) { try RedirectURI(text + "a") }
    }

    @Test(arguments: [
        ("https://e.example/cb", "https://e.example/cb/", true),
        ("https://e.example", "https://e.example/", true),
        ("https://e.example/cb", "https://e.example/CB", true),
        ("https://e.example:443/cb", "https://e.example/cb", true),
        ("https://e.example:4430/cb", "https://e.example0/cb", false),
        ("https://e.example:8443/cb", "https://e.example/cb", false),
        ("https://e.example/cb", "https://e.example/cb/x", false),
        ("com.example.notes:/cb", "com.example.notes://cb", false),
        ("http://127.0.0.1/cb", "http://[::1]/cb", false),
    ])
    func `URIs that differ in case, a trailing slash or the default port look alike`(
        left: String,
        right: String,
        isAlike: Bool
    ) throws {
        #expect(try (RedirectURI(left).lookAlikeKey == RedirectURI(right).lookAlikeKey) == isAlike)
    }
}
