// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Tracks the frames of one direction of a WebSocket, so that a close frame can be inserted between two frames.
///
/// RFC 6455 §5.2. Parses frame headers only and keeps at most one; payloads are counted.
package struct WebSocketFrames: Sendable {
    /// The first two bytes of the current frame header, and the number of its bytes received so far.
    private var header: (first: UInt8, second: UInt8) = (0, 0)
    private var have = 0
    private var length: UInt64 = 0
    /// The remaining payload bytes of the current frame.
    private var left: UInt64 = 0
    /// Whether an invalid header was received, after which frame boundaries are unknown.
    package private(set) var isLost = false
    /// Whether a close frame was received, which is the last frame.
    package private(set) var isClosed = false

    /// A connection without frames yet.
    package init() {}

    /// Whether the next byte begins a frame.
    package var isBetweenFrames: Bool { self.have == 0 && self.left == 0 && !self.isLost }

    /// Tracks the bytes.
    package mutating func follow(_ bytes: Span<UInt8>) {
        var position = 0
        while position < bytes.count, !self.isLost {
            position = self.step(bytes, from: position)
        }
    }

    /// Tracks the bytes up to the end of the current frame.
    ///
    /// - Returns: The number of bytes that belong to it; all if it does not end here.
    package mutating func followToEndOfFrame(_ bytes: Span<UInt8>) -> Int {
        var position = 0
        while position < bytes.count, !self.isLost, !self.isBetweenFrames {
            position = self.step(bytes, from: position)
        }
        return self.isLost ? bytes.count : position
    }

    /// Consumes a part of the payload, or one byte of a header.
    private mutating func step(_ bytes: Span<UInt8>, from position: Int) -> Int {
        guard self.left == 0 else {
            let count = Int(min(self.left, UInt64(bytes.count - position)))
            self.left -= UInt64(count)
            return position + count
        }
        self.take(bytes[position])
        return position + 1
    }

    private mutating func take(_ byte: UInt8) {
        switch self.have {
        case 0: self.header.first = byte
        case 1:
            self.header.second = byte
            self.length = UInt64(byte & 0x7F)
            if self.length >= 126 { self.length = 0 }
        case 2..<(2 + self.lengthBytes): self.length = self.length << 8 | UInt64(byte)
        default: break
        }
        self.have += 1
        guard self.have >= 2, self.have == 2 + self.lengthBytes + (self.header.second & 0x80 == 0 ? 0 : 4) else {
            return
        }
        self.have = 0
        let isControl = self.header.first & 0x08 != 0
        guard self.length <= UInt64(Int64.max), !isControl || self.length <= 125 else {
            self.isLost = true
            return
        }
        if self.header.first & 0x0F == 0x08 { self.isClosed = true }
        self.left = self.length
    }

    private var lengthBytes: Int {
        switch self.header.second & 0x7F {
        case 126: 2
        case 127: 8
        default: 0
        }
    }
}

/// A close frame that the gateway sends.
///
/// RFC 6455 §5.5.1 and §7.4.1.
package enum WebSocketClose: UInt16, Sendable, Hashable, CaseIterable {
    /// The gateway shuts down, or the tunnel was idle for too long.
    case goingAway = 1001
    /// The session has ended, or the user no longer has access.
    case policy = 1008

    private var reason: String {
        switch self {
        case .goingAway: "the gateway ends the connection"
        case .policy: "the session has ended"
        }
    }

    /// The frame; masked when sent to the app, as a client does.
    package func frame(mask: [UInt8]? = nil) -> ByteBuffer {
        let payload = [UInt8(self.rawValue >> 8), UInt8(self.rawValue & 0xFF)] + Array(self.reason.utf8)
        var buffer = ByteBuffer()
        buffer.writeInteger(UInt8(0x88))
        guard let mask, mask.count == 4 else {
            buffer.writeInteger(UInt8(payload.count))
            buffer.writeBytes(payload)
            return buffer
        }
        buffer.writeInteger(UInt8(0x80 | payload.count))
        buffer.writeBytes(mask)
        buffer.writeBytes(payload.enumerated().map { $0.element ^ mask[$0.offset % 4] })
        return buffer
    }
}
