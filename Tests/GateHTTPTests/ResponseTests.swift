// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateWire
import HTTPTypes
import NIOCore
import Testing

@testable import GateHTTP

@Suite struct ResponseTests {
    /// The bytes after the head that a stage's responder streams to a request.
    private func streamed(
        _ request: String,
        _ framing: BodyFraming,
        _ parts: [String]
    ) throws -> (ConnectionFixture, String) {
        let stage = try ConnectionFixture()
        try stage.send(request)
        stage.connection.start(ByteBuffer(string: "HEAD|"), framing: framing, closes: false)
        for part in parts {
            stage.connection.write(ByteBuffer(string: part))
        }
        stage.connection.end()
        return (stage, try stage.received())
    }

    @Test func `an answer in chunks ends with the last chunk`() throws {
        let (stage, text) = try self.streamed(get(), .chunked, ["hello", "", "0123456789abcdefg"])
        #expect(text == "HEAD|5\r\nhello\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n")
        #expect(!stage.tap.isHalfClosed)
    }

    @Test func `a large part goes out whole inside its chunk`() throws {
        let part = String(repeating: "x", count: 70_000)
        let (_, text) = try self.streamed(get(), .chunked, ["a", part, "b"])
        #expect(text == "HEAD|1\r\na\r\n11170\r\n\(part)\r\n1\r\nb\r\n0\r\n\r\n")
    }

    @Test func `an answer of known length has nothing around its bytes`() throws {
        let (stage, text) = try self.streamed(get(), .length(4), ["ab", "cd"])
        #expect(text == "HEAD|abcd" && !stage.tap.isHalfClosed)
    }

    @Test func `an answer until the close ends the connection`() throws {
        let (stage, text) = try self.streamed("GET / HTTP/1.0\r\nHost: a\r\n\r\n", .untilClose, ["ab"])
        #expect(text == "HEAD|ab" && stage.tap.isHalfClosed)
    }

    @Test(arguments: [BodyFraming.chunked, .length(2)])
    func `an answer to HEAD has no body`(framing: BodyFraming) throws {
        let (stage, text) = try self.streamed("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", framing, ["ab"])
        #expect(text == "HEAD|" && !stage.tap.isHalfClosed)
    }

    @Test func `our own answer to HEAD tells the length and holds no body`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try stage.received().hasSuffix("Content-Length: 4\r\n\r\n"))
    }

    @Test func `a refusal has a body even after a HEAD`() throws {
        let stage = try ConnectionFixture()
        stage.responder.answersAll()
        try stage.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\nGARBAGE\r\n\r\n")
        #expect(try stage.received().hasSuffix("request.start_line"))
    }

    @Test(arguments: [204, 304])
    func `an answer that has no body tells no length`(status: Int) {
        let date = DateLine(clock: .fixed(Instant(seconds: 784_111_777)))
        let answer = Response(status, body: Array("x".utf8))
        let text = String(buffer: answer.encoded(closes: false, forHead: false, date: date, into: ByteBuffer()))
        #expect(text.contains("\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
        #expect(!text.contains("Content-Length") && text.hasSuffix("\r\n\r\n"))
    }

    @Test func `an answer of ours may not be stored unless it says so`() {
        #expect(Response(200).head.headerFields[.cacheControl] == "no-store")
        #expect(Response(200, fields: [.cacheControl: "max-age=60"]).head.headerFields[.cacheControl] == "max-age=60")
    }

    @Test func `a request is answered once`() throws {
        let stage = try ConnectionFixture()
        try stage.send(get("/a"))
        stage.connection.respond(.text(200, "first"))
        stage.connection.respond(.text(200, "second"))
        stage.connection.write(ByteBuffer(string: "third"))
        stage.connection.end()
        let text = try stage.received()
        #expect(statuses(text) == ["200"] && text.hasSuffix("first"))
    }
}
