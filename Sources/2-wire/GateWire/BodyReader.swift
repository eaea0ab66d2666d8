// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Finds the end of a body, whatever its framing.
package struct BodyReader: Sendable {
    private enum Kind {
        case none
        case length(Int64)
        case chunked(ChunkDecoder)
        case untilClose
    }

    private var kind: Kind

    /// A reader for one body.
    ///
    /// - Parameters:
    ///   - framing: How the body ends.
    ///   - status: The status of its rejections, 400 for a request and 502 for a response.
    ///   - lineEnd: How the lines of the head ended.
    package init(_ framing: BodyFraming, status: Int, lineEnd: LineEnd = .crlf) {
        switch framing {
        case .none: self.kind = .none
        case .length(let length): self.kind = .length(length)
        case .chunked: self.kind = .chunked(ChunkDecoder(status: status, lineEnd: lineEnd))
        case .untilClose: self.kind = .untilClose
        }
    }

    /// The next part of the body.
    ///
    /// - Throws: The rejection; the connection cannot be used further.
    package mutating func next(from buffer: inout ByteBuffer) throws(WireRejection) -> ChunkDecoder.Part {
        switch self.kind {
        case .none:
            return .end
        case .length(let left):
            guard left > 0 else { return .end }
            let count = Int(min(left, Int64(buffer.readableBytes)))
            guard count > 0, let data = buffer.readSlice(length: count) else { return .more }
            self.kind = .length(left - Int64(count))
            return .data(data)
        case .chunked(var decoder):
            defer { self.kind = .chunked(decoder) }
            return try decoder.next(from: &buffer)
        case .untilClose:
            guard buffer.readableBytes > 0, let data = buffer.readSlice(length: buffer.readableBytes) else {
                return .more
            }
            return .data(data)
        }
    }

    /// Whether the end of the connection is the regular end of the body.
    package var endsWithConnection: Bool {
        guard case .untilClose = self.kind else { return false }
        return true
    }

    /// Whether the body is known to be complete without further bytes.
    package var isComplete: Bool {
        switch self.kind {
        case .none: true
        case .length(let left): left == 0
        case .chunked, .untilClose: false
        }
    }
}
