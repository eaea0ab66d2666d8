// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import NIOCore

/// A query in its canonical spelling, as it is forwarded.
package enum CanonicalQuery: Sendable {
    /// The received query is canonical; its range in the head.
    case received(Range<Int>)
    /// A query some of whose characters were received unescaped and are forwarded escaped.
    case rewritten([UInt8])

    /// The query in a range of a head.
    init(of message: MessageHead, _ range: Range<Int>, isPlain: Bool) {
        guard !isPlain else {
            self = .received(range)
            return
        }
        let canonical = CanonicalQuery.canonical(message.bytes.readableBytesUInt8Span.extracting(range))
        self = canonical.map { .rewritten($0) } ?? .received(range)
    }

    package func text(in message: MessageHead) -> String {
        switch self {
        case .received(let range): message.text(range)
        case .rewritten(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Calls `body` with the query.
    func withSpan(of message: MessageHead, _ body: (Span<UInt8>) -> Void) {
        switch self {
        case .received(let range): body(message.bytes.readableBytesUInt8Span.extracting(range))
        case .rewritten(let bytes): body(bytes.span)
        }
    }
}

extension CanonicalQuery {
    /// The canonical spelling of a query that holds no control character, space or `#`; nil if it is canonical already.
    ///
    /// Characters that RFC 3986 does not allow are escaped. Browsers leave `` | { } ^ ` \ `` unescaped in queries (WHATWG
    /// URL, query percent-encode set); app servers treat both spellings alike.
    private static func canonical(_ query: Span<UInt8>) -> [UInt8]? {
        guard query.indices.contains(where: { !ByteClass.isTarget(query[$0]) }) else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(query.count + 16)
        for index in query.indices {
            if ByteClass.isTarget(query[index]) {
                output.append(query[index])
            } else {
                PercentEncoding.append(query[index], to: &output)
            }
        }
        return output
    }
}
