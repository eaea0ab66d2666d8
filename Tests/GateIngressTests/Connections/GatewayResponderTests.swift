// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateFixtures
import GateHTTP
import GateSessions
import GateTestSupport
import NIOCore
import Testing

@testable import GateIngress
@testable import GateRuntime

@Suite struct GatewayResponderTests {
    @Test(arguments: [
        ("GET /a HTTP/1.1\r\nHost: gate.example.com\r\nAccept: text/html\r\n\r\n", "303 See Other"),
        ("GET /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\n\r\n", "401 Unauthorized"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "404 Not Found"),
        ("OPTIONS * HTTP/1.1\r\nHost: gate.example.com\r\n\r\n", "204 No Content"),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request"), ("get / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented"),
    ])
    func `a request without a session gets one response and nothing is left in progress`(
        request: String,
        status: String
    ) throws {
        let gateway = try GatewayFixture()
        let text = try gateway.received(request)
        #expect(text.hasPrefix("HTTP/1.1 \(status)\r\n") && text.matches(of: /HTTP\/1\.1/).count == 1)
        #expect(gateway.loop.inFlight == 0 && gateway.loop.lookUps == 0 && gateway.loop.ownRequests == 0)
    }

    @Test func `a navigation to an app with one provider begins the sign-in without a redirect to its start`() throws {
        let gateway = try GatewayFixture()
        let text = try gateway.received("GET /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\nAccept: text/html\r\n\r\n")
        // The response waits for the provider's metadata.
        #expect(text.isEmpty && gateway.loop.ownRequests == 1 && gateway.loop.inFlight == 1)
    }

    @Test(arguments: [
        ("HEAD /wiki/a", "gate.example.com", "", "/oauth2/start/staff?rd=%2Fwiki%2Fa"),
        ("GET /wiki/a", "gate.example.com", "Sec-Purpose: prefetch\r\n", "/oauth2/start/staff?rd=%2Fwiki%2Fa"),
        ("GET /wiki/a", "gate.example.com", "Sec-Fetch-Dest: iframe\r\n", "/oauth2/start/staff?rd=%2Fwiki%2Fa"),
        ("GET /wiki/a", "gate.example.com", "Content-Length: 1\r\n", "/oauth2/start/staff?rd=%2Fwiki%2Fa"),
        ("GET /a", "gate.example.com", "", "/oauth2/sign_in?rd=%2Fa"),
        ("GET /a", "desk.example.com", "", "/oauth2/handover?request="),
    ])
    func `nothing but a navigation that has no choice of providers begins an attempt`(
        start: String,
        host: String,
        lines: String,
        location: String
    ) throws {
        let text = try GatewayFixture().received(
            "\(start) HTTP/1.1\r\nHost: \(host)\r\nAccept: text/html\r\n\(lines)\r\n"
        )
        #expect(text.hasPrefix("HTTP/1.1 303 ") && text.contains("\r\nlocation: https://gate.example.com\(location)"))
        #expect(!text.contains("gatehouse-attempt-"))
    }

    @Test func `G-03: a form without a session begins no attempt and gets a page`() throws {
        let text = try GatewayFixture().received(
            "POST /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\nAccept: text/html\r\nContent-Length: 0\r\n\r\n"
        )
        #expect(text.hasPrefix("HTTP/1.1 401 ") && text.contains("signin.form_not_sent"))
        #expect(!text.contains("gatehouse-attempt-"))
    }

    @Test func `a request that has waited for the store is decided about at the time at which it goes on`() async throws
    {
        let gateway = try GatewayFixture()
        gateway.loop.advance(to: .uptimeNanoseconds(0))
        let issued = try await gateway.session(of: .staff(email: "eve@example.com"))
        let request = gateway.request(try gateway.head("GET /wiki", GatewayFixture.gate, cookie(issued.ticket)))
        gateway.clock.advance(by: 5)
        request.resume(on: gateway.loop, after: .done)
        #expect(request.now == gateway.clock.now && gateway.loop.now == gateway.clock.now)
    }

    @Test func `A-57 of a rejected request nothing is read after the response`() throws {
        let gateway = try GatewayFixture()
        let text = try gateway.received(
            "POST /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\nContent-Length: 100\r\n\r\n"
                + "GET / HTTP/1.1\r\nHost: gate.example.com\r\n\r\n"
        )
        #expect(text.hasPrefix("HTTP/1.1 401 ") && text.matches(of: /HTTP\/1\.1/).count == 1)
        #expect(text.contains("\r\nConnection: close\r\n") && gateway.loop.inFlight == 0)
    }
}
