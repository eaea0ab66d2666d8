// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
package import GateWire
package import NIOCore

extension HTTP1Connection {
    /// Whether the answer about to be started has to say `Connection: close`.
    package var mustClose: Bool {
        self.closes || self.served >= self.setting.limits.requests || self.setting.isDraining()
            || self.arrived - self.created > self.ageLimit
    }

    /// Tells a client that waits for it to send the body.
    ///
    /// RFC 9110 §15.2.1.
    package func sendContinue() {
        guard self.owesAnswer, case .none = self.answer, let context else { return }
        context.writeAndFlush(
            self.wrapOutboundOut(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")),
            promise: nil
        )
    }

    /// Sends an interim head.
    package func sendInterim(_ head: ByteBuffer) {
        guard self.owesAnswer, case .none = self.answer, let context else { return }
        context.writeAndFlush(self.wrapOutboundOut(head), promise: nil)
    }

    /// Sends an answer of our own and completes the request with it.
    package func respond(_ answer: Response) {
        guard self.owesAnswer, case .none = self.answer else { return }
        if self.isReadingBody { self.closes = true }
        self.closes = self.mustClose
        self.outbound = answer.encoded(
            closes: self.closes,
            forHead: self.isHeadRequest,
            date: self.setting.date,
            into: self.freshBuffer(capacity: 512 + answer.body.count)
        )
        self.answer = .started(.none)
        self.end()
    }

    /// Starts an answer with a complete head.
    ///
    /// - Parameters:
    ///   - head: The bytes, written by a `HeadWriter`, with `Connection: close` if ``mustClose`` said so.
    ///   - framing: What the head says of the body.
    ///   - closes: Whether the connection ends with this answer.
    package func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard self.owesAnswer, case .none = self.answer else { return }
        self.answer = .started(framing)
        self.hasHandedOver = false
        self.closes = self.closes || closes || framing == .untilClose
        self.outbound = head
    }

    /// Takes back a response that was started, as long as nothing of it has been handed to the network.
    package func retract() -> Bool {
        guard case .started = self.answer, !self.hasHandedOver else { return false }
        self.outbound = ByteBuffer()
        self.answer = .none
        return true
    }

    /// Starts a tunnel; what the client has sent behind its handshake is the first that goes through it.
    package func startTunnel(_ head: consuming ByteBuffer) {
        guard self.owesAnswer, case .none = self.answer, case .answering = self.phase else { return }
        self.answer = .started(.untilClose)
        self.closes = true
        self.phase = .tunnel
        self.outbound = head
        self.writeOut()
        self.pump()
        self.flush()
    }

    /// Makes the answer to the request at hand the last.
    package func closeAfterResponse() { self.closes = true }

    /// Sends a part of the body; false when the client should be given time to take it.
    @discardableResult
    package func write(_ body: ByteBuffer) -> Bool {
        guard case .started(let framing) = self.answer, body.readableBytes > 0, !self.isHeadRequest else { return true }
        var body = body
        if framing == .chunked {
            self.outbound.writeString(String(body.readableBytes, radix: 16))
            self.outbound.writeStaticString("\r\n")
        }
        if body.readableBytes <= 16 * 1024 {
            self.outbound.writeBuffer(&body)
        } else {
            self.writeOut()
            self.needsFlush = true
            self.hasHandedOver = true
            self.written += Int64(body.readableBytes)
            self.line?.write(body)
        }
        if framing == .chunked { self.outbound.writeStaticString("\r\n") }
        if self.outbound.readableBytes > 32 * 1024 { self.writeOut() }
        return self.isWritable
    }

    /// Completes the answer.
    package func end() {
        guard case .started(let framing) = self.answer else { return }
        if framing == .chunked, !self.isHeadRequest { self.outbound.writeStaticString("0\r\n\r\n") }
        self.answer = .complete
        self.owesAnswer = false
        self.writeOut()
        self.requestDone()
    }

    /// Completes the answer; a trailer section is dropped.
    ///
    /// RFC 9110 §6.5.1.
    package func end(trailers: ByteBuffer) { self.end() }

    /// Sends what has been written; called by the responder when it has no more to write for now.
    package func flush() {
        guard self.needsFlush || self.outbound.readableBytes > 0, !self.isPumping, !self.isFlushPending else { return }
        guard let flushes = self.setting.flushes else {
            self.flushNow()
            return
        }
        self.isFlushPending = true
        flushes.add(self)
    }

    /// Hands what was written to the network.
    package func flushNow() {
        self.isFlushPending = false
        self.writeOut()
        guard self.needsFlush else { return }
        self.needsFlush = false
        self.line?.flush()
    }

    /// Ends the connection in the middle of an answer, so that the client sees that it is cut off.
    package func cut() {
        // What there is of the answer shows the client that it is not whole; nothing at all would look like a dead server.
        self.flushNow()
        self.ended()
        self.context?.close(promise: nil)
    }

    /// Stops reading the request's body, until ``resumeReading()``.
    package func pauseReading() {
        guard !self.isPaused else { return }
        self.isPaused = true
        self.pausedAt = .now()
        if self.isReadingBody { self.phaseDeadline = .distantFuture }
    }

    /// Reads on.
    package func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.isReadingBody {
            // The client is not to blame for the time in which nobody read.
            self.bodyBegan = self.bodyBegan + (.now() - self.pausedAt)
            self.armBodyDeadline()
        }
        self.readOnIfWanted()
    }

    /// Reads on if the channel wanted to and nothing speaks against it any more.
    func readOnIfWanted() {
        guard self.wantsRead, !self.isPaused, !self.holdsTooMuch else { return }
        self.wantsRead = false
        self.line?.read()
    }

    /// Ends the connection with its next answer; called when the gateway drains.
    ///
    /// An idle one is left for ``closeIfIdle(for:)``, so that a request which is on its way is answered.
    package func drain() {
        self.closes = true
    }

    /// Whether bytes of an answer still wait for the client.
    package var isSending: Bool { self.bytesWaiting > 0 }

    var bytesWaiting: Int {
        guard let options = self.context?.channel.syncOptions else { return 0 }
        return (try? options.getOption(.bufferedWritableBytes)) ?? 0
    }

    /// Whether bytes wait for the client and it takes them: some lately, and enough in the time since it was last measured.
    func isStillTaking() -> Bool {
        let waiting = self.bytesWaiting
        guard waiting > 0 else { return false }
        let now = NIODeadline.now()
        if waiting != self.unsent.bytes { self.unsent = (waiting, now) }
        guard now - self.unsent.since < self.setting.limits.writeStall else { return false }
        return self.download.isFastEnough(taken: self.written - Int64(waiting), at: now, within: self.setting.limits)
    }

    var isReadingBody: Bool {
        if case .body = self.phase { true } else { false }
    }

    func writeOut() {
        guard self.outbound.readableBytes > 0, let line else { return }
        var bytes = ByteBuffer()
        swap(&bytes, &self.outbound)
        self.written += Int64(bytes.readableBytes)
        line.write(bytes)
        self.setting.memory.giveBack(bytes)
        self.needsFlush = true
        self.hasHandedOver = true
    }

    /// The answer is complete; what follows depends on whether the request is, too.
    func requestDone() {
        if let memory = self.requestMemory.take() { self.setting.memory.giveBack(memory) }
        if self.isReadingBody || self.closes {
            self.linger()
        } else {
            self.answer = .none
            self.phase = .idle
            self.resumeReading()
            self.arrived = .now()
            self.phaseDeadline = self.arrived + self.setting.limits.idle
        }
        if !self.isPumping {
            self.pump()
            self.flush()
            // The last of several requests that came at once: what waits for the next needs no memory.
            if self.inbound.readableBytes == 0, self.inbound.storageCapacity > 0 { self.inbound = ByteBuffer() }
        }
    }

    /// Sends all, tells the client that nothing follows and reads until it has heard, so that no reset destroys the
    /// answer.
    ///
    /// RFC 9112 §9.6.
    func linger() {
        self.writeOut()
        self.needsFlush = false
        self.phase = .lingering
        self.inbound = ByteBuffer()
        self.phaseDeadline = .now() + self.setting.limits.linger
        self.line?.flush()
        self.context?.close(mode: .output, promise: nil)
        if self.isPaused || self.wantsRead {
            self.isPaused = false
            self.wantsRead = false
            self.line?.read()
        }
    }
}
