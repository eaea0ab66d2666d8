// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GateServer

@Suite struct DroppedLineReportTests {
    private let start = ContinuousClock.now

    @Test func `dropped lines are reported at once, and while it goes on once a minute`() {
        var report = DroppedLineReport()
        #expect(report.next(total: 0, at: self.start) == nil)
        #expect(report.next(total: 3, at: self.start) == 3)
        #expect(report.next(total: 9, at: self.start + .seconds(59)) == nil)
        #expect(report.next(total: 9, at: self.start + .seconds(60)) == 6)
        #expect(report.next(total: 9, at: self.start + .seconds(600)) == nil)
    }
}
