// SPDX-License-Identifier: Apache-2.0

internal import GateWire
internal import NIOCore

extension ForwardedHead {
    /// The head of an app's early hints for the browser: its `Link` lines and nothing else; nil if it has none.
    ///
    /// RFC 8297 §2.
    static func earlyHints(
        _ head: ResponseHead,
        edits: LineEdits?,
        into buffer: consuming ByteBuffer
    ) -> ByteBuffer? {
        let message = head.message
        let options = message.connectionOptions()
        guard !options.contains("link"), edits?.takesAway("link") != true else { return nil }
        var writer = HeadWriter(into: buffer)
        writer.writeStatusLine(103)
        let empty = writer.buffer.readableBytes
        writer.copyLines(of: message) { $0.name == .other && message.spells($0.nameRange, "link") }
        guard writer.buffer.readableBytes > empty else { return nil }
        return writer.finish()
    }
}
