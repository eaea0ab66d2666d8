// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
internal import NIOCore

/// What the library tells of frames that have come.
extension HTTP2UpstreamConnection {
    func frameBegun(_ type: UInt8, length: Int, endsStream: Bool) {
        let now = NIODeadline.now()
        if type == 1 || (type == 0 && length > 0) { self.idleBytes = 0 }
        switch type {
        case 0 where length > 0:
            self.flood.earn(1 + length / 1024)
        case 0, 1:
            guard !self.flood.spend(endsStream ? 0 : 1, at: now) else { return }
            self.isFlooded = true
        case 3:
            guard !self.flood.countReset(at: now) || !self.flood.spend(1, at: now) else { return }
            self.isFlooded = true
        case 8:
            // Whoever takes an upload says so again and again, which each part of it pays for.
            guard !self.flood.spend(1, at: now) else { return }
            self.isFlooded = true
        default:
            guard !self.flood.spend(2, at: now) else { return }
            self.isFlooded = true
        }
    }

    /// A part of a request's body goes out, for which the peer may say that it has taken it.
    func bodySent() {
        self.flood.earn(3)
        self.idleBytes = 0
    }

    func headBegun(_ stream: HTTP2UpstreamStream?) {
        self.reading = stream
        guard let stream, !stream.awaitsHead else {
            self.block.begin(names: .response, into: ByteBuffer())
            return
        }
        self.block.beginTrailer(names: .response, into: ByteBuffer())
    }

    func fieldReceived(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        self.block.append(name: name, value: value)
        if self.block.isBomb { self.isFlooded = true }
    }

    func headReceived(_ stream: HTTP2UpstreamStream, endsStream: Bool) {
        guard self.reading === stream else { return }
        self.reading = nil
        do {
            if stream.awaitsHead {
                let head = try self.block.finish(for: stream.call.method, endsStream: endsStream)
                stream.received(head, endsStream: endsStream)
            } else {
                stream.received(trailers: try self.block.finishTrailer(), endsStream: endsStream)
            }
        } catch {
            stream.refuse(error)
        }
    }

    func closed(_ stream: HTTP2UpstreamStream, wasRefused: Bool) {
        stream.closed(wasRefused: wasRefused)
        if let id = stream.id { self.closing[id] = nil }
    }

    /// The peer takes no more requests over this connection.
    func goingAway() {
        self.isGoingAway = true
    }

    /// The peer may take more streams now.
    func settingsReceived() {
        self.hasSettings = true
        self.pool.hasRoom(self)
    }
}
