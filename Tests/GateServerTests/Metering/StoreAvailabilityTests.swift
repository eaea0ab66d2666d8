// SPDX-License-Identifier: Apache-2.0

import GateCore
import Synchronization
import Testing

@testable import GateServer

@Suite struct StoreAvailabilityTests {
    private let start = ContinuousClock.now
    private let failure = Failure(.sessionStoreUnavailable, "gone")

    /// The reports of results that arrive at these seconds; true for a success.
    private func reports(_ results: [(second: Int, isGood: Bool)]) -> [Bool] {
        let reported = Mutex<[Bool]>([])
        let availability = StoreAvailability { failure in reported.withLock { $0.append(failure == nil) } }
        for result in results {
            availability.note(result.isGood ? nil : self.failure, at: self.start + .seconds(result.second))
        }
        return reported.withLock { $0 }
    }

    @Test func `each change is reported once`() {
        #expect(self.reports([(0, true), (1, true)]).isEmpty)
        #expect(self.reports([(0, false), (1, false), (9, true), (10, true), (20, false)]) == [false, true, false])
    }

    @Test func `a store that fails in parts is reported every five seconds at most, and in the end as it is`() {
        let flapping = (0..<10).map { (second: $0 / 3, isGood: $0 % 2 == 1) }
        #expect(self.reports(flapping) == [false])
        #expect(self.reports(flapping + [(5, true)]) == [false, true])
    }
}
