// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Waits for the end of the TLS handshake or its failure; confined to its channel's event loop.
final class HandshakeCompletionHandler: ByteHandler, RemovableChannelHandler {
    private let loop: any EventLoop
    private let promise: EventLoopPromise<String?>
    private var isOver = false

    init(loop: any EventLoop) {
        self.loop = loop
        self.promise = loop.makePromise()
    }

    /// The negotiated protocol, or the failure.
    var result: EventLoopFuture<String?> { self.promise.futureResult }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated) = event { self.end(.success(negotiated)) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.end(.failure(UpstreamFailure.untrusted(HandshakeCompletionHandler.reason(of: error))))
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(.failure(UpstreamFailure.untrusted("the connection was closed in the TLS handshake")))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end(.failure(UpstreamFailure.untrusted("the connection was closed in the TLS handshake")))
    }

    private func end(_ result: Result<String?, any Error>) {
        guard !self.isOver else { return }
        self.isOver = true
        self.promise.completeWith(result)
    }

    /// The error in few words: BoringSSL's text, cut to a bounded length.
    private static func reason(of error: any Error) -> String {
        String("\(error)".prefix(300))
    }
}
