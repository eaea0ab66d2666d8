// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateTestSupport
import HTTPTypes
import NIOCore
import Testing

@testable import GateHeaders

@Suite struct GRPCTests {
    @Test(arguments: [
        ("1H", TimeAmount.hours(1)), ("2H", .hours(1)), ("99999999H", .hours(1)), ("0H", .zero), ("59M", .minutes(59)),
        ("61M", .hours(1)), ("10S", .seconds(10)), ("99999999S", .hours(1)), ("1500m", .milliseconds(1500)),
        ("99999999u", .seconds(99) + .microseconds(999_999)), ("1n", .nanoseconds(1)),
    ])
    func `the time of a call is a count and a unit, an hour at most`(text: String, amount: TimeAmount) {
        #expect(GRPC.timeout(text) == amount)
    }

    @Test(arguments: ["", "S", "10", "10s", "-1S", "+1S", "1.5S", "100000000S", "1 S", "\u{661}S"])
    func `a malformed time-out is ignored`(text: String) {
        #expect(GRPC.timeout(text) == nil)
    }

    @Test(arguments: [
        (303, 16), (401, 16), (403, 7), (404, 12), (429, 8), (400, 13), (500, 13), (502, 14), (503, 14), (504, 4),
    ])
    func `an error of the gateway is one that gRPC knows`(status: Int, code: Int) {
        let response = GRPC.response(for: .text(status, "a page"))
        #expect(response.head.status.code == 200 && response.body.isEmpty)
        let fields = response.head.headerFields.map { "\($0.name.canonicalName): \($0.value)" }
        #expect(fields.contains("grpc-status: \(code)") && fields.contains("content-type: application/grpc"))
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: a time-out of any size is at most an hour, or none`(text: String)
    {
        for unit in ["H", "M", "S", "m", "u", "n", ""] {
            for digits in [text, String(text.prefix(8)), "99999999"] {
                let time = GRPC.timeout(digits + unit)
                #expect(time.map { $0 >= .zero && $0 <= .hours(1) } ?? true)
            }
        }
    }
}
