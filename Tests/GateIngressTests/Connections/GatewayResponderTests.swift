// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import NIOCore
import Testing

@testable import GateIngress

@Suite struct GatewayResponderTests {
    @Test(arguments: [
        ("GET /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\nAccept: text/html\r\n\r\n", "303 See Other"),
        ("GET /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\n\r\n", "401 Unauthorized"),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "404 Not Found"),
        ("OPTIONS * HTTP/1.1\r\nHost: gate.example.com\r\n\r\n", "204 No Content"),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request"), ("get / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented"),
    ])
    func `a stranger gets one answer and nothing is left under way`(request: String, status: String) throws {
        let gateway = try GatewayFixture()
        let text = try gateway.received(request)
        #expect(text.hasPrefix("HTTP/1.1 \(status)\r\n") && text.matches(of: /HTTP\/1\.1/).count == 1)
        #expect(gateway.loop.inFlight == 0 && gateway.loop.lookUps == 0 && gateway.loop.ownRequests == 0)
    }

    @Test func `A-57 of a stranger's request nothing is read after the answer`() throws {
        let gateway = try GatewayFixture()
        let text = try gateway.received(
            "POST /wiki/a HTTP/1.1\r\nHost: gate.example.com\r\nContent-Length: 100\r\n\r\n"
                + "GET / HTTP/1.1\r\nHost: gate.example.com\r\n\r\n"
        )
        #expect(text.hasPrefix("HTTP/1.1 401 ") && text.matches(of: /HTTP\/1\.1/).count == 1)
        #expect(text.contains("\r\nConnection: close\r\n") && gateway.loop.inFlight == 0)
    }
}
