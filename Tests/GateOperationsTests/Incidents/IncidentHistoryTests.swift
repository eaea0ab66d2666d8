// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GateOperations

@Suite struct IncidentHistoryTests {
    private let clock = TestClock()
    private let history: IncidentHistory

    init() {
        self.history = IncidentHistory(clock: self.clock.clock)
    }

    private func add(_ reason: Failure.Reason, _ id: String?, request: String? = nil, provider: String? = nil) {
        self.clock.advance(by: 1)
        var known = IncidentRequest()
        (known.id, known.provider) = (request, provider)
        self.history.add(reason, detail: "why", id: id, of: known)
    }

    private func ids(_ name: String) -> [String?] { self.history.incidents(named: name).map(\.id) }

    @Test func `an incident is found by its word and by the id of its request, and no other is`() {
        self.add(.policyRefused, "one", request: "first")
        self.add(.routeNone, "two", request: "second")
        #expect(self.ids("one") == ["one"] && self.ids("first") == ["one"])
        #expect(self.ids("two") == ["two"] && self.ids("on") == [])
    }

    @Test func `what is learned later about the request is added, and what is known stays`() throws {
        self.add(.policyRefused, "one", provider: "staff")
        var known = IncidentRequest()
        (known.id, known.status, known.rule, known.path) = ("first", 403, RulePlace(line: 12), "/wiki")
        self.history.complete("one", with: known)
        self.history.complete("another", with: known)
        let found = try #require(self.history.incidents(named: "first").first)
        #expect(found.id == "one" && found.request.provider == "staff" && found.request.rule == RulePlace(line: 12))
        #expect(found.json["path"] == "/wiki" && found.json["status"] == 403)
    }

    @Test(
        arguments: [
            (.routeNone, nil), (.requestNotNavigation, "staff"), (.openIDStateMismatch, "staff"),
            (.signInTooOften, "staff"),
            (.upstreamUnreachable, nil), (.gatewayOverloaded, nil),
        ] as [(Failure.Reason, String?)]
    )
    func `a flood of what clients can cause removes no denial of a user`(reason: Failure.Reason, provider: String?) {
        self.add(.policyRefused, "denied")
        self.add(.openIDClientRefused, "failed", provider: "staff")
        for _ in 0..<(2 * IncidentHistory.capacity) { self.add(reason, "unknown", provider: provider) }
        #expect(self.ids("denied") == ["denied"] && self.ids("failed") == ["failed"])
    }

    @Test func `a flood of unknown paths removes no failed sign-in`() {
        self.add(.openIDStateMismatch, "failed", provider: "staff")
        for _ in 0..<(2 * IncidentHistory.capacity) { self.add(.routeNone, "unknown") }
        #expect(self.ids("failed") == ["failed"])
    }

    @Test func `the number of incidents is bounded, and the latest stay`() {
        for number in 0..<IncidentHistory.capacity {
            self.add(.routeNone, "path-\(number)")
            self.add(.providerTimeout, "call-\(number)")
            self.add(.upstreamTimedOut, "app-\(number)")
        }
        let half = 2 * IncidentHistory.capacity / 3
        #expect(self.history.extent.count == IncidentHistory.capacity)
        for name in ["path", "call", "app"] {
            #expect(self.ids("\(name)-\(half - 1)") == [] && self.ids("\(name)-\(half)") == ["\(name)-\(half)"])
            let last = "\(name)-\(IncidentHistory.capacity - 1)"
            #expect(self.ids(last) == [last])
        }
        #expect(self.history.extent.completeSince == self.history.incidents(named: "app-\(half)").first?.time)
    }

    @Test func `the latest denials are those by rules, the newest first, up to a limit`() {
        for number in 0..<4 {
            self.add(.policyDenied, "denied-\(number)")
            self.add(.requestCrossSite, "cross-site-\(number)")
        }
        self.add(.policyRefused, "refused")
        #expect(self.history.denials(limit: 3).map(\.id) == ["refused", "denied-3", "denied-2"])
        #expect(self.history.denials(limit: 50).count == 5)
    }

    @Test func `as long as nothing was replaced, all failures are there`() {
        self.add(.routeNone, "one")
        #expect(self.history.extent.count == 1 && self.history.extent.completeSince == nil)
    }

    @Test func `the failure of an app and its page are one incident; a later one of the same request is another`() {
        self.add(.upstreamUnreachable, nil, request: "first")
        self.add(.upstreamUnreachable, "page", request: "first")
        #expect(self.ids("first") == ["page"])
        self.add(.upstreamTimedOut, nil, request: "first")
        #expect(self.ids("page") == [nil, "page"])
    }

    @Test func `a text is cut and printable, so that the size of all is bounded`() throws {
        var known = IncidentRequest()
        known.path = "/" + String(repeating: "a", count: 9000)
        known.user = "staff:\u{1B}[2J\u{202E}"
        self.history.add(.policyRefused, detail: String(repeating: "\n", count: 9000), id: "one", of: known)
        known.host = String(repeating: "h", count: 9000)
        self.history.complete("one", with: known)
        let json = try #require(self.history.incidents(named: "one").first?.json)
        #expect(json.encoded.count < 8000)
        for (_, value) in try #require(json.object) {
            #expect(PrintableText.isPrintable(value.string ?? ""))
        }
    }
}
