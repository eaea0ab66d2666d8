// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import GateWire

@Suite struct WebSocketFramesTests {
    /// Frames by their headers.
    private static func frame(_ opcode: UInt8, _ length: Int, isMasked: Bool, form: Int? = nil) -> [UInt8] {
        let form = form ?? (length < 126 ? 0 : length < 65_536 ? 2 : 8)
        let mask: UInt8 = isMasked ? 0x80 : 0
        var bytes: [UInt8] = [0x80 | opcode]
        bytes.append(mask | (form == 0 ? UInt8(length) : form == 2 ? 126 : 127))
        for shift in (0..<form).reversed() {
            bytes.append(UInt8(truncatingIfNeeded: length >> (8 * shift)))
        }
        if isMasked { bytes += [1, 2, 3, 4] }
        return bytes + [UInt8](repeating: 0x81, count: length)
    }

    @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 70_000], [false, true])
    func `the end of a frame is found at every split`(length: Int, isMasked: Bool) {
        let bytes = Self.frame(2, length, isMasked: isMasked)
        for piece in [1, 2, 3, 7, 4096, bytes.count] {
            var frames = WebSocketFrames()
            var start = 0
            while start < bytes.count {
                #expect(start == 0 || !frames.isBetweenFrames)
                let end = min(start + piece, bytes.count)
                frames.follow(bytes.span.extracting(start..<end))
                start = end
            }
            #expect(frames.isBetweenFrames && !frames.isLost && !frames.isClosed)
        }
    }

    @Test func `the end of a frame is distinguished from the next frame`() {
        let first = Self.frame(2, 300, isMasked: false)
        let both = first + Self.frame(1, 5, isMasked: false)
        var frames = WebSocketFrames()
        frames.follow(both.span.extracting(0..<100))
        #expect(frames.followToEndOfFrame(both.span.extracting(100..<both.count)) == first.count - 100)
        #expect(frames.isBetweenFrames)
        #expect(frames.followToEndOfFrame(both.span) == 0)
    }

    @Test func `a close frame is detected`() {
        var frames = WebSocketFrames()
        let bytes = Self.frame(8, 2, isMasked: true)
        frames.follow(bytes.span)
        #expect(frames.isClosed && frames.isBetweenFrames)
    }

    @Test(
        arguments: [
            [0x82, 0x7F, 0x80, 0, 0, 0, 0, 0, 0, 0], [0x82, 0x7F, 0xFF, 255, 255, 255, 255, 255, 255, 255],
            [0x89, 0x7E, 1, 0], [0x88, 0xFF, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4],
        ] as [[UInt8]]
    )
    func `after an invalid length frames are no longer tracked`(bytes: [UInt8]) {
        var frames = WebSocketFrames()
        frames.follow(bytes.span)
        #expect(frames.isLost && !frames.isBetweenFrames)
        #expect(frames.followToEndOfFrame(bytes.span) == bytes.count)
    }

    @Test(arguments: WebSocketClose.allCases)
    func `a close frame is well-formed`(reason: WebSocketClose) {
        for mask in [nil, [9, 8, 7, 6]] as [[UInt8]?] {
            let bytes = Array(reason.frame(mask: mask).readableBytesView)
            var frames = WebSocketFrames()
            frames.follow(bytes.span)
            #expect(frames.isBetweenFrames && frames.isClosed)
            let start = mask == nil ? 2 : 6
            let payload = bytes[start...].enumerated().map { $0.element ^ (mask?[$0.offset % 4] ?? 0) }
            #expect(UInt16(payload[0]) << 8 | UInt16(payload[1]) == reason.rawValue)
        }
    }
}
