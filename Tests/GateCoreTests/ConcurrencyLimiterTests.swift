// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct ConcurrencyLimiterTests {
    @Test func `no more operations than the limit are in progress`() {
        let limiter = ConcurrencyLimiter(limit: 2)
        #expect(limiter.acquire() && limiter.acquire())
        #expect(!limiter.acquire() && !limiter.acquire())
        #expect(limiter.count == 2)
        limiter.release()
        #expect(limiter.acquire() && !limiter.acquire())
        #expect(limiter.count == 2)
    }
}
