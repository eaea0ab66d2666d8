// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateSessions
import Testing

@Suite struct SignOutStateTests {
    private let sealer = Sealer([gateSecret])
    private let state: SignOutState

    init() throws {
        let origin = try #require(Origin(scheme: "https", host: "wiki.example.com"))
        let path = try #require(ReturnPath("/page?q=1"))
        self.state = SignOutState(provider: "google", includesProvider: true, origin: origin, path: path, now: noon)
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

    @Test func `a long path is not put into a URL`() throws {
        let path = try #require(ReturnPath("/" + String(repeating: "a", count: SignOutState.maxPathBytes)))
        let long = SignOutState(
            provider: "google",
            includesProvider: false,
            origin: self.state.origin,
            path: path,
            now: noon
        )
        #expect(long.path == .root && long.sealed(by: self.sealer).utf8.count < 512)
    }
}
