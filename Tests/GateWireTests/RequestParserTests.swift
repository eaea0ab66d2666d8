// SPDX-License-Identifier: Apache-2.0

import GateCore
import NIOCore
import Testing

@testable import GateWire

@Suite struct RequestParserTests {
    @Test(arguments: RejectedRequests.all)
    func `an ambiguous request is rejected with its status`(_ row: Row) {
        #expect(read([row.bytes]).status == row.status)
    }

    @Test(arguments: RejectedRequests.all)
    func `an ambiguous request is rejected alike byte by byte`(_ row: Row) {
        #expect(read(row.bytes.map { [$0] }).status == row.status)
    }

    @Test(arguments: RejectedRequests.all.filter { $0.id != "S-13" })
    func `an ambiguous request is rejected alike at every split`(_ row: Row) {
        for split in 0...row.bytes.count {
            let status = read([Array(row.bytes[..<split]), Array(row.bytes[split...])]).status
            #expect(status == row.status, "split at \(split)")
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET /a/../%7euser?q=%2f HTTP/1.1\r\nHost: A.example.:8080\r\nCookie: a=1; b=2\r\nX-Long: \\x80\\xff\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 12 \r\nExpect: 100-Continue\r\n\r\n",
        "PUT http://a/y?z HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked\r\nConnection: close, x\r\n\r\n",
        "OPTIONS * HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
    ])
    func `a head parsed in two parts or byte by byte equals the head parsed at once`(_ text: String) {
        let bytes = wire(text)
        let whole = read([bytes])
        #expect(whole.isHead)
        for split in 0...bytes.count {
            #expect(read([Array(bytes[..<split]), Array(bytes[split...])]) == whole, "split at \(split)")
        }
        #expect(read(bytes.map { [$0] }) == whole)
    }

    @Test func `no prefix of a head is a head`() {
        let bytes = wire("GET /a HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n")
        for end in 0..<bytes.count {
            #expect(read([Array(bytes[..<end])]) == .incomplete)
        }
    }

    @Test func `S-51 pipelined requests are parsed one after the other`() throws {
        let one = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
        let two = "DELETE /2 HTTP/1.1\r\nHost: b:81\r\n\r\n"
        var parser = RequestParser.plain()
        var buffer = ByteBuffer(string: one + two + "GET /3")
        let first = try #require(try parser.head(from: &buffer))
        #expect(first.target == "/1")
        #expect(first.authority.text == "a")
        let second = try #require(try parser.head(from: &buffer))
        #expect(second.target == "/2")
        #expect(second.authority.text == "b:81")
        let third = try parser.head(from: &buffer)
        #expect(third == nil)
        #expect(buffer.readableBytes == 6)
    }

    @Test func `S-49 one empty line before each request is skipped`() throws {
        var parser = RequestParser.plain()
        var buffer = ByteBuffer(string: "\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try parser.head(from: &buffer)?.target == "/1")
        #expect(try parser.head(from: &buffer)?.target == "/2")
        #expect(buffer.readableBytes == 0)
    }

    @Test func `the parser of a head leaves the body in the buffer`() throws {
        var parser = RequestParser.plain()
        var buffer = ByteBuffer(string: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n")
        let head = try #require(try parser.head(from: &buffer))
        #expect(head.framing == .length(4))
        #expect(buffer.readableBytes == 4)
    }
}
