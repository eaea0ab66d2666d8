// SPDX-License-Identifier: Apache-2.0

import GateTestSupport
import Testing

@testable import GateImport

@Suite struct GoDurationTests {
    @Test(
        arguments: [
            ("0", 0), ("168h0m0s", 604_800_000), ("1h30m", 5_400_000), ("1.5h", 5_400_000), ("300ms", 300),
            ("-1h", nil), ("1x", nil),
            ("", nil), ("87600h", 315_360_000_000), ("87601h", nil), ("999999999999h", nil),
        ] as [(String, Int64?)]
    )
    func `a duration is read as Go writes it`(text: String, milliseconds: Int64?) {
        #expect(Duration(go: text) == milliseconds.map { .milliseconds($0) })
    }

    @Test(arguments: HostileNumbers.texts) func `B-05: a duration of any length is at most ten years, or none`(
        text: String
    ) {
        for unit in ["", "ns", "us", "ms", "s", "m", "h", "d", "w"] {
            let read = Duration(go: text + unit)
            #expect(read.map { $0 >= .zero && $0 <= .seconds(315_360_000) } ?? true)
        }
    }

    @Test(arguments: HostileNumbers.integers) func `B-05: any duration is rounded up within bounds`(seconds: Int64) {
        for time in [Duration.seconds(seconds), .seconds(seconds) + .nanoseconds(1), .milliseconds(seconds)] {
            let clamped = time.clamped(60...3600)
            #expect(clamped >= .seconds(60) && clamped <= .seconds(3600))
            guard time > .seconds(60), time < .seconds(3600) else { continue }
            #expect(clamped >= time && clamped < time + .seconds(1))
        }
    }
}
