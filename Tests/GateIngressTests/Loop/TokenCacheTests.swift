// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct TokenCacheTests {
    //
    @Test(arguments: [false, true])
    func `a token that was found before is valid until it expires`(isLast: Bool) async throws {
        let fixture = try ClientFixture()
        let runtime = fixture.gateway.runtime
        let text = ByteBuffer(string: try #require(try await fixture.tokens()["access_token"]?.string))
        let other = ByteBuffer(string: try #require(try await fixture.tokens()["access_token"]?.string))
        var cache = TokenCache()
        func isFound(_ text: ByteBuffer, after seconds: Int64) -> Bool {
            let now = fixture.gateway.clock.now.advanced(by: .seconds(seconds))
            return cache.token(text, of: runtime, keeps: true, now: now) != nil
        }
        #expect(isFound(text, after: 0))
        if !isLast { #expect(isFound(other, after: 0)) }
        #expect(cache.isLast(text) == isLast)
        #expect(!isFound(text, after: 600) && !isFound(text, after: 10_000))
        #expect(isFound(text, after: 599), "the time of another request is not that of this one")
    }

    @Test func `what a request of an earlier configuration finds is not kept`() async throws {
        let fixture = try ClientFixture()
        let text = ByteBuffer(string: try #require(try await fixture.tokens()["access_token"]?.string))
        var cache = TokenCache()
        let (runtime, now) = (fixture.gateway.runtime, fixture.gateway.clock.now)
        #expect(cache.token(text, of: runtime, keeps: false, now: now) != nil && !cache.isLast(text))
        #expect(cache.token(text, of: runtime, keeps: true, now: now) != nil && cache.isLast(text))
        cache.removeAll()
        #expect(!cache.isLast(text))
    }
}
