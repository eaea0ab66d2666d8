// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
internal import NIOCore

extension HTTP1Connection {
    /// Reads as many requests as may be begun.
    func pump() {
        guard !self.isPumping else { return }
        self.isPumping = true
        do {
            while try self.step() {}
        } catch {
            self.refuse(error)
        }
        self.isPumping = false
        self.readOnIfWanted()
    }

    /// Takes the next part of a request off the buffer; false when more bytes or the end of the answer are needed.
    func step() throws(WireRejection) -> Bool {
        switch self.phase {
        case .handshake, .answering, .lingering, .closed:
            return false
        case .idle:
            // A client that does not take its answers gets no further ones to pile up.
            guard self.inbound.readableBytes > 0, self.isWritable else { return false }
            self.phase = .head
            self.phaseDeadline = self.arrived + self.setting.limits.requestHead
            return true
        case .head:
            // Asked for at the last moment: the configuration that names the fields must be the one that decides.
            self.parser.names = self.setting.names()
            let memory = self.setting.memory
            guard let head = try self.parser.head(from: &self.inbound, into: { memory.take(capacity: $0) }) else {
                return false
            }
            self.begin(head)
            return true
        case .tunnel:
            let length = self.inbound.readableBytes
            guard length > 0, let bytes = self.inbound.readSlice(length: length) else { return false }
            self.responder.receive(bytes)
            return true
        case .body(var reader):
            let part = try reader.next(from: &self.inbound)
            if self.isReadingBody { self.phase = .body(reader) }
            return self.take(part)
        }
    }

    func begin(_ head: RequestHead) {
        self.served += 1
        self.requestMemory = head.message.bytes
        self.answer = .none
        self.owesAnswer = true
        self.isHeadRequest = head.method.isHead
        self.closes = self.closes || !head.keepsAlive
        if head.framing == .none {
            self.phase = .answering
            self.phaseDeadline = .distantFuture
            self.responder.begin(head, on: self)
            if self.isUnanswered { self.responder.finishRequest() }
        } else {
            self.phase = .body(BodyReader(head.framing, status: 400))
            self.bodyBegan = .now()
            self.bodyBytes = 0
            self.armBodyDeadline()
            self.responder.begin(head, on: self)
        }
    }

    /// Whether the request just begun still waits for its answer.
    var isUnanswered: Bool {
        if case .answering = self.phase, case .none = self.answer { true } else { false }
    }

    func take(_ part: ChunkDecoder.Part) -> Bool {
        switch part {
        case .more:
            return false
        case .data(let bytes):
            self.bodyBytes += Int64(bytes.readableBytes)
            self.responder.receive(bytes)
            return self.isReadingBody
        case .end:
            self.phase = .answering
            self.phaseDeadline = .distantFuture
            self.responder.finishRequest()
            return true
        }
    }

    func refuse(_ refusal: WireRejection) {
        var refusal = refusal
        // While a body is read, the head is that of the request; else it is what has not become one.
        refusal.wantsPage = BrowserHints(in: (self.isReadingBody ? self.requestMemory : nil) ?? self.inbound).wantsPage
        self.closes = true
        self.owesAnswer = true
        switch self.answer {
        case .none where self.isReadingBody:
            self.responder.cancel()
            self.respond(self.responder.answer(to: refusal))
        case .none:
            // What was rejected may be the head itself: a response to HEAD has no content (RFC 9110 §9.3.2).
            self.isHeadRequest = self.inbound.readableBytesView.starts(with: "HEAD ".utf8)
            self.respond(self.responder.answer(to: refusal))
        case .started, .complete:
            _ = self.responder.answer(to: refusal)
            self.cut()
        }
    }

    /// The next moment at which the body must have moved on: no silence, and no trickle.
    func armBodyDeadline() {
        guard self.isReadingBody, !self.isPaused else { return }
        let limits = self.setting.limits
        let silence = NIODeadline.now() + limits.bodyInactivity
        let paid = TimeAmount.seconds(min(self.bodyBytes / max(1, limits.bodyRate), 1_000_000_000))
        self.phaseDeadline = min(silence, self.bodyBegan + limits.bodyGrace + paid)
    }
}
