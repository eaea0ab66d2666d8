// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateTestSupport
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateHTTP

@Suite struct HTTP2FuzzTests {
    /// What an honest client might send.
    private static let conversation: [UInt8] =
        frame(.settings) + request(1, "/a") + request(3, "/b", method: "POST", hasBody: true)
        + frame(.data, 0, on: 3, [1, 2, 3]) + frame(.windowUpdate, on: 0, number(100_000)) + request(5, "/c")
        + frame(.data, 9, on: 3, [2, 4, 5, 0, 0]) + frame(.ping, on: 0, [1, 2, 3, 4, 5, 6, 7, 8])
        + request(7, "/d", method: "PUT", hasBody: true) + frame(.reset, on: 5, number(8))
        + frame(.headers, 5, on: 7, fieldBytes([("x-a", "b")])) + frame(.priority, on: 9, [0, 0, 0, 3, 16])
        + frame(.headers, 1, on: 9, fieldBytes(fields())) + frame(.continuation, 4, on: 9, fieldBytes([("a", "b")]))
        + frame(.settings, 1) + frame(.windowUpdate, on: 1, number(100_000))
        + frame(.goAway, on: 0, number(0) + number(0))

    /// Lets a responder do one of the things that responders do, at once.
    private static func act(_ exchange: any DownstreamExchange, _ choice: UInt64) {
        switch choice % 8 {
        case 0: exchange.respond(.text(200, "x"))
        case 1: exchange.close()
        case 2: exchange.pauseReading()
        case 3: exchange.sendContinue()
        case 4:
            exchange.start(ByteBuffer(string: "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"), framing: .chunked, closes: false)
            exchange.write(ByteBuffer(repeating: 0x61, count: 100_000))
        case 5:
            exchange.start(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"), framing: .chunked, closes: true)
            exchange.end(trailers: ByteBuffer(string: "a: b\r\n\r\n"))
        case 6: exchange.resumeReading()
        default: break
        }
    }

    @Test(arguments: UInt64(0)..<40)
    func `H-01 H-19 randomly changed and split frames leave no state behind`(seed: UInt64) throws {
        var dice = SeededNumbers(state: seed)
        for _ in 0..<25 {
            let choices = [dice.next(), dice.next(), dice.next()]
            let fixture = try HTTP2ConnectionFixture { recorder in
                recorder.whenBegun = { _, exchange in Self.act(exchange, choices[0]) }
                recorder.whenReceived = { exchange in Self.act(exchange, choices[1]) }
                recorder.whenFinished = { _, exchange in Self.act(exchange, choices[2]) }
            }
            var bytes = Self.conversation
            for _ in 0..<Int.random(in: 0...6, using: &dice) {
                bytes[Int.random(in: 0..<bytes.count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
            }
            try? fixture.start()
            while !bytes.isEmpty {
                let count = Int.random(in: 1...min(200, bytes.count), using: &dice)
                try? fixture.send(Array(bytes.prefix(count)))
                bytes.removeFirst(count)
                if Bool.random(using: &dice) { fixture.setWritable(Bool.random(using: &dice)) }
                fixture.expire()
            }
            _ = try? fixture.frames()
            fixture.channel.close(promise: nil)
            fixture.channel.embeddedEventLoop.run()
            let connection = fixture.connection
            #expect(connection.open.isEmpty && connection.waitingBytes == 0 && connection.pausedWriters == 0)
            #expect(connection.session == nil && fixture.sweep.count == 0)
        }
    }
}
