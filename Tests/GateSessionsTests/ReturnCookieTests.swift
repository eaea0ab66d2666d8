// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GateSessions

@Suite struct ReturnCookieTests {
    private let origin = Origin(scheme: "https", host: "gate.example.com")
    private let sealer = Sealer([Secret(text: "0123456789abcdefghijklmnopqrstuvwxyz")])
    private let now = Instant(seconds: 1000)

    /// A path of random letters, which no compression makes short.
    private func path(_ length: Int, seed: Int) throws -> ReturnPath {
        let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        let text = (0..<(length - 4)).map { _ -> Character in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return letters[Int(state >> 58)]
        }
        return try #require(ReturnPath(requested: "/?q=" + String(text)))
    }

    private func field(_ jar: [(name: String, value: String)]) -> CookieHeader {
        CookieHeader(jar.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
    }

    /// A browser's cookies after some `Set-Cookie` values.
    private func keep(_ lines: [String], in jar: inout [(name: String, value: String)]) {
        for line in lines {
            let pair = line.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(pair[0])
            jar.removeAll { $0.name == name }
            if !line.contains("Max-Age=0") { jar.append((name, String(pair[1]))) }
        }
    }

    @Test(arguments: [1, 600, 3000, 5000, 6800])
    func `B-01: a path comes back from its cookies, each of which every browser keeps`(length: Int) throws {
        let cookies = ReturnCookie(at: try #require(self.origin), sealer: self.sealer)
        let path = try self.path(length + 4, seed: length)
        let lines = try #require(cookies.settings(path, as: "AAAAAAAAAAA", replacing: CookieHeader(""), now: self.now))
        #expect(lines.allSatisfy { $0.utf8.count <= 4096 && $0.contains("; Secure; HttpOnly; SameSite=None") })
        var jar: [(name: String, value: String)] = []
        self.keep(lines, in: &jar)
        #expect(cookies.path(of: "AAAAAAAAAAA", in: self.field(jar), now: self.now) == path)
        let late = self.now.advanced(by: ReturnCookie.lifetime)
        #expect(cookies.path(of: "AAAAAAAAAAA", in: self.field(jar), now: late) == nil)
        self.keep(cookies.deletions(of: "AAAAAAAAAAA", in: self.field(jar)), in: &jar)
        #expect(jar.isEmpty)
    }

    @Test func `B-01: whatever links a browser follows, its Cookie field stays below 8 KiB`() throws {
        let cookies = ReturnCookie(at: try #require(self.origin), sealer: self.sealer)
        var jar = [(name: "app", value: String(repeating: "x", count: 900))]
        for number in 0..<60 {
            let id = Base64URL.encode([UInt8(number), 1, 2, 3, 4, 5, 6, 7])
            let path = try self.path([520, 2000, 700, 6000, 4000][number % 5], seed: number)
            let lines = try #require(cookies.settings(path, as: id, replacing: self.field(jar), now: self.now))
            self.keep(lines, in: &jar)
            #expect(self.field(jar).byteCount < 8192 - 600)
            #expect(cookies.path(of: id, in: self.field(jar), now: self.now) == path)
            let kept = GatewayCookie.returnPaths(in: self.field(jar), at: try #require(self.origin))
            #expect(kept.count <= GatewayCookie.maxReturnPaths)
        }
    }

    @Test func `B-01: a path that would make the Cookie field too long is not kept, and no other is lost for it`()
        throws
    {
        let cookies = ReturnCookie(at: try #require(self.origin), sealer: self.sealer)
        let tooLong = try self.path(8192, seed: 7)
        #expect(cookies.settings(tooLong, as: "AAAAAAAAAAA", replacing: CookieHeader(""), now: self.now) == nil)
        // Apps have set so many cookies that only a short one fits.
        let crowded = CookieHeader("app=" + String(repeating: "x", count: 7300))
        let (short, long) = (try self.path(2500, seed: 1), try self.path(4500, seed: 2))
        #expect(cookies.settings(short, as: "AAAAAAAAAAA", replacing: crowded, now: self.now) != nil)
        #expect(cookies.settings(long, as: "AAAAAAAAAAA", replacing: crowded, now: self.now) == nil)
    }

    @Test func `B-01: a cookie opens for its id and host only`() throws {
        let gate = ReturnCookie(at: try #require(self.origin), sealer: self.sealer)
        let shop = try #require(Origin(scheme: "https", host: "shop.example.com"))
        let path = try self.path(900, seed: 3)
        var jar: [(name: String, value: String)] = []
        self.keep(
            try #require(gate.settings(path, as: "AAAAAAAAAAA", replacing: self.field(jar), now: self.now)),
            in: &jar
        )
        #expect(gate.path(of: "AAAAAAAAAAE", in: self.field(jar), now: self.now) == nil)
        let other = ReturnCookie(at: shop, sealer: self.sealer)
        #expect(other.path(of: "AAAAAAAAAAA", in: self.field(jar), now: self.now) == nil)
        jar[0].value.removeLast(4)
        #expect(gate.path(of: "AAAAAAAAAAA", in: self.field(jar), now: self.now) == nil)
    }
}

@Suite struct ReturnReferenceTests {
    private let sealer = Sealer([Secret(text: "0123456789abcdefghijklmnopqrstuvwxyz")])

    @Test(arguments: ["/%2Fx", "/%5Cx", "/a%0Ab", "/q?a=%0D%0A", "/a%2F%2Fb", "/%20/x", "/a%7F"])
    func `G-01: a requested path is known again on its host, and rejected in an rd`(text: String) throws {
        let path = try #require(ReturnPath(requested: text))
        #expect(ReturnPath(text) == nil)
        let reference = ReturnReference(.path(path)).path(on: "gate.example.com", below: .standard, by: self.sealer)
        #expect(ReturnPath(reference.value) == reference)
        #expect(
            ReturnReference(reference, on: "gate.example.com", below: .standard, by: self.sealer)?.content
                == .path(path)
        )
        #expect(ReturnReference(reference, on: "shop.example.com", below: .standard, by: self.sealer) == nil)
        let other = Sealer([Secret(text: "another-secret-of-at-least-32-bytes!")])
        #expect(ReturnReference(reference, on: "gate.example.com", below: .standard, by: other) == nil)
    }

    @Test func `B-01: a reference has what a sign-in has to know of a path in a cookie`() throws {
        let front = try #require(ReturnPath(requested: "/wiki"))
        let kept = ReturnReference(.cookie(id: "AAAAAAAAAAA"), front: front, maxAuthenticationAge: .seconds(90))
        let path = kept.path(on: "gate.example.com", below: .standard, by: self.sealer)
        #expect(path.value.utf8.count < 160)
        #expect(ReturnReference(path, on: "gate.example.com", below: .standard, by: self.sealer) == kept)
    }
}
