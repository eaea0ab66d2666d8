// SPDX-License-Identifier: Apache-2.0

import GateConfiguration
import GateCore
import GateFixtures
import GateNet
import GatePolicy
import GateProxy
import GateSessions
import GateTestSupport
import GateWire
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct UpstreamExchangeTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    @Test func `a request goes to the app with its identity, and the response to the client`() throws {
        let fixture = try ExchangeFixture()
        fixture.exchange.finishRequest()
        fixture.exchange.upstreamReady(fixture.stream)
        #expect(fixture.stream.received.hasPrefix("GET /wiki HTTP/1.1\r\nHost: gate.example.com\r\n"))
        #expect(fixture.stream.received.hasSuffix("X-Forwarded-User: staff:ada\r\n\r\n"))
        #expect(fixture.stream.events == ["finish"])
        try fixture.respond(Self.ok)
        fixture.exchange.upstreamReceivedBody(ByteBuffer(string: "hello"))
        fixture.exchange.upstreamFinished()
        #expect(fixture.client.received.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(fixture.client.received.contains(fixture.idLine) && fixture.stream.received.contains(fixture.idLine))
        #expect(fixture.client.received.hasSuffix("\r\n\r\nhello"))
        #expect(fixture.client.events == ["end"])
        #expect(fixture.delegate.events == ["finished 200"])
    }

    /// An exchange of Ada's on the route `wiki`, whose rules admit her for 20 seconds; the clock does not move.
    private func endingExchange() async throws -> ExchangeFixture {
        var entry = AccessEntry()
        entry.request = [.until(TestClock().now.advanced(by: .seconds(20)))]
        let gateway = try GatewayFixture(app: { $0.route.access = .entries([entry]) })
        let ticket = try await gateway.cachedSession(of: .staff())
        let fixture = try ExchangeFixture(lines: cookie(ticket), gateway: gateway, decides: true)
        fixture.exchange.finishRequest()
        fixture.exchange.watchAccess()
        fixture.exchange.upstreamReady(fixture.stream)
        return fixture
    }

    @Test(arguments: [(19, true), (20, false), (3600, false)] as [(Int64, Bool)])
    func `a response that lasts ends with the access of its user`(seconds: Int64, goesOn: Bool) async throws {
        let fixture = try await self.endingExchange()
        try fixture.respond("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        fixture.exchange.upstreamReceivedBody(ByteBuffer(string: "data: 1\n\n"))
        let sweep = fixture.gateway.loop.sweep
        sweep.sweep(at: .now() + .seconds(19))
        #expect(fixture.client.events == [])
        fixture.gateway.clock.advance(by: seconds)
        sweep.sweep(at: .now() + .seconds(20))
        #expect(fixture.client.events == (goesOn ? [] : ["close"]))
        #expect(fixture.stream.events == (goesOn ? ["finish"] : ["finish", "cancel"]))
        #expect(fixture.delegate.events == (goesOn ? [] : ["finished 200"]))
        #expect(fixture.logged == (goesOn ? [] : ["policy.refused"]))
    }

    @Test func `an app that has not responded when the access ends gets no more time`() async throws {
        let fixture = try await self.endingExchange()
        fixture.gateway.clock.advance(by: 20)
        fixture.gateway.loop.sweep.sweep(at: .now() + .seconds(20))
        #expect(fixture.delegate.events == ["failed policy.refused"])
        #expect(fixture.stream.events == ["finish", "cancel"])
    }

    @Test func `an exchange that is over is watched no longer`() async throws {
        var fixture: ExchangeFixture? = try await self.endingExchange()
        let sweep = try #require(fixture?.gateway.loop.sweep)
        let count = sweep.count
        fixture = nil
        #expect(sweep.count == count - 1)
    }

    @Test func `a body that arrives before the connection waits and stops the client`() throws {
        let fixture = try ExchangeFixture("POST /wiki", lines: "Content-Length: 4\r\n")
        fixture.exchange.send(ByteBuffer(string: "ab"))
        #expect(!fixture.client.isReading)
        fixture.exchange.upstreamReady(fixture.stream)
        #expect(fixture.client.isReading)
        fixture.exchange.send(ByteBuffer(string: "cd"))
        fixture.exchange.finishRequest()
        #expect(fixture.stream.received.hasSuffix("\r\n\r\nabcd"))
        #expect(fixture.stream.events == ["finish"])
    }

    @Test func `an app that cannot take more stops the client, until it can`() throws {
        let fixture = try ExchangeFixture("POST /wiki", lines: "Content-Length: 4\r\n")
        fixture.exchange.upstreamReady(fixture.stream)
        fixture.stream.isWritable = false
        fixture.exchange.send(ByteBuffer(string: "ab"))
        #expect(!fixture.client.isReading)
        fixture.exchange.upstreamWritabilityChanged(isWritable: true)
        #expect(fixture.client.isReading)
    }

    @Test func `a client that cannot take more stops the app, until it can`() throws {
        let fixture = try ExchangeFixture()
        fixture.exchange.upstreamReady(fixture.stream)
        try fixture.respond(Self.ok)
        fixture.client.isWritable = false
        fixture.exchange.upstreamReceivedBody(ByteBuffer(string: "he"))
        #expect(!fixture.stream.isReading)
        fixture.exchange.downstreamDrained()
        #expect(fixture.stream.isReading)
    }

    @Test func `a chunked body over the limit is rejected and the app is left`() throws {
        let gateway = try GatewayFixture(app: { $0.traffic.maxBody = 3 })
        let fixture = try ExchangeFixture("POST /wiki", lines: "Transfer-Encoding: chunked\r\n", gateway: gateway)
        fixture.exchange.upstreamReady(fixture.stream)
        fixture.exchange.send(ByteBuffer(string: "abc"))
        #expect(fixture.delegate.events.isEmpty)
        fixture.exchange.send(ByteBuffer(string: "d"))
        #expect(fixture.delegate.events == ["failed route.body_too_large"])
        #expect(fixture.stream.events == ["cancel"])
        #expect(fixture.stream.received.hasSuffix("\r\n\r\nabc"))
    }

    @Test func `a body over the limit after the response has begun cuts the connection`() throws {
        let gateway = try GatewayFixture(app: { $0.traffic.maxBody = 3 })
        let fixture = try ExchangeFixture("POST /wiki", lines: "Transfer-Encoding: chunked\r\n", gateway: gateway)
        fixture.exchange.upstreamReady(fixture.stream)
        try fixture.respond(Self.ok)
        fixture.exchange.send(ByteBuffer(string: "abcd"))
        #expect(fixture.delegate.events == ["finished 413"])
        #expect(fixture.logged == ["route.body_too_large"])
        #expect(fixture.client.events == ["close"])
    }

    @Test func `an app that fails before its response is logged, and the client gets an error`() throws {
        let fixture = try ExchangeFixture("POST /wiki", lines: "Content-Length: 1\r\n")
        fixture.exchange.upstreamReady(fixture.stream)
        fixture.exchange.send(ByteBuffer(string: "a"))
        fixture.exchange.upstreamFailed(.closedBeforeResponse)
        #expect(fixture.delegate.events == ["failed upstream.closed"] && fixture.logged == ["upstream.closed"])
    }

    @Test(arguments: [(false, ["finished 502"], ["close"]), (true, [], [])])
    func `a response that breaks off cuts the client, unless nothing of it was sent yet`(
        canRetract: Bool,
        delegate: [String],
        client: [String]
    ) throws {
        let fixture = try ExchangeFixture("POST /wiki", lines: "Content-Length: 0\r\n")
        fixture.client.canRetract = canRetract
        fixture.exchange.upstreamReady(fixture.stream)
        try fixture.respond(Self.ok)
        fixture.exchange.upstreamFailed(.closedInResponse)
        let expected = canRetract ? ["failed upstream.cut"] : delegate
        #expect(fixture.delegate.events == expected && fixture.logged == ["upstream.cut"])
        #expect(fixture.client.events == client)
    }

    @Test(arguments: [true, false])
    func `a retry is authorized again, and not made if the user is denied then`(isDenied: Bool) async throws {
        let gateway = try GatewayFixture()
        let ticket = try await gateway.cachedSession(of: .staff())
        let fixture = try ExchangeFixture(lines: cookie(ticket), gateway: gateway, decides: true)
        fixture.stream.isReused = true
        fixture.exchange.finishRequest()
        fixture.exchange.upstreamReady(fixture.stream)
        if isDenied, let family = fixture.request.caller.session?.session.familyKey {
            gateway.loop.sessionEnded(family)
        }
        fixture.exchange.upstreamFailed(.closedBeforeResponse)
        #expect(fixture.delegate.events == (isDenied ? ["failed upstream.closed"] : []))
        #expect(fixture.logged == (isDenied ? ["upstream.closed"] : []))
        guard !isDenied else { return }
        // The second try has an assertion of its own.
        let second = FakeStream()
        fixture.exchange.upstreamReady(second)
        #expect(second.received.contains("X-Forwarded-User: staff:ada\r\n"))
        #expect(second.received != fixture.stream.received)
    }

    @Test func `a client that goes away takes the request back from the app`() throws {
        let fixture = try ExchangeFixture()
        fixture.exchange.upstreamReady(fixture.stream)
        fixture.exchange.cancel()
        #expect(fixture.stream.events == ["cancel"])
        fixture.exchange.upstreamReceivedBody(ByteBuffer(string: "late"))
        fixture.exchange.upstreamFinished()
        #expect(fixture.client.received.isEmpty && fixture.delegate.events.isEmpty)
    }

    @Test func `a connection that comes after the client has gone is given back`() throws {
        let fixture = try ExchangeFixture()
        fixture.exchange.cancel()
        fixture.exchange.upstreamReady(fixture.stream)
        #expect(fixture.stream.events == ["cancel"] && fixture.stream.received.isEmpty)
    }

    @Test func `trailers end the response`() throws {
        let fixture = try ExchangeFixture()
        fixture.exchange.upstreamReady(fixture.stream)
        try fixture.respond("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        fixture.exchange.upstreamReceivedTrailers(ByteBuffer(string: "a: b\r\n\r\n"))
        fixture.exchange.upstreamFinished()
        #expect(fixture.client.events == ["end with a: b\r\n\r\n"])
    }
}
