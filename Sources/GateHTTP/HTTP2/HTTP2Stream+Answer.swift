// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
internal import HTTPTypes
internal import NIOCore

// MARK: The answer

extension HTTP2Stream {
    var arrived: NIODeadline { self.connection.arrived }

    var mustClose: Bool { false }

    func sendContinue() {
        self.sendInterim(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
    }

    func sendInterim(_ head: ByteBuffer) {
        guard self.phase == .none else { return }
        self.connection.session?.submitInterim(head, on: self.id)
        self.connection.scheduleFlush()
    }

    func respond(_ answer: Response) {
        guard self.phase == .none else { return }
        let status = answer.head.status.code
        let hasBody = !self.isHeadRequest && status != 204 && status != 304
        var bytes = answer.encoded(
            closes: false,
            forHead: self.isHeadRequest,
            date: self.connection.setting.date,
            into: self.freshBuffer(capacity: 512 + answer.body.count)
        )
        self.head = bytes.readSlice(length: bytes.readableBytes - (hasBody ? answer.body.count : 0))
        self.phase = .started
        if hasBody { self.write(bytes) }
        self.end()
    }

    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool) {
        guard self.phase == .none else { return }
        self.phase = .started
        self.head = head
        self.connection.note(self)
    }

    func retract() -> Bool {
        guard self.phase == .started, !self.hasSentHead else { return false }
        self.phase = .none
        self.head = nil
        self.dropWaiting()
        return true
    }

    func startTunnel(_ head: consuming ByteBuffer) {
        self.start(head, framing: .untilClose, closes: false)
    }

    func closeAfterResponse() {}

    @discardableResult
    func write(_ body: ByteBuffer) -> Bool {
        guard self.phase == .started, body.readableBytes > 0, !self.isHeadRequest else { return true }
        if self.waitingBytes == 0 {
            self.progressed = .now()
            self.download.reset()
            self.begin(body)
        } else {
            self.parts.append(body)
        }
        self.waitingBytes += body.readableBytes
        self.connection.waitingBytes += body.readableBytes
        self.connection.note(self)
        let limits = self.connection.setting.limits
        let isFull =
            self.waitingBytes >= limits.streamBacklog || self.connection.waitingBytes >= limits.connectionBacklog
        if isFull, !self.isHeldUp {
            self.isHeldUp = true
            self.connection.heldUp += 1
        }
        return !isFull
    }

    /// A few bytes are copied: the next read has the memory of the one that brought them.
    private func begin(_ body: ByteBuffer) {
        self.ownsPart = body.readableBytes <= 2048
        guard self.ownsPart else {
            self.part = body
            return
        }
        self.part = self.freshBuffer(capacity: body.readableBytes)
        self.part.writeImmutableBuffer(body)
    }

    func end() {
        guard self.phase == .started else { return }
        self.phase = .ended
        self.connection.note(self)
    }

    func end(trailers: ByteBuffer) {
        guard self.phase == .started else { return }
        if !self.isHeadRequest { self.trailers = trailers }
        self.end()
    }

    func flush() { self.connection.scheduleFlush() }

    func cut() {
        guard self.phase != .over else { return }
        let isUnanswered = self.phase == .none || self.phase == .started
        self.phase = .ended
        self.giveUp(.internalError)
        // The responder may serve another stream next: it must be at rest.
        if isUnanswered { self.responder.cancel() }
    }

    func freshBuffer(capacity: Int) -> ByteBuffer { self.connection.setting.memory.take(capacity: capacity) }
}

// MARK: To libnghttp2

extension HTTP2Stream {
    /// Hands over what has been noted since the last time.
    func submit(to session: HTTP2Session) {
        self.isNoted = false
        guard self.phase != .over else { return }
        if let code = self.resetCode.take() {
            self.head = nil
            session.reset(self.id, code)
            return
        }
        if let head = self.head.take() {
            self.hasSentHead = true
            let isWhole = self.phase == .ended && self.waitingBytes == 0 && self.trailers == nil
            if !session.submitAnswer(head, on: self, hasBody: !isWhole) { session.reset(self.id, .internalError) }
            self.connection.setting.memory.giveBack(head)
        } else if self.isDeferred {
            self.isDeferred = false
            session.resume(self.id)
        }
    }

    /// How much of the body goes into a frame with so much room.
    func nextPart(upTo room: Int) -> Part {
        let count = min(room, self.waitingBytes)
        guard count == self.waitingBytes, self.phase == .ended else {
            guard count > 0 else {
                self.isDeferred = true
                return .later
            }
            return .bytes(count)
        }
        guard let trailers, let session = self.connection.session else { return .last(count, hasTrailers: false) }
        session.submitTrailers(trailers, on: self.id)
        self.trailers = nil
        return .last(count, hasTrailers: true)
    }

    /// Moves bytes of the body into a frame.
    func move(_ count: Int, to session: HTTP2Session) {
        var left = count
        while left > 0 {
            guard self.part.readableBytes > 0 || self.takeNextPart() else { break }
            let length = min(left, self.part.readableBytes)
            if length == self.part.readableBytes {
                session.outbound.writeBuffer(&self.part)
                if self.ownsPart { self.connection.setting.memory.giveBack(self.part) }
                self.ownsPart = false
                self.part = ByteBuffer()
            } else if var start = self.part.readSlice(length: length) {
                session.outbound.writeBuffer(&start)
            }
            left -= length
        }
        self.waitingBytes -= count
        self.connection.waitingBytes -= count
        self.progressed = self.connection.flushedAt
        self.taken += Int64(count)
        self.connection.carried(count)
    }

    /// Goes on with the next part; false when there is none.
    private func takeNextPart() -> Bool {
        guard self.nextPart < self.parts.count else { return false }
        self.part = self.parts[self.nextPart]
        self.parts[self.nextPart] = ByteBuffer()
        self.nextPart += 1
        if self.nextPart == self.parts.count {
            self.parts.removeAll(keepingCapacity: true)
            self.nextPart = 0
        } else if self.nextPart >= 32 {
            self.parts.removeFirst(self.nextPart)
            self.nextPart = 0
        }
        return true
    }

    /// Whether the client takes nothing, or next to nothing, of what waits for it.
    func isStuck(at now: NIODeadline) -> Bool {
        guard self.waitingBytes > 0 else { return false }
        let limits = self.connection.setting.limits
        guard self.progressed > now - limits.writeStall else { return true }
        return !self.download.isFastEnough(taken: self.taken, at: now, within: limits)
    }

    /// Tells the responder to go on, when enough has been taken.
    func releaseIfDrained() {
        let limits = self.connection.setting.limits
        guard self.isHeldUp, self.waitingBytes <= limits.streamBacklog / 2,
            self.connection.waitingBytes <= limits.connectionBacklog / 2
        else { return }
        self.isHeldUp = false
        self.connection.heldUp -= 1
        self.responder.downstreamWritabilityChanged(isWritable: true)
    }

    /// The stream is no more.
    func close() {
        let isUnanswered = self.phase == .none || self.phase == .started
        self.phase = .over
        self.dropWaiting()
        if self.unconsumed > 0 {
            self.connection.session?.consume(self.unconsumed)
            self.unconsumed = 0
        }
        if isUnanswered { self.responder.cancel() }
    }

    /// Lets go of what has not become frames.
    private func dropWaiting() {
        self.connection.waitingBytes -= self.waitingBytes
        self.waitingBytes = 0
        self.part = ByteBuffer()
        self.parts = []
        self.nextPart = 0
        guard self.isHeldUp else { return }
        self.isHeldUp = false
        self.connection.heldUp -= 1
    }
}
