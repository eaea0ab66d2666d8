// SPDX-License-Identifier: Apache-2.0

internal import GateHTTP
internal import Metrics

/// The counters of connections that were not taken; looked up once, because they may be many.
struct AcceptMetrics: Sendable {
    private let counters: [AcceptFailure: Counter]

    init() {
        let all = AcceptFailure.allCases.map { failure in
            (failure, Counter(label: "gatehouse_accept_failures_total", dimensions: [("reason", failure.rawValue)]))
        }
        self.counters = Dictionary(all) { first, _ in first }
    }

    /// A connection was not taken.
    func failed(_ failure: AcceptFailure) { self.counters[failure]?.increment() }
}
