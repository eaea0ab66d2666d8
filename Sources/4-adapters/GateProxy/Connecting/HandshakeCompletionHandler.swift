// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Waits for the end of the TLS handshake or its failure; confined to its channel's event loop.
final class HandshakeCompletionHandler: ByteHandler, RemovableChannelHandler {
    private let loop: any EventLoop
    private let promise: EventLoopPromise<String?>
    private var isOver = false

    /// The name that the certificate of the target has to have; nil for an IP address.
    private let name: String?

    init(loop: any EventLoop, name: String?) {
        self.loop = loop
        self.name = name
        self.promise = loop.makePromise()
    }

    /// The negotiated protocol, or the failure.
    var result: EventLoopFuture<String?> { self.promise.futureResult }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated) = event { self.end(.success(negotiated)) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
        let reason = HandshakeReason(leaf: tls?.peerCertificate, name: self.name, now: WallClock.system.now)
        self.end(.failure(UpstreamFailure.untrusted(reason.text(of: error))))
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
}
