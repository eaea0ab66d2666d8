// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

@Suite struct SignOutStateTests {
    private let sealer = Sealer([gateSecret])
    private let binding = BrowserBinding(from: RandomBytes { [UInt8](repeating: 3, count: $0) })
    private let state: SignOutState

    init() throws {
        let origin = try #require(Origin(scheme: "https", host: "wiki.example.com"))
        let path = try #require(ReturnPath("/page?q=1"))
        self.state = SignOutState(
            provider: "google",
            includesProvider: true,
            origin: origin,
            path: path,
            binding: self.binding,
            now: noon
        )
    }

    @Test func `W-03: a sealed state opens to the same state, for ten minutes`() {
        let text = self.state.sealed(by: self.sealer)
        #expect(text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) })
        #expect(SignOutState(sealed: text, by: self.sealer, now: noon.plus(599)) == self.state)
        #expect(SignOutState(sealed: text, by: self.sealer, now: noon.plus(600)) == nil)
    }

    @Test func `W-03: a forged state does not open`() {
        let stranger = Sealer([Secret([UInt8](repeating: 8, count: 32))])
        #expect(SignOutState(sealed: self.state.sealed(by: stranger), by: self.sealer, now: noon) == nil)
        for text in ["", "x", String(repeating: "A", count: 400)] {
            #expect(SignOutState(sealed: text, by: self.sealer, now: noon) == nil)
        }
    }

    @Test func `W-03: a state belongs to the browser with the cookie`() throws {
        let text = self.state.sealed(by: self.sealer)
        let state = try #require(SignOutState(sealed: text, by: self.sealer, now: noon))
        #expect(state.isBound(to: self.binding.text.utf8))
        let other = BrowserBinding(from: RandomBytes { [UInt8](repeating: 4, count: $0) })
        for cookie in [other.text, "", "x", "\(self.binding.text)A", Base64URL.encode(self.binding.hash)] {
            #expect(!state.isBound(to: cookie.utf8))
        }
    }

    @Test func `a long path is not put into a URL`() throws {
        let path = try #require(ReturnPath("/" + String(repeating: "a", count: SignOutState.maxPathBytes)))
        let long = SignOutState(
            provider: "google",
            includesProvider: false,
            origin: self.state.origin,
            path: path,
            binding: self.binding,
            now: noon
        )
        #expect(long.path == .root && long.sealed(by: self.sealer).utf8.count < 512)
    }
}
