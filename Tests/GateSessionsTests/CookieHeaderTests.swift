// SPDX-License-Identifier: Apache-2.0

import GateSessions
import Testing

@Suite struct CookieHeaderTests {
    private let name = "__Host-gatehouse"

    private func value(_ text: String) -> CookieLookup { .value(Array(text.utf8)[...]) }

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
    func `two cookies of the name are none`(field: String) {
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

    @Test func `version and quotes of the old cookie syntax mean nothing`() {
        let quoted = CookieHeader("$Version=1; __Host-gatehouse=\"v\"; $Path=\"/\"")
        #expect(quoted.lookup(self.name) == self.value("\"v\""))
        let hidden = CookieHeader("$Version=1; x=\"a; __Host-gatehouse=evil\"")
        #expect(hidden.lookup(self.name) == self.value("evil\""))
    }

    @Test func `a value may hold the equals sign`() {
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
    func `our cookies are taken out and the rest stays`(sent: String, kept: String) {
        #expect(CookieHeader(sent).withoutOurs == Array(kept.utf8))
    }

    @Test func `a name is found behind any number of signs that hide it`() {
        let signs = String(repeating: "= \t", count: 1000)
        #expect(CookieHeader("a=b; \(signs)gatehouse=x; \(signs)c=d").withoutOurs == Array("a=b; \(signs)c=d".utf8))
    }

    @Test(arguments: ["", "gatehouse=x", " ; ;__Host-gatehouse=x; gatehouse-handover-00000000=y"])
    func `nothing is left when all were ours`(sent: String) {
        #expect(CookieHeader(sent).withoutOurs == nil)
    }
}
