// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateOperations

@Suite struct AccessRecordTests {
    @Test func `Q-26 nothing of a request is in the line of the connection's next one`() {
        let record = AccessRecord()
        record.subject = AccessSubject(app: "wiki", route: "/", user: "staff:1")
        record.decision = .denied
        record.code = "policy.denied"
        record.incident = "wZkq3yJ0hX1v"
        (record.bytesIn, record.bytesOut) = (1, 2)
        (record.forwarded, record.responded) = (.now(), .now())
        record.reset()
        #expect(record.subject == nil && record.decision == nil && record.rule == nil)
        #expect(record.code == nil && record.incident == nil)
        #expect(record.bytesIn == 0 && record.bytesOut == 0 && record.forwarded == nil && record.responded == nil)
    }
}
