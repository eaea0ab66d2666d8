// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateHTTP

@Suite struct RecentStreamsTests {
    @Test func `X-12 the latest 128 streams are known, in bounded memory`() {
        var streams = RecentStreams()
        for number in Int32(1)...1000 { streams.insert(number) }
        let known = (Int32(1)...1001).filter { streams.contains($0) }
        #expect(known == Array(Int32(873)...1000))
    }
}
