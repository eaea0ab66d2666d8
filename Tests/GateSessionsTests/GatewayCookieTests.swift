// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GateSessions

@Suite struct GatewayCookieTests {
    private let secure: Origin
    private let plain: Origin

    init() throws {
        self.secure = try #require(Origin(scheme: "https", host: "gate.example.com"))
        self.plain = try #require(Origin(scheme: "http", host: "localhost", port: 8080))
    }

    @Test func `the session cookie over https has exactly these attributes`() {
        let cookie = GatewayCookie.session(at: self.secure)
        #expect(cookie.setting("abc") == "__Host-gatehouse=abc; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(cookie.deletion == "__Host-gatehouse=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")
    }

    @Test func `C-01: a cookie that browsers keep has a lifetime, and the same deletion`() {
        let cookie = GatewayCookie.session(at: self.secure, for: .seconds(604_800))
        #expect(cookie.setting("abc") == "__Host-gatehouse=abc; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(cookie.deletion == GatewayCookie.session(at: self.secure).deletion)
        let late = GatewayCookie.session(at: self.plain, for: .seconds(-5))
        #expect(late.setting("abc") == "gatehouse=abc; Max-Age=1; Path=/; HttpOnly; SameSite=Lax")
    }

    @Test func `the session cookie over plain http has neither prefix nor Secure`() {
        let cookie = GatewayCookie.session(at: self.plain)
        #expect(cookie.setting("abc") == "gatehouse=abc; Path=/; HttpOnly; SameSite=Lax")
        #expect(cookie.deletion == "gatehouse=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax")
    }

    @Test func `C-01: each piece of a long value has the attributes of the cookie and is shorter than 4,000 bytes`() {
        let cookie = GatewayCookie.session(at: self.secure, for: .seconds(604_800))
        let ticket = self.ticket(5000)
        let lines = cookie.settings(ticket, replacing: CookieHeader(""))
        let attributes = "; Max-Age=604800; Path=/; Secure; HttpOnly; SameSite=Lax"
        #expect(lines.count == 2)
        #expect(lines.first == "__Host-gatehouse=\(ticket.text.prefix(3900))\(attributes)")
        #expect(lines.last == "__Host-gatehouse_1=\(ticket.text.dropFirst(3900))\(attributes)")
        #expect(lines.allSatisfy { $0.utf8.count < 4000 })
    }

    /// A whole session of this many bytes.
    private func ticket(_ count: Int) -> Ticket {
        Ticket(WholeSession(sealed: [UInt8](repeating: 1, count: count), host: "gate.example.com"))
    }

    @Test func `a request without the session cookie may hide pieces of it, which a new session deletes`() {
        let cookie = GatewayCookie.session(at: self.secure)
        let deletion = "__Host-gatehouse_1=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax"
        let header = CookieHeader("a=1")
        #expect(cookie.settings(self.ticket(99), replacing: header).dropFirst() == [deletion])
        #expect(cookie.settings(self.ticket(99), replacing: CookieHeader("__Host-gatehouse=x")).count == 1)
        let stored = Ticket(bytes: [UInt8](repeating: 1, count: 32), tag: [UInt8](repeating: 2, count: 10))
        #expect(cookie.settings(stored, replacing: header) == [cookie.setting(stored.text)])
    }

    @Test func `pieces that the browser sent and that a new value does not need are deleted, others are not`() {
        let cookie = GatewayCookie.session(at: self.secure)
        let header = CookieHeader(
            "__Host-gatehouse=a; __Host-gatehouse_1=b; __Host-gatehouse_7=c; gatehouse_1=x; a_1=y"
        )
        let deleted = [1, 7].map { "__Host-gatehouse_\($0)=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax" }
        let short = self.ticket(99)
        #expect(cookie.settings(short, replacing: header) == [cookie.setting(short.text)] + deleted)
        #expect(cookie.deletions(in: header) == [cookie.deletion] + deleted)
        #expect(cookie.deletions(in: CookieHeader("")) == [cookie.deletion])
        let long = cookie.settings(self.ticket(3000), replacing: header)
        #expect(long.count == 3 && long.last == deleted.last)
        let many = CookieHeader((1...64).map { "__Host-gatehouse_\($0)=x" }.joined(separator: "; "))
        #expect(cookie.deletions(in: many).count == 17)
    }

    @Test func `an attempt lasts ten minutes`() throws {
        let cookie = try #require(GatewayCookie.attempt("0123abcd", at: self.secure))
        let name = "__Host-gatehouse-attempt-0123abcd"
        #expect(cookie.setting("s") == "\(name)=s; Max-Age=3600; Path=/; Secure; HttpOnly; SameSite=Lax")
        #expect(cookie.deletion == "\(name)=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")
    }

    @Test func `the cookie of an attempt is sent with a response that is posted from another site`() throws {
        let cookie = try #require(GatewayCookie.attempt("0123abcd", at: self.secure, isCrossSite: true))
        #expect(cookie.setting("s").hasSuffix("; Path=/; Secure; HttpOnly; SameSite=None"))
        let plain = try #require(GatewayCookie.attempt("0123abcd", at: self.plain, isCrossSite: true))
        #expect(plain.setting("s").hasSuffix("; Path=/; HttpOnly; SameSite=Lax"))
    }

    @Test func `a session transfer is bound by its own cookie`() throws {
        let cookie = try #require(GatewayCookie.sessionTransfer("0123abcd", at: self.plain))
        #expect(cookie.setting("b") == "gatehouse-handover-0123abcd=b; Max-Age=600; Path=/; HttpOnly; SameSite=Lax")
    }

    @Test func `a sign-out is bound for as long as its state is valid`() {
        let cookie = GatewayCookie.signOut(at: self.secure)
        let attributes = "Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax"
        #expect(cookie.setting("b") == "__Host-gatehouse-sign-out=b; \(attributes)")
    }

    @Test(arguments: ["", "0123abc", "0123abcde", "0123ABCD", "0123abc;", "0123abc\n", "0123abc\u{E9}"])
    func `a tag that is not eight hexadecimal digits gives no cookie`(tag: String) {
        #expect(GatewayCookie.attempt(tag, at: self.secure) == nil)
        #expect(GatewayCookie.sessionTransfer(tag, at: self.secure) == nil)
    }

    @Test func `the oldest attempts are deleted so that five remain`() {
        let sent = (0..<7).map { "__Host-gatehouse-attempt-0000000\($0)=x" }.joined(separator: "; ")
        let surplus = GatewayCookie.surplusAttempts(in: CookieHeader("a=b; \(sent)"), at: self.secure)
        #expect(surplus.map(\.name) == (0..<3).map { "__Host-gatehouse-attempt-0000000\($0)" })
        let four = CookieHeader((0..<4).map { "__Host-gatehouse-attempt-0000000\($0)=x" }.joined(separator: "; "))
        #expect(GatewayCookie.surplusAttempts(in: four, at: self.secure).isEmpty)
    }

    @Test func `a hundred consecutive sign-in attempts leave five open`() throws {
        var jar: [String] = []
        for number in 0..<100 {
            self.begin(number, seeing: jar, in: &jar)
            #expect(jar.count <= 5)
        }
        #expect(jar == (95..<100).map { "__Host-gatehouse-attempt-000000\($0)" })
    }

    @Test func `a hundred concurrent sign-in attempts are deleted by the next ones`() throws {
        var jar: [String] = []
        for number in 0..<100 {
            self.begin(number, seeing: [], in: &jar)
        }
        #expect(jar.count == 100)
        for number in 0..<10 {
            self.begin(number, seeing: jar, in: &jar)
        }
        #expect(jar.count == 5)
    }

    /// The cookies of a browser that sent `seen` after the start of a sign-in.
    private func begin(_ number: Int, seeing seen: [String], in jar: inout [String]) {
        let header = CookieHeader(seen.map { "\($0)=x" }.joined(separator: "; "))
        let deleted = GatewayCookie.surplusAttempts(in: header, at: self.secure).map(\.name)
        let name = "__Host-gatehouse-attempt-000000\(number < 10 ? "0" : "")\(number)"
        jar = jar.filter { !deleted.contains($0) && $0 != name } + [name]
    }

    @Test(arguments: [
        "__Host-gatehouse", "gatehouse", "gatehouse_0", "__Host-gatehouse_12", "__Host-gatehouse-attempt-0123abcd",
        "gatehouse-attempt-", "gatehouse-handover-ffffffff", "__Host-gatehouse-handover-x", "__Host-gatehouse-sign-out",
    ])
    func `these names belong to the gateway`(name: String) {
        let isOurs = GatewayCookie.isOurs(Array(name.utf8).span)
        #expect(isOurs)
    }

    @Test func `every cookie that the gateway sets belongs to it`() throws {
        for origin in [self.secure, self.plain] {
            let cookies = [
                GatewayCookie.session(at: origin), GatewayCookie.signOut(at: origin),
                GatewayCookie.lastProvider(at: origin), GatewayCookie.confirmation(at: origin),
                GatewayCookie.device(at: origin, for: .seconds(60)),
                try #require(GatewayCookie.attempt("0123abcd", at: origin)),
                try #require(GatewayCookie.sessionTransfer("0123abcd", at: origin)),
            ]
            for cookie in cookies {
                let isOurs = GatewayCookie.isOurs(Array(cookie.name.utf8).span)
                #expect(isOurs, "\(cookie.name)")
            }
        }
    }

    @Test(arguments: [
        "", "gatehous", "gatehouse2", "gatehouse_theme", "gatehouse-theme", "x__Host-gatehouse", "__host-x",
    ])
    func `these names belong to an app`(name: String) {
        let isOurs = GatewayCookie.isOurs(Array(name.utf8).span)
        #expect(!isOurs)
    }

    @Test(arguments: [
        "gatehouse=evil; Path=/", " \tgatehouse =evil", "=gatehouse=evil", "==__Host-gatehouse=evil", "gatehouse",
        "__Host-gatehouse_0=x",
    ])
    func `an app cannot set or imitate the gateway's cookies`(field: String) {
        let isOurs = GatewayCookie.mayBeReadAsOurs(Array(field.utf8).span)
        #expect(isOurs)
    }

    @Test(arguments: ["a=gatehouse=b", "theme=dark; Path=/gatehouse", "", "; gatehouse=x"])
    func `an app can set its own cookies`(field: String) {
        let isOurs = GatewayCookie.mayBeReadAsOurs(Array(field.utf8).span)
        #expect(!isOurs)
    }
}
