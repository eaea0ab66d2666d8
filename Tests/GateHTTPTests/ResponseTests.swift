// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import HTTPTypes
import NIOCore
import Testing

@testable import GateHTTP

@Suite struct ResponseTests {
    /// The bytes after the head that a fixture's responder streams to a request.
    private func streamed(
        _ request: String,
        _ framing: BodyFraming,
        _ parts: [String]
    ) throws -> (ConnectionFixture, String) {
        let fixture = try ConnectionFixture()
        try fixture.send(request)
        fixture.connection.start(ByteBuffer(string: "HEAD|"), framing: framing, closes: false)
        for part in parts {
            fixture.connection.write(ByteBuffer(string: part))
        }
        fixture.connection.end()
        return (fixture, try fixture.received())
    }

    @Test func `a chunked response ends with the last chunk`() throws {
        let (fixture, text) = try self.streamed(get(), .chunked, ["hello", "", "0123456789abcdefg"])
        #expect(text == "HEAD|5\r\nhello\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n")
        #expect(!fixture.tap.isHalfClosed)
    }

    @Test func `a large part is sent whole inside its chunk`() throws {
        let part = String(repeating: "x", count: 70_000)
        let (_, text) = try self.streamed(get(), .chunked, ["a", part, "b"])
        #expect(text == "HEAD|1\r\na\r\n11170\r\n\(part)\r\n1\r\nb\r\n0\r\n\r\n")
    }

    @Test func `a response of known length has no chunk framing`() throws {
        let (fixture, text) = try self.streamed(get(), .length(4), ["ab", "cd"])
        #expect(text == "HEAD|abcd" && !fixture.tap.isHalfClosed)
    }

    @Test func `a response until the close ends the connection`() throws {
        let (fixture, text) = try self.streamed("GET / HTTP/1.0\r\nHost: a\r\n\r\n", .untilClose, ["ab"])
        #expect(text == "HEAD|ab" && fixture.tap.isHalfClosed)
    }

    @Test(arguments: [BodyFraming.chunked, .length(2)])
    func `a response to HEAD has no body`(framing: BodyFraming) throws {
        let (fixture, text) = try self.streamed("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", framing, ["ab"])
        #expect(text == "HEAD|" && !fixture.tap.isHalfClosed)
    }

    @Test func `the gateway's own response to HEAD has a Content-Length and no body`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try fixture.received().hasSuffix("Content-Length: 4\r\n\r\n"))
    }

    @Test func `a rejection has a body even after a HEAD`() throws {
        let fixture = try ConnectionFixture()
        fixture.responder.respondsToAll()
        try fixture.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\nGARBAGE\r\n\r\n")
        #expect(try fixture.received().hasSuffix("request.start_line"))
    }

    @Test(arguments: [204, 304])
    func `a response without a body has no Content-Length`(status: Int) {
        let date = DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        let response = Response(status, body: Array("x".utf8))
        let text = String(buffer: response.encoded(closes: false, forHead: false, date: date, into: ByteBuffer()))
        #expect(text.contains("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
        #expect(!text.contains("Content-Length") && text.hasSuffix("\r\n\r\n"))
    }

    @Test func `the gateway's own response has no-store by default`() {
        #expect(Response(200).head.headerFields[.cacheControl] == "no-store")
        #expect(Response(200, fields: [.cacheControl: "max-age=60"]).head.headerFields[.cacheControl] == "max-age=60")
    }

    @Test func `a request gets one response`() throws {
        let fixture = try ConnectionFixture()
        try fixture.send(get("/a"))
        fixture.connection.respond(.text(200, "first"))
        fixture.connection.respond(.text(200, "second"))
        fixture.connection.write(ByteBuffer(string: "third"))
        fixture.connection.end()
        let text = try fixture.received()
        #expect(statuses(text) == ["200"] && text.hasSuffix("first"))
    }
}
