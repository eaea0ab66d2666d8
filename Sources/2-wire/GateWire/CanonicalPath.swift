// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// A path in its canonical spelling.
///
/// The matched and the forwarded spelling differ only in escapes that app servers treat like the character itself.
package enum CanonicalPath: Sendable {
    /// The received path is canonical; its range in the head.
    case received(Range<Int>)
    /// The canonical spelling of a path that was received in another one.
    case rewritten([UInt8])
    /// The path is forwarded in one spelling and matched in another.
    case spelled([UInt8], matched: [UInt8])

    /// The path as it is forwarded.
    package func text(in message: MessageHead) -> String { self.text(in: message, droppingPrefix: 0) }

    /// The path as it is forwarded, without a prefix of `length` bytes of the matched spelling.
    package func text(in message: MessageHead, droppingPrefix length: Int) -> String {
        self.withForwarded(of: message, droppingPrefix: length) { $0.text }
    }

    /// Calls `body` with the matched spelling, for routes and rules.
    package func withSpan<Value>(of message: MessageHead, _ body: (Span<UInt8>) -> Value) -> Value {
        switch self {
        case .received(let range): body(message.bytes.readableBytesUInt8Span.extracting(range))
        case .rewritten(let bytes), .spelled(_, let bytes): body(bytes.span)
        }
    }

    /// The bytes as they are forwarded; makes a copy.
    package func forwarded(of message: MessageHead) -> [UInt8] {
        switch self {
        case .received(let range): Array(message.slice(range))
        case .rewritten(let bytes), .spelled(let bytes, _): bytes
        }
    }

    /// Calls `body` with the path as it is forwarded, without a prefix of whole segments; the rest is at least `/`.
    ///
    /// - Parameters:
    ///   - message: The head of the request.
    ///   - length: The number of bytes of the prefix in the matched spelling.
    ///   - body: What is done with the bytes.
    /// - Returns: What `body` returns.
    package func withForwarded<Value>(
        of message: MessageHead,
        droppingPrefix length: Int = 0,
        _ body: (Span<UInt8>) -> Value
    ) -> Value {
        switch self {
        case .received(let range):
            let rest = range.dropFirst(length)
            guard !rest.isEmpty else { return body(CanonicalPath.root.span) }
            return body(message.bytes.readableBytesUInt8Span.extracting(rest))
        case .rewritten(let bytes):
            return body(CanonicalPath.pathOrRoot(bytes.dropFirst(length)).span)
        case .spelled(let bytes, let matched):
            return body(CanonicalPath.pathOrRoot(CanonicalPath.rest(of: bytes, afterPrefix: length, of: matched)).span)
        }
    }

    private static let root = [UInt8(ascii: "/")][...]

    private static func pathOrRoot(_ rest: ArraySlice<UInt8>) -> ArraySlice<UInt8> { rest.isEmpty ? self.root : rest }

    /// The forwarded spelling without as many segments as a prefix of the matched spelling has.
    private static func rest(of bytes: [UInt8], afterPrefix length: Int, of matched: [UInt8]) -> ArraySlice<UInt8> {
        var slashes = matched.prefix(length).reduce(0) { $0 + ($1 == UInt8(ascii: "/") ? 1 : 0) }
        guard slashes > 0 else { return bytes[...] }
        for index in bytes.indices where bytes[index] == UInt8(ascii: "/") {
            if slashes == 0 { return bytes[index...] }
            slashes -= 1
        }
        return []
    }
}

extension CanonicalPath {
    /// The spelling by which requests for a path of the configuration file are matched.
    ///
    /// - Parameter path: A path that starts with `/` and holds no control character, space, `?` or `#`.
    /// - Returns: The path as routes and rules have to spell it.
    /// - Throws: The rejection of every request for the path.
    package static func matched(ofConfigured path: String) throws(WireRejection) -> String {
        let canonical = try PathCanonicalizer.canonical(Array(path.utf8))
        return String(decoding: PathCanonicalizer.matched(canonical) ?? canonical, as: UTF8.self)
    }

    /// The path of a URL or path in a field such as `Destination`, as routes are matched.
    ///
    /// RFC 4918 §8.3. The app gets the received field, so its path must be canonical except for escapes.
    ///
    /// - Parameter value: The value of the field.
    /// - Returns: The path; nil if servers may interpret the value in different ways: characters outside RFC 3986, a
    ///   query, dot segments, `//`, relative paths, schemes other than `http` and `https`.
    package static func matched(ofReference value: [UInt8]) -> [UInt8]? {
        guard value.allSatisfy({ ByteClass.isTarget($0) && $0 != UInt8(ascii: "?") }) else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        var path = value[...]
        if let scheme = text.firstRange(of: "://") {
            guard ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()) else { return nil }
            let rest = Array(text[scheme.upperBound...].utf8)
            guard rest.first != UInt8(ascii: "/") else { return nil }
            path = rest.drop { $0 != UInt8(ascii: "/") }
        }
        guard path.first == UInt8(ascii: "/"), let canonical = try? PathCanonicalizer.canonical(Array(path)) else {
            return nil
        }
        // No empty segment and no dot segment was removed.
        guard canonical.count(where: { $0 == UInt8(ascii: "/") }) == path.count(where: { $0 == UInt8(ascii: "/") })
        else {
            return nil
        }
        return PathCanonicalizer.matched(canonical) ?? canonical
    }
}
