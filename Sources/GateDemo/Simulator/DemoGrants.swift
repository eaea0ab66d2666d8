// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import Synchronization

/// What a person agreed to.
struct DemoGrant: Sendable {
    let person: DemoUser
    let redirect: String
    let scopes: [String]
    let nonce: String?
    let challenge: String?
    let expires: Instant
    /// The authorization request.
    var request = Form()

    /// Whether the verifier is the one whose hash came with the authorization request.
    ///
    /// RFC 7636 §4.6.
    func accepts(verifier: String?) -> Bool {
        guard let challenge = self.challenge else { return true }
        guard let verifier else { return false }
        return Base64URL.encode(SHA256.hash(data: Data(verifier.utf8))) == challenge
    }
}

/// The codes and access tokens that a simulated provider has given out.
final class DemoGrants: Sendable {
    private static let limit = 4096
    private let clock: WallClock
    private let state = Mutex<[String: DemoGrant]>([:])

    init(clock: WallClock) {
        self.clock = clock
    }

    /// Remembers what a code or token stands for.
    func insert(_ grant: DemoGrant, for token: String) {
        let now = self.clock.now
        self.state.withLock { state in
            if state.count >= Self.limit { state = state.filter { $0.value.expires > now } }
            if state.count < Self.limit { state[token] = grant }
        }
    }

    /// What a code stands for, once.
    func take(_ code: String) -> DemoGrant? {
        let grant = self.state.withLock { $0.removeValue(forKey: code) }
        return grant.flatMap { $0.expires > self.clock.now ? $0 : nil }
    }

    /// What an access token stands for.
    func grant(of token: String?) -> DemoGrant? {
        guard let token, let grant = self.state.withLock({ $0[token] }) else { return nil }
        return grant.expires > self.clock.now ? grant : nil
    }
}

/// Client credentials of a token request, from the body or from HTTP Basic.
///
/// RFC 6749 §2.3.1.
struct RequestCredentials {
    let id: String?
    let secret: String?

    init(_ request: DemoRequest, form: Form) {
        guard let field = request.field("authorization"), field.lowercased().hasPrefix("basic ") else {
            self.id = form["client_id"]
            self.secret = form["client_secret"]
            return
        }
        let text = Data(base64Encoded: String(field.dropFirst(6))).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { part in
            PercentEncoding.decode(Array(part.utf8), plusIsSpace: true).map { String(decoding: $0, as: UTF8.self) }
        }
        self.id = parts.first ?? nil
        self.secret = parts.count == 2 ? parts[1] : nil
    }

    /// Whether they are the client's.
    func match(_ client: DemoClient) -> Bool {
        self.id == client.id && self.secret.map { Secret(text: $0) == client.secret } == true
    }
}
