// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@Suite struct ConcurrencyLimiterTests {
    @Test func `so many connections come in and no more until one leaves`() {
        let gate = ConcurrencyLimiter(limit: 2)
        #expect(gate.enter() && gate.enter())
        #expect(!gate.enter() && !gate.enter())
        #expect(gate.count == 2)
        gate.leave()
        #expect(gate.enter() && !gate.enter())
        #expect(gate.count == 2)
    }
}
