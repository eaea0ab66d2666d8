// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GateWire
internal import NIOCore

// What libnghttp2 tells, while it reads and writes.
extension HTTP2Connection {
    /// The header of a frame has come; those that carry nothing are let through only so often.
    func frameBegun(_ kind: FrameKind, length: Int, stream: Int32) {
        let cost =
            switch kind {
            case .data: 0
            case .headers, .reset, .goAway: 0
            case .windowUpdate: 1
            case .priority, .other: 2
            case .ping, .continuation: 5
            case .settings, .pushPromise: 20
            }
        switch kind {
        case .headers:
            self.flood.carry(length)
            self.checkOrder(of: stream)
        case .continuation: self.flood.carry(length)
        case .data, .priority, .reset, .settings, .pushPromise, .ping, .goAway, .windowUpdate, .other: break
        }
        if cost > 0, !self.flood.spend(cost, at: self.arrived) { self.terminate(.enhanceYourCalm) }
    }

    /// A DATA frame has come whole; what counts is what it carries beside padding (CVE-2019-9518).
    func dataReceived(_ carried: Int, endsStream: Bool) {
        self.carried(carried)
        let cost = endsStream || carried >= 4 ? 0 : carried == 0 ? 5 : 1
        if cost > 0, !self.flood.spend(cost, at: self.arrived) { self.terminate(.enhanceYourCalm) }
    }

    /// A header section on a stream below one that was opened before: its trailers, or a number that was passed over.
    ///
    /// RFC 9113 §5.1.1: numbers only grow. The library takes every such stream for one that is closed.
    private func checkOrder(of stream: Int32) {
        guard stream <= self.highestStream else {
            self.highestStream = stream
            return
        }
        guard !self.open.contains(where: { $0.id == stream }), !self.closedEarly.contains(stream) else { return }
        self.count(.malformed(.wireStreamOrder))
        self.terminate(.protocolError)
    }

    /// A frame has carried a part of a body, in either direction.
    ///
    /// Streams of short messages are honest, so a few bytes make up for the window that they use.
    func carried(_ count: Int) {
        self.flood.carry(count)
        if count >= 16 { self.flood.earn(2) }
    }

    /// A header block begins.
    func headBegun(isRequest: Bool) {
        self.headDeadline = self.arrived + self.setting.limits.requestHead
        let memory = isRequest ? self.setting.memory.take(capacity: 1024) : ByteBuffer()
        self.block.begin(names: self.setting.names(), into: memory)
    }

    /// A field of it has come.
    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>, isRequest: Bool) {
        if isRequest {
            self.block.append(name: name, value: value)
        } else {
            // Trailers of requests are dropped, as over HTTP/1.1.
            self.block.skip(name: name, value: value)
        }
        if self.block.isBomb { self.terminate(.enhanceYourCalm) }
    }

    /// The header block of a request is complete.
    func requestReceived(_ id: Int32, endsStream: Bool) {
        self.headDeadline = .distantFuture
        guard !self.isTerminating, let session else { return }
        // The configuration that names the fields must be the one that decides; RFC 9113 §8.7 lets clients try again.
        guard self.block.names === self.setting.names() else {
            self.closedEarly.insert(id)
            session.reset(id, .refusedStream)
            self.scheduleFlush()
            return
        }
        let stream = HTTP2Stream(id: id, connection: self, responder: self.freshResponder())
        stream.position = self.open.count
        self.open.append(stream)
        session.open(stream)
        self.served += 1
        self.idleDeadline = .distantFuture
        if self.lookDeadline == .distantFuture { self.lookDeadline = self.arrived + self.setting.limits.look }
        if self.served >= self.setting.limits.maxRequestsPerConnection || self.arrived - self.created > self.ageLimit {
            self.announceEnd()
        }
        do {
            stream.begin(try self.block.finish(endsStream: endsStream), endsStream: endsStream)
        } catch {
            self.refuse(error, on: stream, endsStream: endsStream)
        }
    }

    private func refuse(_ refusal: HTTP2FieldsRejection, on stream: HTTP2Stream, endsStream: Bool) {
        var wire = refusal.rejection
        wire.wantsPage = self.block.wantsPage
        let answer = stream.responder.answer(to: wire)
        if refusal.isMalformed {
            stream.refuse()
        } else {
            stream.refuse(answer, endsStream: endsStream, isHead: self.block.isHead)
        }
    }

    /// The library has refused a header block; its stream is reset.
    func headRefused(_ id: Int32) {
        self.headDeadline = .distantFuture
        self.closedEarly.insert(id)
        self.count(.malformed(.wireFieldBlock))
    }

    /// Counts a refusal to which nothing can be answered.
    func count(_ refusal: WireRejection) {
        let responder = self.freshResponder()
        _ = responder.answer(to: refusal)
        self.keep(responder)
    }

    /// The trailer section of a request is complete; it is dropped.
    func trailerReceived() { self.headDeadline = .distantFuture }

    /// Another frame has come whole.
    func frameReceived(_ kind: FrameKind, isAcknowledgement: Bool) {
        switch kind {
        case .reset:
            self.countReset()
        case .ping where isAcknowledgement:
            self.nameLastStream()
        case .data, .headers, .priority, .settings, .pushPromise, .ping, .goAway, .windowUpdate, .continuation,
            .other:
            break
        }
    }

    /// A stream was reset by us; an answer that is complete before its request is no fault.
    func resetSent(isOurFault: Bool) {
        if !isOurFault { self.countReset() }
    }

    /// The end has been announced; only now, because the library sends a `PING` before anything else.
    func farewellSent() {
        if case .announced = self.farewell { self.session?.ping() }
    }

    private func countReset() {
        if !self.flood.countReset(at: .now()) { self.terminate(.enhanceYourCalm) }
    }

    /// A stream is no more; its responder may serve another.
    func closed(_ stream: HTTP2Stream) {
        guard stream.position < self.open.count, self.open[stream.position] === stream else { return }
        let last = self.open.removeLast()
        if last !== stream {
            last.position = stream.position
            self.open[stream.position] = last
        }
        if !stream.isRequestComplete { self.closedEarly.insert(stream.id) }
        stream.close()
        if let memory = stream.requestMemory.take() { self.setting.memory.giveBack(memory) }
        self.keep(stream.responder)
        guard self.open.isEmpty else { return }
        self.lookDeadline = .distantFuture
        self.idleDeadline = .now() + self.setting.limits.idle
        self.scheduleFlush()
    }

    private func keep(_ responder: any Responder) {
        if self.spare.count < 8 { self.spare.append(responder) }
    }
}
