// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import Synchronization

/// What a user granted an app.
struct DemoGrant: Sendable {
    let user: DemoUser
    let redirect: String
    let scopes: [String]
    let nonce: String?
    let challenge: String?
    var expires: Instant
    /// The authorization request.
    let request: Form

    /// Whether the verifier is the one whose hash came with the authorization request.
    ///
    /// RFC 7636 §4.6.
    func accepts(verifier: String?) -> Bool {
        guard let challenge = self.challenge else { return true }
        guard let verifier else { return false }
        return Base64URL.encode(SHA256.hash(data: Data(verifier.utf8))) == challenge
    }
}

/// The valid codes, access tokens and refresh tokens of a simulated provider.
final class DemoGrants: Sendable {
    private static let limit = 65_536
    private let clock: WallClock
    private let state = Mutex<[String: DemoGrant]>([:])

    init(clock: WallClock) {
        self.clock = clock
    }

    /// Keeps the grant of a code or token.
    func insert(_ grant: DemoGrant, for token: String) {
        let now = self.clock.now
        self.state.withLock { state in
            if state.count >= Self.limit { state = state.filter { $0.value.expires > now } }
            // A simulator that is used for long forgets what it granted rather than stop.
            if state.count >= Self.limit { state = [:] }
            state[token] = grant
        }
    }

    /// Keeps the grant of a token for a time.
    func insert(_ grant: DemoGrant, for token: String, lifetime: Duration) {
        var grant = grant
        grant.expires = self.clock.now.advanced(by: lifetime)
        self.insert(grant, for: token)
    }

    /// The grant of a code, once.
    func take(_ code: String) -> DemoGrant? {
        let grant = self.state.withLock { $0.removeValue(forKey: code) }
        return grant.flatMap { $0.expires > self.clock.now ? $0 : nil }
    }

    /// The grant of an access token.
    func grant(of token: String?) -> DemoGrant? {
        guard let token, let grant = self.state.withLock({ $0[token] }) else { return nil }
        return grant.expires > self.clock.now ? grant : nil
    }
}
