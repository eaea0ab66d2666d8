// SPDX-License-Identifier: Apache-2.0

import GateTracing
import Synchronization
import Testing

@testable import GateServer

@Suite struct SpanReportTests {
    /// A report whose clock a test sets, and the lines that it has logged.
    private final class Fixture: Sendable {
        let seconds = Mutex(0)
        let lines = Mutex<[String]>([])
        private let start = ContinuousClock.now

        var report: SpanReport {
            SpanReport {
                self.start + .seconds(self.seconds.withLock { $0 })
            } log: { count, reason in
                self.lines.withLock { $0.append("\(count): \(reason)") }
            }
        }
    }

    @Test func `dropped spans are logged at most once a minute, with their number since the last line`() {
        let fixture = Fixture()
        let report = fixture.report
        report.note(.failed(3, "refused"))
        report.note(.overflow(4))
        fixture.seconds.withLock { $0 = 59 }
        report.note(.failed(5, "refused"))
        #expect(fixture.lines.withLock { $0 } == ["3: refused"])
        fixture.seconds.withLock { $0 = 60 }
        report.note(.failed(1, "late"))
        #expect(fixture.lines.withLock { $0 } == ["3: refused", "10: late"])
    }

    @Test func `exported spans are not logged`() {
        let fixture = Fixture()
        fixture.report.note(.exported(2))
        #expect(fixture.lines.withLock { $0 }.isEmpty)
    }
}
