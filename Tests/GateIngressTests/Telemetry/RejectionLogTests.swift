// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateEndpoints
import GateFixtures
import GateHTTP
import GateHeaders
import GateOperations
import GateTestSupport
import Synchronization
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct RejectionLogTests {
    @Test(
        arguments: [
            (.routeNone, "info"), (.signInRequired, "info"), (.openIDCallback, "info"), (.policyRefused, "info"),
            (.routeMaintenance, "info"), (.gatewayOverloaded, "warning"), (.providerUnknown, "error"),
        ] as [(Failure.Reason, String)]
    )
    func `Z-05: each rejection is logged with incident, code and reason`(
        reason: Failure.Reason,
        level: String
    ) throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        for wantsPage in [true, false] {
            let response = gateway.runtime.rendering.response(
                to: Failure(reason, "why"),
                for: ClientKind(wantsPage: wantsPage)
            )
            let line = try #require(lines.all.last)
            let incident = try #require(line.values["incident"])
            #expect("\(line.level)" == level && line.values["code"] == reason.code && line.values["detail"] == "why")
            #expect(response.text.contains(incident))
        }
    }

    @Test func `Z-05: a script without a session gets an incident that is logged`() throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let head = try gateway.head("GET /wiki", GatewayFixture.gate, "Accept: */*\r\n")
        let response = SignInRedirect(runtime: gateway.runtime).response(for: head, route: try gateway.route("wiki"))
        let json = try JSON(parsing: response.body)
        #expect(response.status == 401 && json["error"]?.string == "sign_in_required")
        #expect(json["incident"]?.string == lines.all.last?.values["incident"] && lines.all.count == 1)
        #expect(lines.all.last?.values["detail"]?.contains("wiki") == true)
    }

    @Test func `Z-05: bytes that are not a request are logged with the incident that is shown`() throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let response = try gateway.received("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        let line = try #require(lines.all.last)
        #expect("\(line.level)" == "info" && line.values["code"] == "request.repeated_host")
        #expect(response.contains(try #require(line.values["incident"])))
    }

    @Test func `Z-05: a flood of one kind is bounded, counted, and hides no other`() throws {
        let clock = TestTicks()
        let limiter = LogLimiter(clock: { clock.now }, suppress: { _ in })
        let scripts = LogLimiter.Key(kind: "noSuchRoute", isPage: false)
        let admitted = (0..<1000).count { _ in limiter.admit(scripts) != nil }
        #expect(admitted == LogLimiter.burst)
        #expect(limiter.admit(LogLimiter.Key(kind: "noSuchRoute", isPage: true)) == 0)
        #expect(limiter.admit(LogLimiter.Key(kind: "forbidden", isPage: false)) == 0)
        clock.advance(by: .seconds(1))
        #expect(limiter.admit(scripts) == 1000 - LogLimiter.burst)
        #expect(limiter.admit(scripts) == 0)
        let more = (0..<1000).count { _ in limiter.admit(scripts) != nil }
        #expect(more == LogLimiter.perSecond - 2)
    }

    @Test(arguments: ["\u{9B}2J", "\u{202E}", "\n", "\u{2028}"])
    func `X-09: received text cannot steer who reads the log`(hostile: String) throws {
        let lines = LogLines()
        let gateway = try GatewayFixture(log: RequestLog(logger: lines.logger))
        let failure = Failure(.requestCrossSiteWebSocket, "opened by https://\(hostile)evil.example")
        _ = gateway.runtime.rendering.response(to: failure, for: ClientKind(wantsPage: false))
        let detail = try #require(lines.all.last?.values["detail"])
        #expect(PrintableText.isPrintable(detail) && detail.hasPrefix("opened by https://\\"))
    }
}

/// A monotonic clock that the test moves.
private final class TestTicks: Sendable {
    private let offset = Mutex(Duration.zero)
    private let start = ContinuousClock.now

    var now: ContinuousClock.Instant { self.start + self.offset.withLock { $0 } }

    func advance(by duration: Duration) { self.offset.withLock { $0 += duration } }
}
