// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import NIOCore

/// Responds to plain HTTP on a TLS port with 400 and a hint, then removes itself; confined to the connection's event
/// loop.
///
/// A TLS record starts with a byte from 0x14 to 0x18, a request with a letter. RFC 8446 §5.1.
final class PlainRequestHandler: ByteHandler, RemovableChannelHandler {
    /// How long the client may read the response before the connection is closed.
    private static let linger = TimeAmount.seconds(1)
    private static let page = """
        <!DOCTYPE html>
        <html lang="en"><title>HTTPS only</title>
        <h1>HTTPS only</h1>
        <p>This port takes HTTPS only, and the request was plain HTTP. Write https:// instead of http:// in the URL.</p>
        </html>

        """

    private let limiter: ConnectionLimiter
    private let handshake: HandshakeTimeoutHandler
    private var hasResponded = false

    init(limiter: ConnectionLimiter, handshake: HandshakeTimeoutHandler) {
        self.limiter = limiter
        self.handshake = handshake
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        guard !self.hasResponded else { return }
        guard let first = bytes.readableBytesView.first else { return }
        guard (0x41...0x5A).contains(first & 0xDF) else {
            context.fireChannelRead(data)
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
            return
        }
        self.hasResponded = true
        self.limiter.report(.plainHTTP)
        self.handshake.failed(nil)
        self.respond(context)
    }

    private func respond(_ context: ChannelHandlerContext) {
        let page = PlainRequestHandler.page
        var response = context.channel.allocator.buffer(capacity: 512)
        response.writeString("HTTP/1.1 400 Bad Request\r\nContent-Type: text/html; charset=utf-8\r\n")
        response.writeString(
            "Cache-Control: no-store\r\nConnection: close\r\nContent-Length: \(page.utf8.count)\r\n\r\n"
        )
        response.writeString(page)
        context.writeAndFlush(self.wrapOutboundOut(response), promise: nil)
        // The rest of the request is read and dropped, since closing with unread bytes would reset the connection.
        context.close(mode: .output, promise: nil)
        let channel = context.channel
        context.eventLoop.scheduleTask(in: PlainRequestHandler.linger) { channel.close(promise: nil) }
    }
}
