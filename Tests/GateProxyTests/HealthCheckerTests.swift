// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateProxy

/// Records the requests for connections and lets the test decide what they get; confined to the test's loop.
private final class ManualPool: UpstreamPool {
    private(set) var sinks: [any UpstreamSink] = []
    private(set) var isFresh: [Bool] = []
    private(set) var cancellations = 0
    private(set) var isShutDown = false
    let load = TargetLoad()

    func lease(to sink: any UpstreamSink, fresh: Bool) {
        self.sinks.append(sink)
        self.isFresh.append(fresh)
    }

    func cancel(_ sink: any UpstreamSink) { self.cancellations += 1 }

    func shutDown() { self.isShutDown = true }
}

/// Records what is sent; confined to the test's loop.
private final class ManualStream: UpstreamStream {
    let isReused = false
    let isWritable = true
    private(set) var head = ""
    private(set) var isFlushed = false
    private(set) var isCancelled = false

    func send(_ head: ByteBuffer, for call: UpstreamRequest) { self.head = String(buffer: head) }
    func send(_ body: ByteBuffer) {}
    func finishRequest() {}
    func flush() { self.isFlushed = true }
    func cancel() { self.isCancelled = true }
    func pauseReading() {}
    func resumeReading() {}
}

/// A checker on a loop whose time the test sets.
private final class CheckerFixture {
    let loop = EmbeddedEventLoop()
    let pool = ManualPool()
    let health = TargetHealth()
    let checker: HealthChecker
    private let log: EventLog

    /// The state changes; confined to the test's loop.
    private final class EventLog {
        var changes: [String] = []
    }

    /// The reported changes of state, in order.
    var changes: [String] { self.log.changes }

    init(_ change: (inout HealthCheckSettings) -> Void = { _ in }) throws {
        var settings = HealthCheckSettings(path: "/healthz?full")
        change(&settings)
        let log = EventLog()
        self.log = log
        let bound = NIOLoopBound(log, eventLoop: self.loop)
        let environment = UpstreamEnvironment(loop: self.loop, sweep: DeadlineSweep()) { event in
            guard case .health(_, let isUp, let why) = event else { return }
            bound.value.changes.append("\(isUp ? "up" : "down"): \(why)")
        }
        self.checker = HealthChecker(
            UpstreamTarget(.tcp(host: "app.example", port: 8080)),
            settings: settings,
            pool: self.pool,
            environment: environment,
            health: self.health
        )
    }

    /// Lets the check in progress fail, then the interval pass.
    func fail() throws {
        try #require(self.pool.sinks.last).upstreamFailed(.connectTimedOut)
        self.loop.advanceTime(by: .seconds(10))
    }

    /// Lets the check in progress get a response, then the interval pass.
    func respond(_ status: Int) throws {
        var head = ByteBuffer(string: "HTTP/1.1 \(status) x\r\nContent-Length: 0\r\n\r\n")
        let parser = ResponseParser(names: .response, limits: .response)
        try #require(self.pool.sinks.last).upstreamReceivedHead(
            try #require(try parser.head(from: &head, for: .get))
        )
        self.loop.advanceTime(by: .seconds(10))
    }

    /// Starts the checker and lets the random delay pass.
    func start() {
        self.checker.start()
        self.loop.advanceTime(by: .seconds(1))
    }
}

@Suite struct HealthCheckerTests {
    @Test func `a check is a GET of the path on a new connection`() throws {
        let fixture = try CheckerFixture()
        fixture.start()
        #expect(fixture.pool.isFresh == [true])
        let stream = ManualStream()
        try #require(fixture.pool.sinks.first).upstreamReady(stream)
        #expect(stream.head.hasPrefix("GET /healthz?full HTTP/1.1\r\nHost: app.example:8080\r\n"))
        #expect(stream.head.hasSuffix("Connection: close\r\n\r\n") && stream.isFlushed)
    }

    @Test func `the Host field can be configured`() throws {
        let fixture = try CheckerFixture { $0.host = "other.example" }
        fixture.start()
        let stream = ManualStream()
        try #require(fixture.pool.sinks.first).upstreamReady(stream)
        #expect(stream.head.contains("\r\nHost: other.example\r\n"))
    }

    @Test func `three failures take a target down, and two successes bring it back`() throws {
        let fixture = try CheckerFixture()
        fixture.start()
        try fixture.fail()
        try fixture.fail()
        #expect(fixture.health.isUp)
        try fixture.fail()
        #expect(!fixture.health.isUp)
        try fixture.respond(200)
        #expect(!fixture.health.isUp)
        try fixture.respond(204)
        #expect(fixture.health.isUp)
        #expect(fixture.changes == ["down: connectTimedOut", "up: status 204"])
    }

    @Test func `an error status is a failure`() throws {
        let fixture = try CheckerFixture { $0.unhealthy = 1 }
        fixture.start()
        try fixture.respond(503)
        #expect(fixture.changes == ["down: status 503"])
    }

    @Test func `a check without a response fails at its time-out and is cancelled`() throws {
        let fixture = try CheckerFixture { $0.unhealthy = 1 }
        fixture.start()
        let stream = ManualStream()
        try #require(fixture.pool.sinks.first).upstreamReady(stream)
        // A part of the time-out may have passed with the random delay.
        fixture.loop.advanceTime(by: .milliseconds(999))
        #expect(fixture.changes.isEmpty)
        fixture.loop.advanceTime(by: .milliseconds(1001))
        #expect(fixture.changes == ["down: no response in time"] && stream.isCancelled)
    }

    @Test func `the next check starts an interval after the result`() throws {
        let fixture = try CheckerFixture()
        fixture.start()
        try #require(fixture.pool.sinks.last).upstreamFailed(.connectTimedOut)
        fixture.loop.advanceTime(by: .milliseconds(9999))
        #expect(fixture.pool.sinks.count == 1)
        fixture.loop.advanceTime(by: .milliseconds(1))
        #expect(fixture.pool.sinks.count == 2)
    }

    @Test func `stopping cancels the check in progress and shuts the pool down`() throws {
        let fixture = try CheckerFixture { $0.unhealthy = 1 }
        fixture.start()
        let stream = ManualStream()
        try #require(fixture.pool.sinks.first).upstreamReady(stream)
        fixture.checker.stop()
        #expect(stream.isCancelled && fixture.pool.isShutDown && fixture.pool.cancellations == 1)
        fixture.loop.advanceTime(by: .minutes(1))
        #expect(fixture.pool.sinks.count == 1 && fixture.changes.isEmpty)
    }
}
