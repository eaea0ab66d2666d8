// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateHTTP

@Suite struct DownloadRateTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let limits = DownstreamLimits()

    /// Whether a client is fast enough that takes so many bytes in each second of waiting.
    private func holds(_ rates: [Int64], seconds: Int64) -> Bool {
        var rate = DownloadRate()
        var taken: Int64 = 0
        for second in 0...seconds {
            guard rate.isFastEnough(taken: taken, at: self.start + .seconds(second), within: self.limits) else {
                return false
            }
            taken += rates[Int(second) % rates.count]
        }
        return true
    }

    @Test(arguments: [(0, false), (1, false), (127, false), (128, true), (1000, true)] as [(Int64, Bool)])
    func `X-18 a slow client must take at least 128 bytes a second`(rate: Int64, holds: Bool) {
        #expect(self.holds([rate], seconds: 600) == holds)
    }

    @Test func `X-18 fast reads do not pay for a later minute`() {
        var rate = DownloadRate()
        let held = [(0, 0), (1 << 30, 60), (1 << 30, 119), (1 << 30, 120)].map { taken, second in
            rate.isFastEnough(taken: taken, at: self.start + .seconds(Int64(second)), within: self.limits)
        }
        #expect(held == [true, true, true, false])
    }

    @Test func `X-18 only time with queued bytes counts`() {
        var rate = DownloadRate()
        let held = (Int64(0)..<10).map { minute in
            defer { rate.reset() }
            return rate.isFastEnough(taken: minute, at: self.start + .seconds(minute * 59), within: self.limits)
        }
        #expect(held.allSatisfy { $0 })
    }
}
