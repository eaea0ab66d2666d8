// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

extension HTTP2Connection {
    /// Takes its place in the pipeline and says what it accepts.
    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.isWritable = context.channel.isWritable
        self.setting.sweep.add(self)
        self.session = HTTP2Session(
            connection: self,
            limits: self.setting.limits,
            takesWebSockets: self.setting.takesWebSockets
        )
        guard self.session != nil else {
            context.close(promise: nil)
            return
        }
        if self.setting.isDraining() { self.announceEnd() }
        self.scheduleFlush()
    }

    /// Leaves the pipeline.
    package func handlerRemoved(context: ChannelHandlerContext) {
        self.setting.sweep.remove(self)
        self.ended()
        self.context = nil
    }

    /// Takes bytes that have arrived.
    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        self.arrived = .now()
        switch self.farewell {
        case .lingering, .closed: return
        case .none, .announced, .final: break
        }
        // Kept by this variable while the library is at work, whatever its work leads to.
        guard let session else { return }
        if !self.flood.receive(bytes.readableBytes) { self.terminate(.enhanceYourCalm) }
        self.isReceiving = true
        let refusal = session.receive(bytes)
        self.isReceiving = false
        if let refusal, !self.isTerminating { self.terminate(refusal) }
        self.scheduleFlush()
    }

    /// Learns that the peer takes bytes again, or no longer.
    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        self.isWritable = isWritable
        self.stallDeadline = isWritable ? .distantFuture : .now() + self.setting.limits.writeStall
        if isWritable {
            let now = NIODeadline.now()
            for stream in self.open {
                stream.progressed = now
            }
            self.scheduleFlush()
        } else {
            self.unsent = (self.bytesInChannel, .now())
        }
        context.fireChannelWritabilityChanged()
    }

    /// Learns that the connection is no more.
    package func channelInactive(context: ChannelHandlerContext) {
        self.ended()
        context.fireChannelInactive()
    }

    /// Learns that the client has closed its side, which ends HTTP/2, or of other events.
    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { self.cut() }
        context.fireUserInboundEventTriggered(event)
    }

    /// Learns that the connection has failed.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.ended()
        context.close(promise: nil)
    }
}

// MARK: Deadlines

extension HTTP2Connection {
    /// When to look after the connection, see ``Expiring``.
    package var deadline: NIODeadline {
        min(
            min(self.idleDeadline, self.headDeadline, self.shutdownDeadline),
            min(self.stallDeadline, self.lookDeadline)
        )
    }

    /// Something has taken too long: the connection ends, or a stream of it.
    package func expire() {
        let now = NIODeadline.now()
        if self.stallDeadline <= now {
            guard self.isStillTaking(now) else { return self.giveUp() }
            self.stallDeadline = now + .seconds(1)
        }
        if self.headDeadline <= now {
            self.headDeadline = .distantFuture
            self.count(WireRejection(.wireTooSlow))
            self.terminate(.enhanceYourCalm)
        }
        if self.shutdownDeadline <= now { self.farewellIsOver(now) }
        if self.idleDeadline <= now {
            self.idleDeadline = .distantFuture
            self.announceEnd()
        }
        if self.lookDeadline <= now { self.look(now) }
    }

    private func farewellIsOver(_ now: NIODeadline) {
        switch self.farewell {
        case .announced: self.nameLastStream()
        case .lingering where self.isStillTaking(now): self.shutdownDeadline = now + self.setting.limits.linger
        case .none, .final, .lingering, .closed: self.giveUp()
        }
    }

    /// Looks at each open stream: a body must go on coming, and what waits for the client must be taken.
    private func look(_ now: NIODeadline) {
        self.lookDeadline = self.open.isEmpty ? .distantFuture : now + self.setting.limits.look
        for stream in self.open {
            if stream.bodyDeadline <= now {
                stream.giveUpBody()
            } else if self.isWritable, stream.isStuck(at: now) {
                stream.giveUp(.cancel)
            }
        }
    }

    /// Whether bytes wait for the client and it has taken some of them lately.
    private func isStillTaking(_ now: NIODeadline) -> Bool {
        let waiting = self.bytesInChannel
        guard waiting > 0 else { return false }
        if waiting != self.unsent.bytes { self.unsent = (waiting, now) }
        return now - self.unsent.since < self.setting.limits.writeStall
    }

    private func giveUp() {
        self.ended()
        self.context?.close(promise: nil)
    }
}
