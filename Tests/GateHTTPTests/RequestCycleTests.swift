// SPDX-License-Identifier: Apache-2.0

import GateHTTP
import GateWire
import NIOCore
import Testing

@Suite struct RequestCycleTests {
    @Test func `one request gets one answer and the connection waits for the next`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get("/a"))
        let text = try stage.received()
        #expect(stage.responder.events == ["begin GET /a", "finish"])
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("Content-Length: 4\r\n\r\n</a>"))
        #expect(!text.contains("Connection:") && text.contains("cache-control: no-store\r\n"))
        try stage.send(get("/b"))
        #expect(try stage.received().hasSuffix("</b>"))
        #expect(!stage.tap.isClosed && !stage.tap.isHalfClosed)
    }

    @Test func `the second request is not begun before the first answer is complete`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a") + get("/b"))
        #expect(stage.responder.events == ["begin GET /a", "finish"])
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .length(3), closes: false)
        stage.connection.write(ByteBuffer(string: "ab"))
        stage.connection.flush()
        #expect(stage.responder.events.count == 2)
        stage.connection.write(ByteBuffer(string: "c"))
        stage.connection.end()
        #expect(stage.responder.events == ["begin GET /a", "finish", "begin GET /b", "finish"])
        #expect(try stage.received() == "HEAD|abc")
    }

    @Test func `a hundred requests in one segment are answered in their order`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send((0..<100).map { get("/\($0)") }.joined())
        let bodies = try stage.received().matches(of: /<\/(\d+)>/).map { String($0.1) }
        #expect(bodies == (0..<100).map(String.init))
    }

    @Test(arguments: [
        get("/a", "X: y\r\n"), post("Content-Length: 5", "hello"),
        post("Transfer-Encoding: chunked", "3\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"),
    ])
    func `where the bytes are split makes no difference`(request: String) throws {
        let whole = try ConnectionFixture()
        whole.responder.answersAll()
        try whole.send(request + get("/next"))
        let expected = try whole.received()
        #expect(statuses(expected) == ["200", "200"])
        let bytes = Array((request + get("/next")).utf8)
        for split in 1..<bytes.count {
            let stage = try ConnectionFixture()
            stage.responder.answersAll()
            try stage.send(String(decoding: bytes[..<split], as: UTF8.self))
            try stage.send(String(decoding: bytes[split...], as: UTF8.self))
            #expect(stage.responder.events == whole.responder.events, "split at \(split)")
            #expect(try stage.received() == expected, "split at \(split)")
        }
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        for byte in bytes {
            try stage.send(String(decoding: [byte], as: UTF8.self))
        }
        #expect(stage.responder.events == whole.responder.events)
        #expect(try stage.received() == expected)
    }

    @Test func `a body comes before the end of its request`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 5", "he"))
        #expect(stage.responder.events == ["begin POST /p", "body he"])
        try stage.send("llo")
        #expect(stage.responder.events == ["begin POST /p", "body hello", "finish"])
    }

    @Test func `bytes behind a body belong to the next request`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(post("Content-Length: 2", "ab" + get("/next")))
        #expect(stage.responder.events == ["begin POST /p", "body ab", "finish", "begin GET /next", "finish"])
    }

    @Test func `a client that waits for it is told to send the body`() throws {
        let stage = try ConnectionFixture()
        stage.responder.whenBegun = { request, connection in
            if request.expectsContinue { connection.sendContinue() }
        }
        stage.responder.answersAll()
        try stage.send(post("Content-Length: 2\r\nExpect: 100-continue"))
        #expect(try stage.received() == "HTTP/1.1 100 Continue\r\n\r\n")
        try stage.send("ab")
        #expect(try stage.received().hasSuffix("</p>"))
    }

    @Test func `nobody is told to send a body after the answer has begun`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Content-Length: 2\r\nExpect: 100-continue"))
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .length(1), closes: false)
        stage.connection.sendContinue()
        stage.connection.flush()
        #expect(try stage.received() == "HEAD|")
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "get / HTTP/1.1\r\nHost: a\r\n\r\n", get("/", "A : b\r\n")])
    func `bytes that are no request are answered with a status and end the connection`(text: String) throws {
        let stage = try ConnectionFixture()
        try stage.send(text + get("/smuggled"))
        let answer = try stage.received()
        #expect(statuses(answer) == [text.hasPrefix("get") ? "501" : "400"])
        #expect(answer.contains("\r\nConnection: close\r\n") && stage.tap.isHalfClosed)
        #expect(!stage.responder.events.contains { $0.hasPrefix("begin") })
        try stage.send(get("/late"))
        #expect(stage.responder.events.count == 1)
    }

    @Test func `a request after a good one is refused without harm to the first answer`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send(get("/a") + "GARBAGE\r\n\r\n")
        #expect(statuses(try stage.received()) == ["200", "400"])
    }

    @Test func `a broken body gives the request up once and is answered`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Transfer-Encoding: chunked", "zz\r\n"))
        #expect(stage.responder.abandonments == 1)
        #expect(statuses(try stage.received()) == ["400"])
        stage.hangUp()
        #expect(stage.responder.abandonments == 1)
    }

    @Test func `a broken body in the middle of an answer cuts it off`() throws {
        let stage = try ConnectionFixture()
        try stage.send(post("Transfer-Encoding: chunked", "2\r\nab\r\n"))
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: .chunked, closes: false)
        stage.connection.flush()
        try stage.send("zz\r\n")
        #expect(stage.responder.abandonments == 1 && stage.tap.isClosed)
        #expect(try stage.received() == "HEAD|")
    }
}
