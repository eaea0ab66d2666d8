// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateIssuer
internal import GateSessions
internal import NIOCore

/// The access tokens of this gateway that one event loop has verified; confined to that loop.
///
/// What is kept is that a token is genuine, and the ticket of its session. Whether that lives, and what its user may, is asked
/// for each request.
struct TokenCache {
    /// A token that was verified.
    struct Entry {
        let token: AccessToken
        /// The key of its session in the cache of sessions.
        let key: CookieKey
        fileprivate let text: ByteBuffer
    }

    /// The end of a signature, of which no two are alike.
    private struct Key: Hashable {
        let high: UInt64
        let low: UInt64

        init?(_ text: ByteBuffer) {
            let end = text.writerIndex
            guard text.readableBytes > 64, let high = text.getInteger(at: end - 16, as: UInt64.self),
                let low = text.getInteger(at: end - 8, as: UInt64.self)
            else { return nil }
            (self.high, self.low) = (high, low)
        }
    }

    private static let capacity = 16_384
    private var entries: [Key: Entry] = [:]

    /// The token that a text is; nil if it is not valid, or none of this gateway.
    mutating func entry(_ text: ByteBuffer, of issuer: Issuer, now: Instant) -> Entry? {
        guard let key = Key(text) else { return nil }
        if let known = self.entries[key], known.text == text {
            if now < known.token.expires { return known }
            self.entries[key] = nil
            return nil
        }
        guard let token = issuer.accessToken(text.readableBytesView, now: now), let session = CookieKey(token.ticket)
        else { return nil }
        if self.entries.count >= TokenCache.capacity {
            self.entries = self.entries.filter { now < $0.value.token.expires }
            if self.entries.count >= TokenCache.capacity { self.entries.removeAll(keepingCapacity: true) }
        }
        // The bytes of the request would keep its whole buffer in memory.
        let entry = Entry(token: token, key: session, text: ByteBuffer(bytes: text.readableBytesView))
        self.entries[key] = entry
        return entry
    }

    /// Forgets everything, since the configuration has changed.
    mutating func removeAll() { self.entries.removeAll() }
}
