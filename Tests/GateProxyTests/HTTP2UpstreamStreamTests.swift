// SPDX-License-Identifier: Apache-2.0

import GateNet
import GateWire
import NIOCore
import NIOEmbedded
import Testing

@testable import GateProxy

@Suite struct HTTP2UpstreamStreamTests {
    @Test func `who was told to wait hears that he may go on, also if more was under way meanwhile`() throws {
        let channel = EmbeddedChannel()
        let address = UpstreamTarget.unix(path: "/nowhere")
        let setting = UpstreamEnvironment(loop: channel.embeddedEventLoop, sweep: DeadlineSweep())
        let connector = UpstreamConnector(
            to: address,
            of: LoadedUpstream(withoutTLS: UpstreamSettings(targets: [address])),
            setting: setting
        )
        let pool = HTTP2Pool(connector, limits: UpstreamLimits(), outcomes: nil)
        let connection = HTTP2UpstreamConnection(pool: pool, limits: UpstreamLimits(), isSecure: false)
        channel.connect(to: try SocketAddress(unixDomainSocketPath: "/nowhere"), promise: nil)
        try channel.pipeline.syncOperations.addHandler(connection)
        let sink = Recorder()
        connection.lend(to: sink)
        let stream = try #require(sink.connection)
        stream.send(
            ByteBuffer(string: "POST / HTTP/1.1\r\nHost: app\r\n\r\n"),
            for: UpstreamRequest(.post, framing: .chunked)
        )
        // The peer takes 65,535 bytes before it says more; what is left is no reason to wait, nor little enough to go on.
        stream.send(ByteBuffer(repeating: 7, count: 110 * 1024))
        #expect(!stream.isWritable)
        stream.flush()
        stream.send(ByteBuffer(repeating: 7, count: 1024))
        stream.flush()
        #expect(stream.isWritable && !sink.events.contains("writable true"))
        // SETTINGS, then 100 KiB more for the connection and for the stream.
        var frames = ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0])
        for id in [0, 1] as [UInt8] { frames.writeBytes([0, 0, 4, 8, 0, 0, 0, 0, id, 0, 1, 0x90, 0]) }
        try channel.writeInbound(frames)
        channel.embeddedEventLoop.run()
        #expect(sink.events.filter { $0 == "writable true" }.count == 1)
    }
}
