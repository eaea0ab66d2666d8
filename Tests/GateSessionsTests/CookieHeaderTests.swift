// SPDX-License-Identifier: Apache-2.0

import GateSessions
import Testing

@Suite struct CookieHeaderTests {
    /// The pairs that may be forwarded to an app.
    private func kept(_ sent: String) -> String {
        let bytes = Array(sent.utf8)
        var pairs: [String] = []
        CookieHeader.forEachForeign(in: bytes.span) { pairs.append(String(decoding: bytes[$0], as: UTF8.self)) }
        return pairs.joined(separator: "; ")
    }

    private let name = "__Host-gatehouse"

    private func value(_ text: String) -> CookieLookup<ArraySlice<UInt8>> { .value(Array(text.utf8)[...]) }

    @Test(arguments: [
        "__Host-gatehouse=v", "a=b; __Host-gatehouse=v", "a=b;__Host-gatehouse=v;c=d", "\t __Host-gatehouse=v \t; x",
        ";;; __Host-gatehouse=v;", "__Host-gatehouse=v; __host-gatehouse=w", "__Host-gatehouse=v; __Host-gatehouse2=w",
    ])
    func `one cookie of the name is found`(field: String) {
        #expect(CookieHeader(field).lookup(self.name) == self.value("v"))
    }

    @Test(arguments: [
        "__Host-gatehouse=a; __Host-gatehouse=b", "__Host-gatehouse=a; __Host-gatehouse=a",
        "__Host-gatehouse=;x=y; __Host-gatehouse=v",
    ])
    func `two cookies of the name are ambiguous`(field: String) {
        #expect(CookieHeader(field).lookup(self.name) == .repeated)
    }

    @Test(arguments: [
        "", ";", "__Host-gatehouse", "\u{2000}__Host-gatehouse=v", "\u{A0}__Host-gatehouse=v", "=__Host-gatehouse=v",
        "__Host-gatehouse =v", "__Host%2Dgatehouse=v", "__HOST-gatehouse=v", "\"__Host-gatehouse\"=v",
        "x=\"; y\"", "__Host-gatehous=v", "\u{B}__Host-gatehouse=v", "a=__Host-gatehouse=v",
    ])
    func `other spellings are other cookies`(field: String) {
        #expect(CookieHeader(field).lookup(self.name) == .absent)
    }

    @Test func `version and quotes of RFC 2965 have no meaning`() {
        let quoted = CookieHeader("$Version=1; __Host-gatehouse=\"v\"; $Path=\"/\"")
        #expect(quoted.lookup(self.name) == self.value("\"v\""))
        let hidden = CookieHeader("$Version=1; x=\"a; __Host-gatehouse=evil\"")
        #expect(hidden.lookup(self.name) == self.value("evil\""))
    }

    @Test func `a value may contain an equals sign`() {
        #expect(CookieHeader("a=b=c").lookup("a") == self.value("b=c"))
        #expect(CookieHeader("a=").lookup("a") == self.value(""))
    }

    @Test func `names are listed in the order sent and at most 64`() {
        #expect(CookieHeader("b-2=x; a=y; b-1=z; b-").names(withPrefix: "b-") == ["b-2", "b-1", "b-"])
        let many = (0..<1000).map { "b-\($0)=x" }.joined(separator: "; ")
        #expect(CookieHeader(many).names(withPrefix: "b-").count == 64)
    }

    @Test(arguments: [
        ("a=b; __Host-gatehouse=t; c=d", "a=b; c=d"), ("a=b", "a=b"),
        ("gatehouse_0=x; gatehouse_1=y;z=1", "z=1"), ("__Host-gatehouse-attempt-0123abcd=s;  q=\"1\"", "q=\"1\""),
        ("=gatehouse=x; gatehouse =y; k=gatehouse", "k=gatehouse"),
    ])
    func `the gateway's cookies are removed and others are kept`(sent: String, kept: String) {
        #expect(self.kept(sent) == kept)
    }

    @Test func `a name is found after any number of bytes that hide it`() {
        let signs = String(repeating: "= \t", count: 1000)
        #expect(self.kept("a=b; \(signs)gatehouse=x; \(signs)c=d") == "a=b; \(signs)c=d")
    }

    @Test(arguments: ["", "gatehouse=x", " ; ;__Host-gatehouse=x; gatehouse-handover-00000000=y"])
    func `nothing is left if all cookies are the gateway's`(sent: String) {
        #expect(self.kept(sent).isEmpty)
    }
}
