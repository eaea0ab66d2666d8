// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct ReturnPathTests {
    @Test(arguments: [
        "/", "/a", "/a/", "/a/b?x=1&y=2", "/a?url=https://other.example//x", "/a?x=/../y", "/%E3%80%B1e", "/a%20b",
        "/.well-known/x", "/...", "/a..b", "/a@b:c", "/a%2Fb", "/?", "/a;b=c", "/%3Fa", "/~ada/!$&'()*+,=",
    ])
    func `a path on this site is kept as it is`(text: String) {
        #expect(ReturnPath(text)?.value == text)
    }

    @Test(arguments: [
        // Other sites, in every spelling that a browser may fold into `//` or a scheme.
        "//e", "///e", "////e/%2e%2e", "/\\e", "\\/\\/e", "\\\\e", "/%09/e", "/%5ce", "/%2f%2fe", "/%2Fe", "/ /e",
        "/%20/e",
        "/\t\\e", "/\u{B}/e", "/\n/e", "/\r\\e", "/./\\e", "/./../../\\e", "/\t/\t\\evil", "/%0a/e", "/%0b\\e",
        "/%0d%0ae", "/\u{3031}e", "/a//e", "/a\\e", "/%7f/e",
        // Absolute addresses.
        "http:e", "http:0xd8.0x3a.0xd6.0xce", "https:/\\e", "https:///e/%2e%2e", "https://good@e",
        "https://good.evil.tld", "http://e%2f%2f.good/", "http://e%23.good", "http://e\tgood/", "http://3627734734",
        "http://00330.3856078", "http://[::ffff:1.2.3.4]", "https://evil", "https://badexample.com",
        "javascript:alert(1)", "java%0d%0ascript:alert(1)", "\\u006Aavascript:alert(1)", "&#106;avascript:alert(1)",
        "data:text/html,x",
        // No path at all.
        "", "\u{3031}e", "\u{3035}e", "\u{3002}e", "@e", ".e", "<>//e", "?url=//e", "e", " /e", "\t/e",
        // Paths that mean another place.
        "/.", "/..", "/a/..", "/a/./b", "/%2e", "/%2E%2E/e", "/a/%2e%2e/e", "/.%2e/e", "/%3f/%2e%2e/e", "/%3f%2f%2fe",
        // Fragments and broken escapes.
        "/a#b", "/%", "/%2", "/%zz", "/a?%zz", "/a?x=%00", "/a\u{0}",
    ])
    func `anything else is not a place on this site`(text: String) {
        #expect(ReturnPath(text) == nil)
    }

    @Test(arguments: ["/%2Fx", "/%5Cx", "/%09/x", "/a%0Ab?c=%0D", "/%2f%2fe", "/a//b", "/..;", "/%zz", "/a?%"])
    func `G-01: a requested path is kept as it is, whatever its escapes are`(text: String) {
        #expect(ReturnPath(requested: text)?.value == text)
    }

    @Test(arguments: [
        "//e", "///e", "/\\e", "\\/e", "/a\\e", "/\te", "/ e", "/a#b", "/\u{0}", "/\u{7F}", "/\n", "/é", "", "e",
        "http://e", "?a", "@e",
    ])
    func `G-01: a requested path that a browser could read as another origin or a fragment is rejected`(text: String) {
        #expect(ReturnPath(requested: text) == nil)
    }

    @Test(arguments: [(8192, true), (8193, false)])
    func `a path has a bound`(length: Int, isGood: Bool) {
        let text = "/" + String(repeating: "a", count: length - 1)
        #expect((ReturnPath(text) != nil) == isGood && (ReturnPath(requested: text) != nil) == isGood)
    }

    @Test func `the front page is a place`() {
        #expect(ReturnPath.root == ReturnPath("/"))
    }
}
