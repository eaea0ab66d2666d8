// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import NIOCore
internal import NIOTLS

/// Waits for the end of the TLS handshake, then adds the connection of the negotiated protocol and removes itself.
///
/// RFC 7301: HTTP/2 if the client has offered it, HTTP/1.1 in all other cases.
final class ALPNHandler: ByteHandler, RemovableChannelHandler {
    private let deadline: HandshakeTimeoutHandler
    /// Creates the connection; receives whether it is HTTP/2.
    private let makeConnection: (Bool) throws -> any ChannelHandler

    init(deadline: HandshakeTimeoutHandler, makeConnection: @escaping (Bool) throws -> any ChannelHandler) {
        self.deadline = deadline
        self.makeConnection = makeConnection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let agreed) = event else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.addHandler(self.makeConnection(agreed == "h2"))
        } catch {
            context.close(promise: nil)
            return
        }
        context.fireUserInboundEventTriggered(event)
        pipeline.removeHandler(self.deadline, promise: nil)
        pipeline.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.deadline.failed(HandshakeFailure(error))
        context.close(promise: nil)
    }
}

/// Closes a connection whose TLS handshake is not complete in time, and reports why one has failed; removed once it is
/// complete.
final class HandshakeTimeoutHandler: ByteHandler, RemovableChannelHandler {
    private let deadline: NIODeadline
    private let report: (HandshakeFailure) -> Void
    private var timer: Scheduled<Void>?
    private var hasEnded = false

    init(_ deadline: NIODeadline, report: @escaping (HandshakeFailure) -> Void) {
        self.deadline = deadline
        self.report = report
    }

    /// The handshake has failed; the first reason counts, nil for one that is counted elsewhere.
    func failed(_ failure: HandshakeFailure?) {
        guard !self.hasEnded else { return }
        self.hasEnded = true
        if let failure { self.report(failure) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        self.timer = context.eventLoop.scheduleTask(deadline: self.deadline) {
            bound.value.failed(.timeout)
            channel.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.failed(.closed)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.timer?.cancel()
    }
}
