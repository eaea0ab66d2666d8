// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// An access token of this gateway that one event loop has verified; confined to that loop.
///
/// What is kept is that it is genuine, whom it was issued to, and the ticket of its session. Whether that session lives, and what
/// its user may, is decided for each request.
final class VerifiedToken {
    let token: AccessToken
    /// The client that it was issued to.
    let client: ClientSettings
    /// The key of its session in the cache of sessions.
    let key: CookieKey
    /// The host of its session.
    let host: String
    fileprivate let text: ByteBuffer
    /// The app that it was last found to be for.
    private var route: RuntimeRoute?

    fileprivate init?(_ text: ByteBuffer, of issuer: Issuer, now: Instant) {
        guard let token = issuer.accessToken(text.readableBytesView, now: now),
            let client = issuer.client(issuedTo: token.client),
            let key = CookieKey(token.ticket)
        else { return nil }
        self.token = token
        self.client = client
        self.key = key
        self.host = ClientGrant.host(of: token.client)
        // The bytes of the request would keep its whole buffer in memory.
        self.text = ByteBuffer(bytes: text.readableBytesView)
    }

    /// Whether it is for an app.
    func isFor(_ route: RuntimeRoute) -> Bool {
        if self.route === route { return true }
        guard self.token.isFor(route.route.audience), !self.client.isOpen || route.maxMCPBody != nil else {
            return false
        }
        self.route = route
        return true
    }
}

/// The access tokens that one event loop has verified; confined to that loop.
struct TokenCache {
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
    private var tokens: [Key: VerifiedToken] = [:]
    /// The one that was found last: a request asks more than once, and a client sends many requests.
    private var last: VerifiedToken?

    /// The token that a text is; nil if it is not valid, or not one of this gateway.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - runtime: The request's configuration, of which the issuer is read for a token that is not known: copying it costs
    ///     more than finding one that is.
    ///   - keeps: Whether that is the configuration in force: what a request of an earlier one finds is not for later ones.
    ///   - now: The time.
    /// - Returns: The token.
    mutating func token(
        _ text: ByteBuffer,
        of runtime: RuntimeConfiguration,
        keeps: Bool,
        now: Instant
    ) -> VerifiedToken? {
        if keeps, let last, last.text == text, now < last.token.expires { return last }
        guard let key = Key(text) else { return nil }
        if keeps, let known = self.tokens[key], known.text == text {
            guard now < known.token.expires else {
                self.tokens[key] = nil
                return nil
            }
            self.last = known
            return known
        }
        guard let issuer = runtime.clients.issuer, issuer.signer.begins(text.readableBytesUInt8Span),
            let found = VerifiedToken(text, of: issuer, now: now)
        else { return nil }
        if self.tokens.count >= TokenCache.capacity {
            self.tokens = self.tokens.filter { now < $0.value.token.expires }
            if self.tokens.count >= TokenCache.capacity { self.tokens.removeAll(keepingCapacity: true) }
        }
        if keeps {
            self.tokens[key] = found
            self.last = found
        }
        return found
    }

    /// Whether a text is the token that was found last.
    func isLast(_ text: ByteBuffer) -> Bool { self.last?.text == text }

    /// Forgets everything, since the configuration has changed.
    mutating func removeAll() { self = TokenCache() }
}
