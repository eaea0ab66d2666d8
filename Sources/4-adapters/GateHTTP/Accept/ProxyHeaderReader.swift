// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
internal import NIOCore

/// Reads the PROXY header of a load balancer, then removes itself; confined to the connection's event loop.
///
/// Nothing else is read before the header is complete, which must happen within the handshake time-out.
final class ProxyHeaderReader: ByteHandler, RemovableChannelHandler {
    private let deadline: NIODeadline
    private let limiter: ConnectionLimiter
    /// Adds the rest of the pipeline after this handler; the client IP is nil if the load balancer connects for itself.
    private let then: (IPAddress?) throws -> Void
    private var bytes = ByteBuffer()
    private var timer: Scheduled<Void>?
    private var isDone = false

    init(until deadline: NIODeadline, limiter: ConnectionLimiter, then: @escaping (IPAddress?) throws -> Void) {
        self.deadline = deadline
        self.limiter = limiter
        self.then = then
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timer = context.eventLoop.scheduleTask(deadline: self.deadline) {
            let (reader, context) = bound.value
            reader.reject(context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var more = self.unwrapInboundIn(data)
        guard !self.isDone else { return context.fireChannelRead(data) }
        self.bytes.writeBuffer(&more)
        do throws(ProxyProtocolHeader.Rejection) {
            let sent = self.bytes
            guard let header = try ProxyProtocolHeader.read(sent.readableBytesUInt8Span) else { return }
            self.finish(header, context)
        } catch {
            self.reject(context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.fireChannelInactive()
    }

    private func finish(_ header: ProxyProtocolHeader, _ context: ChannelHandlerContext) {
        self.isDone = true
        self.timer?.cancel()
        do {
            try self.then(header.source)
        } catch {
            return context.close(promise: nil)
        }
        self.bytes.moveReaderIndex(forwardBy: header.length)
        let rest = self.bytes
        self.bytes = ByteBuffer()
        if rest.readableBytes > 0 {
            context.fireChannelRead(self.wrapInboundOut(rest))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    /// Closes without a response: the load balancer is misconfigured, or it is something else.
    private func reject(_ context: ChannelHandlerContext) {
        guard !self.isDone else { return }
        self.isDone = true
        self.limiter.report(.proxyHeader)
        context.close(promise: nil)
    }
}
