// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

extension RequestHead {
    /// The target as it was received, in the spelling of the client.
    package var receivedTarget: [UInt8] {
        let bytes = self.message.bytes.readableBytesView
        let target = bytes.drop { $0 != 0x20 }.dropFirst()
        return Array(target.prefix { $0 != 0x20 })
    }

    /// Whether an app reads the path that was received as the path that is matched.
    ///
    /// Apps read an escape in either letter case as the same byte, and a byte that has to be escaped as its escape. With any
    /// other difference, such as an empty segment, the two could be different paths for some app.
    package var isPathAsReceived: Bool {
        if case .received = self.path { return true }
        let received = self.receivedTarget.prefix { $0 != UInt8(ascii: "?") }
        var spelled: [UInt8] = []
        for (index, byte) in received.enumerated() {
            if !ByteClass.isTarget(byte) {
                PercentEncoding.append(byte, to: &spelled)
            } else if byte >= 0x61, byte <= 0x66, RequestHead.isInEscape(index, of: received) {
                spelled.append(byte & ~0x20)
            } else {
                spelled.append(byte)
            }
        }
        return spelled == self.path.forwarded(of: self.message)
    }

    /// Whether a byte of a path whose escapes are all complete is a digit of one.
    private static func isInEscape(_ index: Int, of path: ArraySlice<UInt8>) -> Bool {
        path[max(0, index - 2)..<index].contains(UInt8(ascii: "%"))
    }

    /// The head of a request that a proxy asks about, parsed as strictly as one from a client.
    ///
    /// The field lines are those of the head in which the proxy asks, without those about its own connection and message,
    /// and without those that only a gateway may set.
    ///
    /// - Parameters:
    ///   - method: The method that the proxy received.
    ///   - target: The path and query that the proxy received.
    ///   - host: The host that the proxy received.
    ///   - names: The names with a meaning.
    /// - Returns: The head, without a body.
    /// - Throws: The rejection that the client would get for such a request.
    package func original(
        method: [UInt8],
        target: [UInt8],
        host: [UInt8],
        names: FieldNames
    ) throws(WireRejection) -> RequestHead {
        // No byte can end the start line or the field before its end.
        guard method.allSatisfy(ByteClass.isToken) else { throw .malformed(.requestStartLine) }
        guard target.first == UInt8(ascii: "/") else { throw .malformed(.requestTarget) }
        guard let wrong = target.first(where: { !ByteClass.isTarget($0) && !ByteClass.isLenientTarget($0) }) else {
            return try self.parsed(method, target, host, names)
        }
        throw .malformed(wrong == UInt8(ascii: "#") ? .requestFragment : .requestTarget)
    }

    private func parsed(
        _ method: [UInt8],
        _ target: [UInt8],
        _ host: [UInt8],
        _ names: FieldNames
    ) throws(WireRejection) -> RequestHead {
        guard host.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { throw .malformed(.requestHost) }
        let length = self.message.bytes.readableBytes + method.count + target.count + host.count + 32
        var bytes = ByteBufferAllocator().buffer(capacity: length)
        bytes.writeBytes(method)
        bytes.writeLiteral(" ")
        bytes.writeBytes(target)
        bytes.writeLiteral(" HTTP/1.1\r\nHost: ")
        bytes.writeBytes(host)
        bytes.writeLiteral("\r\n")
        let received = self.message.bytes
        for field in self.message.fields where RequestHead.isOfOriginal(field.name) {
            bytes.writeBytes(received.readableBytesSpan.extracting(field.lineRange))
        }
        bytes.writeLiteral("\r\n")
        var parser = RequestParser(names: names, isSecure: false)
        guard let head = try parser.head(from: &bytes), bytes.readableBytes == 0 else {
            throw .malformed(.requestStartLine)
        }
        return head
    }

    /// Whether a field belongs to the original request, rather than to the connection and message of the proxy.
    private static func isOfOriginal(_ name: FieldName) -> Bool {
        switch name {
        case .host, .contentLength, .expect, .managed: false
        default: !name.isHopByHop
        }
    }
}
