// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateProxy
import GateWire
import NIOCore
import Testing

@Suite struct RetryTests {
    @Test(arguments: [
        (UpstreamFailure.unreachable("refused"), true), (.untrusted("no TLS"), true), (.refusedStream, true),
        (.connectTimedOut, false), (.timedOut, false), (.clientDeadlineExceeded, false), (.overflow, false),
        (.pinMismatch, false),
        (.closedInResponse, false), (.refused(WireRejection(.upstreamStartLine)), false),
    ])
    func `R-30 any method is repeated only where the app cannot have seen the request`(
        problem: UpstreamFailure,
        isRepeated: Bool
    ) {
        for method in RequestMethod.common + [.other("PROPFIND")] {
            for wasReused in [false, true] {
                let settings = RetrySettings()
                #expect(settings.allows(problem, method: method, wasReused: wasReused, bodyBegan: false) == isRepeated)
            }
        }
    }

    @Test(arguments: RequestMethod.common + [.other("PROPFIND")])
    func `R-31 when a kept connection died, methods of the list are repeated`(method: RequestMethod) {
        var settings = RetrySettings()
        let standard: Set<RequestMethod> = [.get, .head, .options]
        let problem = UpstreamFailure.closedBeforeResponse
        #expect(
            settings.allows(problem, method: method, wasReused: true, bodyBegan: false) == standard.contains(method)
        )
        #expect(!settings.allows(problem, method: method, wasReused: false, bodyBegan: false))
        #expect(!settings.allows(problem, method: method, wasReused: true, bodyBegan: true))
        settings.methods = [.put, .delete]
        #expect(
            settings.allows(problem, method: method, wasReused: true, bodyBegan: false)
                == (method == .put || method == .delete)
        )
    }

    @Test func `a stream that was refused is not repeated once its body is gone`() {
        #expect(!RetrySettings().allows(.refusedStream, method: .get, wasReused: true, bodyBegan: true))
    }

    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func taken(_ budget: inout RetryBudget, at now: NIODeadline) -> Int {
        (0..<1000).count { _ in budget.take(at: now) }
    }

    @Test(arguments: [(0, 10, 3), (9, 10, 3), (10, 10, 4), (1000, 10, 103), (1000, 0, 3), (50, 100, 53)])
    func `second tries are a share of the requests, and three`(requests: Int, percent: Int, tries: Int) {
        var budget = RetryBudget(percent: percent, now: self.start)
        for _ in 0..<requests { budget.noteRequest() }
        #expect(self.taken(&budget, at: self.start + .seconds(1)) == tries)
    }

    @Test func `after ten seconds there is a new budget, of what was asked lately`() {
        var budget = RetryBudget(percent: 10, now: self.start)
        for _ in 0..<1000 { budget.noteRequest() }
        #expect(self.taken(&budget, at: self.start) == 103)
        #expect(self.taken(&budget, at: self.start + .seconds(9)) == 0)
        #expect(self.taken(&budget, at: self.start + .seconds(100)) == 13)
        #expect(self.taken(&budget, at: self.start + .seconds(200)) == 4)
    }
}

@Suite struct HealthStateTests {
    /// Where a row of checks leads: `+` is a success, `-` a failure; `u` and `d` are the state after each.
    @Test(arguments: [
        ("--", "uu"), ("---", "uud"), ("--+--", "uuuuu"), ("--+---", "uuuuud"), ("---+", "uudd"), ("---++", "uuddu"),
        ("---+-++", "uuddddu"), ("+++", "uuu"), ("---++---", "uudduuud"),
    ])
    func `three failures in a row, two successes in a row`(checks: String, states: String) {
        var state = HealthState(HealthCheckSettings(path: "/"))
        var seen = ""
        var last = true
        for check in checks {
            let changed = state.note(isGood: check == "+")
            #expect(changed == (state.isUp != last))
            last = state.isUp
            seen += state.isUp ? "u" : "d"
        }
        #expect(seen == states)
    }

    @Test(arguments: [(199, false), (200, true), (302, true), (399, true), (400, false), (503, false)])
    func `without a list 200 to 399 are good`(status: Int, isGood: Bool) {
        #expect(HealthCheckSettings(path: "/").accepts(status) == isGood)
    }

    @Test func `with a list only its statuses are good`() {
        var settings = HealthCheckSettings(path: "/")
        settings.statuses = [204, 503]
        #expect([200, 204, 302, 503].filter(settings.accepts) == [204, 503])
    }
}
