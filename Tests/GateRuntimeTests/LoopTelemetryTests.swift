// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateOperations
import GatePolicy
import GateProxy
import Testing

@testable import GateRuntime

@Suite struct LoopTelemetryTests {
    /// A route of an app that no other test has, since the registry is that of the process.
    private func route(_ app: String, index: Int = 0) throws -> RuntimeRoute {
        let origin = try #require(Origin(scheme: "https", host: "a.example.com"))
        let upstream = UpstreamSettings(targets: [.unix(path: "/run/0"), .unix(path: "/run/1")])
        let settings = AppSettings(route: Route(app: app, origin: origin, path: "/"), action: .forward(upstream))
        return try RuntimeRoute(settings, index: index, gatewayHost: "gate.example.com")
    }

    private func samples(of app: String) -> [String] {
        String(decoding: MetricsText.bytes(of: .shared), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.contains("app=\"\(app)\"") && !$0.contains("_bucket{") && !$0.contains("_sum{") }
    }

    private func respond(_ telemetry: LoopTelemetry, _ route: RuntimeRoute, _ status: Int) {
        telemetry.counters(of: route).responded(status, nanoseconds: 1_000_000, at: 0) { ("id", nil) }
    }

    @Test func `responses of all loops are one number, which a reload does not reset`() throws {
        let loops = [LoopTelemetry(loop: 0), LoopTelemetry(loop: 1)]
        let before = try self.route("telemetry1", index: 0)
        for loop in loops { for status in [200, 204, 404] { self.respond(loop, before, status) } }
        for loop in loops { loop.adopt() }
        let after = try self.route("telemetry1", index: 3)
        self.respond(loops[1], after, 200)
        #expect(
            self.samples(of: "telemetry1") == [
                "gatehouse_request_duration_seconds_count{app=\"telemetry1\"} 7",
                "gatehouse_requests_total{app=\"telemetry1\",class=\"2xx\"} 5",
                "gatehouse_requests_total{app=\"telemetry1\",class=\"4xx\"} 2",
            ]
        )
    }

    @Test func `another route at the same position has other counters`() throws {
        let loop = LoopTelemetry(loop: 0)
        self.respond(loop, try self.route("telemetry2"), 200)
        self.respond(loop, try self.route("telemetry3"), 200)
        #expect(self.samples(of: "telemetry2").last?.hasSuffix("} 1") == true)
        #expect(self.samples(of: "telemetry3").last?.hasSuffix("} 1") == true)
    }

    @Test func `an invalid status is not counted`() throws {
        let loop = LoopTelemetry(loop: 0)
        for status in [0, 99, 600, -1] { self.respond(loop, try self.route("telemetry4"), status) }
        #expect(self.samples(of: "telemetry4").allSatisfy { $0.hasSuffix("} 0") })
    }

    @Test func `a target's responses are counted by class, its failures by cause`() throws {
        let loop = LoopTelemetry(loop: 0)
        let target = loop.counters(of: try self.route("telemetry5")).target(1)
        target.responded(503, nanoseconds: 1, at: 0) { ("id", nil) }
        for cause in [UpstreamFailure.timedOut, .timedOut, .closedInResponse, .closedBeforeResponse] {
            target.failed(cause)
        }
        let name = "gatehouse_upstream_requests_total{app=\"telemetry5\",target=\"unix:/run/1\",outcome="
        let found = self.samples(of: "telemetry5").filter { $0.hasPrefix("gatehouse_upstream_requests") }
        #expect(found == ["\(name)\"5xx\"} 1", "\(name)\"closed\"} 2", "\(name)\"timeout\"} 2"])
    }

    @Test func `a rejection is counted by phase, code and status`() throws {
        let loop = LoopTelemetry(loop: 0)
        let counters = loop.counters(of: try self.route("telemetry6"))
        for status in [303, 303, 401] { counters.rejected(CountedRejection(.signInRequired, .session, status: status)) }
        let name = "gatehouse_request_rejections_total{app=\"telemetry6\",phase=\"session\",reason=\"sign_in_required\""
        let found = self.samples(of: "telemetry6").filter { $0.hasPrefix("gatehouse_request_rej") }
        #expect(found == ["\(name),status=\"303\"} 2", "\(name),status=\"401\"} 1"])
    }
}
