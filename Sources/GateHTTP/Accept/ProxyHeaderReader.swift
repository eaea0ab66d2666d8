// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire
internal import NIOCore

/// Takes the PROXY header off a connection of a balancer, then leaves; confined to the connection's event loop.
///
/// Nothing else of the connection is looked at before the header is complete, which it has to be within the time for
/// handshakes.
final class ProxyHeaderReader: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    /// Puts the rest of the pipeline behind this handler; told the client, nil if the balancer speaks for itself.
    typealias Continuation = (IPAddress?) throws -> Void

    private let deadline: NIODeadline
    private let gate: ConnectionLimiter
    private let then: Continuation
    private var bytes = ByteBuffer()
    private var timer: Scheduled<Void>?
    private var isDone = false

    init(until deadline: NIODeadline, gate: ConnectionLimiter, then: @escaping Continuation) {
        self.deadline = deadline
        self.gate = gate
        self.then = then
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timer = context.eventLoop.scheduleTask(deadline: self.deadline) {
            let (reader, context) = bound.value
            reader.refuse(context)
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
            self.refuse(context)
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

    /// Whoever sends no proper header gets no answer: it is a balancer that is set up wrongly, or no balancer.
    private func refuse(_ context: ChannelHandlerContext) {
        guard !self.isDone else { return }
        self.isDone = true
        self.gate.note(.proxyHeader)
        context.close(promise: nil)
    }
}
