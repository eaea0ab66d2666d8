// SPDX-License-Identifier: Apache-2.0

import GateProxy
import NIOCore
import Testing

@testable import GateRedis

/// Replies as Redis sends them, and as something else might.
@Suite struct RESPReaderTests {
    /// What a reader makes of pieces of bytes.
    private func values(_ pieces: [ArraySlice<UInt8>], _ limits: RESPLimits = .standard) throws -> [RESPValue] {
        var reader = RESPReader()
        var values: [RESPValue] = []
        for piece in pieces {
            reader.append(ByteBuffer(bytes: piece))
            while let value = try reader.next(limits) { values.append(value) }
        }
        return values
    }

    private func text(_ text: String) -> RESPValue { .text(Array(text.utf8)) }

    @Test func `each type of RESP3 is read, wherever the bytes are divided`() throws {
        let bytes = Array(
            """
            +OK\r\n-ERR no\r\n:-7\r\n$4\r\na\r\nb\r\n$-1\r\n*-1\r\n_\r\n#t\r\n,1.5\r\n(123456789012345678901\r\n!5\r\nERR x\r\n\
            =7\r\ntxt:abc\r\n*2\r\n:1\r\n*0\r\n%1\r\n+a\r\n:2\r\n~1\r\n+b\r\n>3\r\n+message\r\n+c\r\n$0\r\n\r\n
            """.utf8
        )
        let expected: [RESPValue] = [
            self.text("OK"), .error("ERR no"), .integer(-7), self.text("a\r\nb"), .null, .null, .null, .integer(1),
            self.text("1.5"), self.text("123456789012345678901"), .error("ERR x"), self.text("abc"),
            .list([.integer(1), .list([])]), .list([self.text("a"), .integer(2)]), .list([self.text("b")]),
            .push([self.text("message"), self.text("c"), self.text("")]),
        ]
        for position in 0...bytes.count {
            #expect(try self.values([bytes[..<position], bytes[position...]]) == expected, "divided at \(position)")
        }
        #expect(try self.values(bytes.indices.map { bytes[$0...$0] }) == expected)
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n", "$-2\r\n", "$99999999999\r\n", "$x\r\n", "$3\r\nabcd\r\n", "*99999999999\r\n",
        "*-3\r\n",
        ">1\r\n>1\r\n+a\r\n", ":1\n2\r\n\r\n", "\r\n", "+a\rb\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "?\r\n",
        "*?\r\n", ">-1\r\n",
        "|1\r\n+a\r\n+b\r\n",
    ])
    func `what is not a reply ends the connection`(text: String) {
        #expect(throws: RESPViolation.self) { try self.values([Array(text.utf8)[...]]) }
    }

    @Test func `a line that never ends is rejected at one megabyte`() throws {
        var reader = RESPReader()
        reader.append(ByteBuffer(repeating: UInt8(ascii: "+"), count: RESPLimits.standard.bytes))
        #expect(try reader.next() == nil)
        reader.append(ByteBuffer(repeating: UInt8(ascii: "+"), count: 1))
        #expect(throws: RESPViolation.self) { try reader.next() }
    }

    private static let limits = RESPLimits(bytes: 1000, values: 100)

    /// What a reader makes of a text that is received in pieces of this size.
    private func values(_ text: String, inPiecesOf size: Int) throws -> [RESPValue] {
        let bytes = Array(text.utf8)
        let starts = stride(from: 0, to: bytes.count, by: size)
        return try self.values(starts.map { bytes[$0..<min($0 + size, bytes.count)] }, Self.limits)
    }

    private static func bulk(_ count: Int) -> String { "$\(count)\r\n\(String(repeating: "x", count: count))\r\n" }
    private static func list(_ count: Int) -> String { "*\(count)\r\n\(String(repeating: ":1\r\n", count: count))" }

    /// Replies with too many bytes, then with too many values.
    enum Large: CaseIterable {
        case text
        case textInList
        case manyTexts
        case error
        case list
        case listOfLists
        case map

        var reply: String {
            switch self {
            case .text: RESPReaderTests.bulk(2000)
            case .textInList: "*3\r\n:1\r\n\(RESPReaderTests.bulk(1000))+a\r\n"
            case .manyTexts: "*3\r\n" + String(repeating: RESPReaderTests.bulk(400), count: 3)
            case .error: "!2000\r\n\(String(repeating: "e", count: 2000))\r\n"
            case .list: RESPReaderTests.list(100)
            case .listOfLists: "*20\r\n" + String(repeating: RESPReaderTests.list(10), count: 20)
            case .map: "%51\r\n" + String(repeating: ":1\r\n", count: 102)
            }
        }
    }

    @Test(arguments: Large.allCases)
    func `B-06: a reply over the limits is skipped, and those around it are read`(large: Large) throws {
        let text = ":1\r\n\(large.reply)+next\r\n\(large.reply):2\r\n"
        for size in [10_000, 1001, 64, 3, 1] {
            let values = try self.values(text, inPiecesOf: size)
            #expect(values == [.integer(1), .tooLarge, self.text("next"), .tooLarge, .integer(2)], "\(size)")
        }
    }

    @Test func `B-06: a pushed message over the limits belongs to no command`() throws {
        let values = try self.values(">3\r\n+message\r\n+c\r\n" + Self.bulk(2000) + ":1\r\n", inPiecesOf: 64)
        #expect(values == [.push([]), .integer(1)])
    }

    @Test func `B-06: the last reply within the limits is read`() throws {
        let size = Self.limits.bytes - "$992\r\n".utf8.count - "\r\n".utf8.count
        #expect(try self.values(Self.bulk(size), inPiecesOf: 64).first?.bytes?.count == size)
        #expect(try self.values(Self.bulk(size + 1), inPiecesOf: 64) == [.tooLarge])
        let list = try self.values(Self.list(Self.limits.values - 1), inPiecesOf: 64)
        #expect(list.first?.values?.count == Self.limits.values - 1)
    }

    @Test func `B-07: the map of a cluster with a range for each slot is read`() throws {
        let node = "*4\r\n$9\r\n127.0.0.1\r\n:6379\r\n$40\r\n\(String(repeating: "a", count: 40))\r\n*0\r\n"
        let ranges = (0..<ClusterSlots.count).map { "*5\r\n:\($0)\r\n:\($0)\r\n" + node + node + node }
        var reader = RESPReader()
        reader.append(ByteBuffer(string: "*\(ranges.count)\r\n" + ranges.joined()))
        let reply = try #require(try reader.next(RedisCommand.clusterSlots.replyLimits))
        let map = try #require(ClusterSlots(reply) { _, port in UpstreamTarget(.tcp(host: "a", port: Int(port))) })
        #expect(map.isComplete)
        #expect(RedisCommand("CLUSTER", "INFO").replyLimits == .standard)
    }

    @Test func `a command is an array of texts with their lengths in bytes`() {
        var buffer = ByteBuffer()
        RedisCommand("SET", "ä").with([0, 13, 10]).with(7).write(to: &buffer)
        #expect(String(buffer: buffer) == "*4\r\n$3\r\nSET\r\n$2\r\nä\r\n$3\r\n\u{0}\r\n\r\n$1\r\n7\r\n")
    }
}
