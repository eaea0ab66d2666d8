// SPDX-License-Identifier: Apache-2.0

import GateNet
import NIOCore
import NIOEmbedded
import Testing

@testable import GateHTTP

/// B-16: what all clients together may hold before their requests are complete.
@Suite struct UnfinishedHeadsTests {
    private final class Reader: HeadReader {
        var unfinishedHead: UnfinishedHead?
        private(set) var isRejected = false

        func rejectUnfinishedHead() {
            self.isRejected = true
            self.unfinishedHead = nil
        }

        func hold(_ bytes: Int, since second: Int64) {
            let since = NIODeadline.uptimeNanoseconds(0) + .seconds(second)
            self.unfinishedHead = UnfinishedHead(since: since, bytes: bytes)
        }
    }

    @Test func `beyond the limit the heads that have been arriving longest are rejected, until an eighth is free`() {
        let heads = UnfinishedHeads(limit: 80)
        let readers = (0..<9).map { _ in Reader() }
        for (number, reader) in readers.enumerated() {
            reader.hold(10, since: Int64(number))
            heads.note(reader)
            if number == 7 { #expect(!readers.contains { $0.isRejected }) }
        }
        #expect(readers.map(\.isRejected) == [true, true] + [Bool](repeating: false, count: 7))
    }

    @Test func `heads that are complete by then do not count`() {
        let heads = UnfinishedHeads(limit: 80)
        let readers = (0..<100).map { _ in Reader() }
        for (number, reader) in readers.enumerated() {
            reader.hold(10, since: Int64(number))
            heads.note(reader)
            reader.unfinishedHead = nil
        }
        #expect(!readers.contains { $0.isRejected })
    }

    @Test func `a head counts with all that it holds, and no more once its connection is closed`() {
        let heads = UnfinishedHeads(limit: 80)
        let (growing, gone, last) = (Reader(), Reader(), Reader())
        for bytes in [10, 20, 40] {
            growing.hold(bytes, since: 1)
            heads.note(growing)
        }
        gone.hold(40, since: 2)
        heads.note(gone)
        heads.forget(gone)
        last.hold(40, since: 3)
        heads.note(last)
        #expect(!growing.isRejected && !last.isRejected)
        growing.hold(41, since: 1)
        heads.note(growing)
        #expect(growing.isRejected && !last.isRejected)
    }

    @Test func `one head alone beyond the limit is rejected`() {
        let heads = UnfinishedHeads(limit: 80)
        let reader = Reader()
        reader.hold(81, since: 1)
        heads.note(reader)
        #expect(reader.isRejected)
    }

    @Test func `over HTTP/1.1 the bytes of a head count as long as its end has not come`() throws {
        let fixture = try ConnectionFixture()
        fixture.heads.limit = 8 * 1024
        for _ in 0..<3 {
            try fixture.send("GET / HTTP/1.1\r\nHost: a\r\nX-A: \(String(repeating: "a", count: 3000))")
            #expect((fixture.connection.unfinishedHead?.bytes ?? 0) >= 3000)
            try fixture.send("\r\n\r\n")
            #expect(fixture.connection.unfinishedHead == nil)
            fixture.connection.respond(Response(200))
        }
        #expect(statuses(try fixture.received()) == ["200", "200", "200"])
        try fixture.send("GET / HTTP/1.1\r\nHost: a\r\nX-A: \(String(repeating: "a", count: 9000))")
        #expect(statuses(try fixture.received()) == ["408"] && fixture.connection.unfinishedHead == nil)
    }

    @Test func `over HTTP/2 the fields of a section count as long as its last frame has not come`() throws {
        let fixture = try HTTP2ConnectionFixture()
        try fixture.start()
        fixture.heads.limit = 8 * 1024
        _ = try fixture.frames()
        let line = ("x-a", String(repeating: "a", count: 120))
        let first = fieldBytes(fields("GET", "/", [(String, String)](repeating: line, count: 20)))
        try fixture.send(frame(.headers, 1, on: 1, first))
        #expect((fixture.connection.unfinishedHead?.bytes ?? 0) >= 2400)
        #expect(try fixture.frames(.goAway).isEmpty)
        let next = fieldBytes([(String, String)](repeating: line, count: 70))
        try fixture.send(frame(.continuation, 0, on: 1, next))
        #expect(try fixture.frames(.goAway).count == 1 && fixture.connection.unfinishedHead == nil)
    }

    @Test
    func `over HTTP/2 a field of which only a part has come counts, in the first frame of a section and in later ones`()
        throws
    {
        for isLater in [false, true] {
            let fixture = try HTTP2ConnectionFixture()
            try fixture.start()
            fixture.heads.limit = 8 * 1024
            // RFC 7541 §5.1 and §6.2.2: a literal of 60000 bytes, of which less comes.
            let literal: [UInt8] = [0, 3] + Array("x-a".utf8) + [0x7F, 0xE1, 0xD3, 0x03]
            let part = literal + [UInt8](repeating: UInt8(ascii: "a"), count: 9000)
            if isLater {
                try fixture.send(frame(.headers, 1, on: 1, fieldBytes(fields("GET", "/"))))
                #expect(try fixture.frames(.goAway).isEmpty)
                try fixture.send(frame(.continuation, 0, on: 1, part))
            } else {
                try fixture.send(frame(.headers, 1, on: 1, part))
            }
            #expect(try fixture.frames(.goAway).count == 1 && fixture.connection.unfinishedHead == nil, "\(isLater)")
        }
    }
}
