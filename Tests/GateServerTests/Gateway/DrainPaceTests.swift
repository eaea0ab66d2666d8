// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateServer

@Suite struct DrainPaceTests {
    private let pace = DrainPace(spread: .seconds(10))

    @Test func `few idle connections are ended at once`() {
        #expect(self.pace.quota(idle: 0, passed: .zero) == 20)
        #expect(self.pace.quota(idle: 15, passed: .zero) == 20)
    }

    @Test func `many are spread over the whole time`() {
        #expect(self.pace.quota(idle: 10_000, passed: .zero) == 50)
        #expect(self.pace.quota(idle: 5000, passed: .seconds(5)) == 50)
    }

    @Test func `when the time is over all are ended`() {
        #expect(self.pace.quota(idle: 10_000, passed: .seconds(10)) == .max)
        #expect(self.pace.quota(idle: 10_000, passed: .seconds(11)) == .max)
    }
}
