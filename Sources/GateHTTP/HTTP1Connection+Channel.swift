// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
package import NIOCore
internal import NIOTLS

extension HTTP1Connection {
    /// Takes its place in the pipeline.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.line = ChannelIO(context, reader: self.tls == nil ? self : nil)
        self.setting.sweep.add(self)
        self.phase = self.tls == nil ? .idle : .handshake
        let limits = self.setting.limits
        self.phaseDeadline = self.tls.map { $0.accepted + limits.handshake } ?? .now() + limits.firstByte
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.setting.sweep.remove(self)
        self.context = nil
        self.line = nil
    }

    /// Learns that the TLS handshake is complete.
    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event, case .handshake = self.phase {
            self.phase = .idle
            self.phaseDeadline = .now() + self.setting.limits.firstByte
            self.pump()
            self.flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.socketRead(&bytes)
    }

    /// Takes bytes that have arrived.
    package func socketRead(_ bytes: inout ByteBuffer) {
        self.arrived = .now()
        switch self.phase {
        case .lingering, .closed:
            return
        case .handshake, .idle, .head, .body, .answering, .tunnel:
            break
        }
        self.inbound.takeRead(&bytes)
        self.pump()
        self.inbound.leaveRead(in: &bytes)
        if self.inbound.readableBytes > 0 { self.keepOnlyWhatIsNeeded(leaving: &bytes) }
    }

    /// Moves a few bytes that wait for more out of the memory of a whole read, which many slow clients would hold.
    private func keepOnlyWhatIsNeeded(leaving memory: inout ByteBuffer) {
        let bytes = self.inbound.readableBytes
        guard self.inbound.storageCapacity >= 8 * 1024, bytes <= self.inbound.storageCapacity / 4 else { return }
        var moved = self.freshBuffer(capacity: bytes)
        moved.writeImmutableBuffer(self.inbound)
        memory = self.inbound
        self.inbound = moved
    }

    /// Sends what the bytes just read have led to.
    package func channelReadComplete(context: ChannelHandlerContext) { self.socketReadComplete() }

    /// Sends what the bytes just read have led to.
    package func socketReadComplete() {
        if self.isReadingBody { self.armBodyDeadline() }
        self.flush()
    }

    /// Reads on, unless reading is paused.
    package func read(context: ChannelHandlerContext) { self.socketMayRead() }

    /// Reads on, unless reading is paused.
    package func socketMayRead() {
        guard self.isPaused || self.holdsTooMuch else {
            self.line?.read()
            return
        }
        self.wantsRead = true
    }

    /// Whether as much has come behind the request under way as may wait, or behind an answer that is not taken.
    var holdsTooMuch: Bool {
        switch self.phase {
        case .answering, .idle: self.inbound.readableBytes > self.setting.limits.pipelinedBytes
        case .handshake, .head, .body, .tunnel, .lingering, .closed: false
        }
    }

    /// Learns that the peer takes bytes again, or no longer.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : .now() + self.setting.limits.writeStall
        if isWritable { self.download.reset() } else { self.unsent = (self.bytesWaiting, .now()) }
        self.responder.downstreamWritabilityChanged(isWritable: isWritable)
        if isWritable {
            self.arrived = .now()
            self.pump()
            self.flush()
        }
        context.fireChannelWritabilityChanged()
    }

    /// Learns that the connection is no more.
    package func channelInactive(context: ChannelHandlerContext) {
        self.ended()
        context.fireChannelInactive()
    }

    /// Learns that the connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended()
        context.close(promise: nil)
    }

    func ended() {
        let phase = self.phase
        self.phase = .closed
        self.answer = .complete
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        switch phase {
        case .body, .answering, .tunnel: self.responder.cancel()
        case .handshake, .idle, .head, .lingering, .closed: break
        }
    }

    /// The deadline has passed: a slow head or body is told so, everything else is closed.
    ///
    /// An idle or closing connection whose client still takes the last answer gets more time.
    package func expire() {
        let now = NIODeadline.now()
        let isStalled = self.stallDeadline <= now
        if isStalled, self.phaseDeadline > now, self.isStillTaking() {
            self.stallDeadline = now + .seconds(1)
            return
        }
        switch self.phase {
        case .head, .body:
            guard !isStalled || self.phaseDeadline <= now else { return self.giveUp(resets: true) }
            self.refuse(WireRejection(.wireTooSlow))
        case .idle where self.isStillTaking():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = now + .seconds(1)
        case .lingering where self.isStillTaking():
            self.stallDeadline = .distantFuture
            self.phaseDeadline = .now() + self.setting.limits.linger
        case .handshake, .idle, .answering, .tunnel, .lingering, .closed:
            self.giveUp(resets: isStalled)
        }
    }

    /// Closes the connection; with a reset if the client does not take what the kernel would go on offering to it.
    private func giveUp(resets: Bool) {
        self.phaseDeadline = .distantFuture
        self.stallDeadline = .distantFuture
        guard resets, let socket = self.context?.channel as? SocketChannel else {
            self.context?.close(promise: nil)
            return
        }
        socket.reset()
    }
}
