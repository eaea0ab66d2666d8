// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import Testing

@Suite struct RequestCycleTests {
    @Test func `one request gets one response and the connection waits for the next`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get("/a"))
        let text = try fixture.received()
        #expect(fixture.responder.events == ["begin GET /a", "finish"])
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("Content-Length: 4\r\n\r\n</a>"))
        #expect(!text.contains("Connection:") && text.contains("cache-control: no-store\r\n"))
        try fixture.send(get("/b"))
        #expect(try fixture.received().hasSuffix("</b>"))
        #expect(!fixture.tap.isClosed && !fixture.tap.isHalfClosed)
    }

    @Test func `the second request is not begun before the first response is complete`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a") + get("/b"))
        #expect(fixture.responder.events == ["begin GET /a", "finish"])
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .length(3), closes: false)
        fixture.connection.write(ByteBuffer(string: "ab"))
        fixture.connection.flush()
        #expect(fixture.responder.events.count == 2)
        fixture.connection.write(ByteBuffer(string: "c"))
        fixture.connection.end()
        #expect(fixture.responder.events == ["begin GET /a", "finish", "begin GET /b", "finish"])
        #expect(try fixture.received() == "HEAD|abc")
    }

    @Test func `a hundred requests in one segment get their responses in order`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send((0..<100).map { get("/\($0)") }.joined())
        let bodies = try fixture.received().matches(of: /<\/(\d+)>/).map { String($0.1) }
        #expect(bodies == (0..<100).map(String.init))
    }

    @Test(arguments: [
        get("/a", "X: y\r\n"), post("Content-Length: 5", "hello"),
        post("Transfer-Encoding: chunked", "3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"),
    ])
    func `where the bytes are split makes no difference`(request: String) throws {
        let whole = try ConnectionFixture()
        whole.responder.respondsToAll()
        try whole.send(request + get("/next"))
        let expected = try whole.received()
        #expect(statuses(expected) == ["200", "200"])
        let bytes = Array((request + get("/next")).utf8)
        for split in 1..<bytes.count {
            let fixture = try ConnectionFixture()
            fixture.responder.respondsToAll()
            try fixture.send(String(decoding: bytes[..<split], as: UTF8.self))
            try fixture.send(String(decoding: bytes[split...], as: UTF8.self))
            #expect(fixture.responder.events == whole.responder.events, "split at \(split)")
            #expect(try fixture.received() == expected, "split at \(split)")
        }
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        for byte in bytes {
            try fixture.send(String(decoding: [byte], as: UTF8.self))
        }
        #expect(fixture.responder.events == whole.responder.events)
        #expect(try fixture.received() == expected)
    }

    @Test func `a body comes before the end of its request`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 5", "he"))
        #expect(fixture.responder.events == ["begin POST /p", "body he"])
        try fixture.send("llo")
        #expect(fixture.responder.events == ["begin POST /p", "body hello", "finish"])
    }

    @Test func `bytes after a body belong to the next request`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(post("Content-Length: 2", "ab" + get("/next")))
        #expect(fixture.responder.events == ["begin POST /p", "body ab", "finish", "begin GET /next", "finish"])
    }

    @Test func `a client that waits for it gets 100 Continue`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.whenBegun = { request, connection in
            if request.expectsContinue { connection.sendContinue() }
        }
        fixture.responder.respondsToAll()
        try fixture.send(post("Content-Length: 2\r\nExpect: 100-continue"))
        #expect(try fixture.received() == "HTTP/1.1 100 Continue\r\n\r\n")
        try fixture.send("ab")
        #expect(try fixture.received().hasSuffix("</p>"))
    }

    @Test func `no 100 Continue is sent after the response has begun`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Content-Length: 2\r\nExpect: 100-continue"))
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .length(1), closes: false)
        fixture.connection.sendContinue()
        fixture.connection.flush()
        #expect(try fixture.received() == "HEAD|")
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n", get("/", "A : b\r\n")])
    func `malformed requests get an error status and close the connection`(text: String) throws {
        let fixture = try ConnectionFixture()
        try fixture.send(text + get("/smuggled"))
        let response = try fixture.received()
        #expect(statuses(response) == [text.hasPrefix("get") ? "501" : "400"])
        #expect(response.contains("\r\nConnection: close\r\n") && fixture.tap.isHalfClosed)
        #expect(!fixture.responder.events.contains { $0.hasPrefix("begin") })
        try fixture.send(get("/late"))
        #expect(fixture.responder.events.count == 1)
    }

    @Test func `a rejected request does not affect the response to the one before`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send(get("/a") + "GARBAGE\r\n\r\n")
        #expect(statuses(try fixture.received()) == ["200", "400"])
    }

    @Test func `a malformed body cancels the request once and gets a response`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Transfer-Encoding: chunked", "zz\r\n"))
        #expect(fixture.responder.cancellations == 1)
        #expect(statuses(try fixture.received()) == ["400"])
        fixture.hangUp()
        #expect(fixture.responder.cancellations == 1)
    }

    @Test func `a malformed body in the middle of a response truncates the response`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(post("Transfer-Encoding: chunked", "2\r\nab\r\n"))
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        fixture.connection.flush()
        try fixture.send("zz\r\n")
        #expect(fixture.responder.cancellations == 1 && fixture.tap.isClosed)
        #expect(try fixture.received() == "HEAD|")
    }
}
