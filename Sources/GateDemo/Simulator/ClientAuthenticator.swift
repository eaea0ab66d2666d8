// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore
internal import Synchronization

/// A way in which a client proves who it is.
///
/// OpenID Connect Core §9.
enum ClientAuthenticationMethod: Sendable {
    /// Id and secret, each form-encoded, in the `Authorization` field.
    case basic
    /// Id and secret in the body.
    case post
    /// A JWT signed by the client; RFC 7523 §2.2.
    case assertion
    /// Apple's way: a JWT signed by the client in the place of the secret.
    case signedSecret

    /// How metadata call it.
    var published: String {
        switch self {
        case .basic: "client_secret_basic"
        case .post, .signedSecret: "client_secret_post"
        case .assertion: "private_key_jwt"
        }
    }
}

/// Lets in the gateway, and nobody else, at the endpoints where a client has to prove who it is.
final class ClientAuthenticator: Sendable {
    /// How many assertions are remembered, so that none works twice.
    private static let limit = 4096
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private let client: DemoClient
    private let accepted: [ClientAuthenticationMethod]
    private let team: String
    private let audiences: [String]
    private let clock: WallClock
    private let seen = Mutex<Set<String>>([])

    init(
        client: DemoClient,
        accepted: [ClientAuthenticationMethod],
        team: String,
        audiences: [String],
        clock: WallClock
    ) {
        self.client = client
        self.accepted = accepted
        self.team = team
        self.audiences = audiences
        self.clock = clock
    }

    /// Why a request is not let in; nil if it is the gateway's.
    func problem(_ request: DemoRequest, _ form: Form) -> OAuthError? {
        let hasField = request.field("authorization") != nil
        let proofs = [hasField, form["client_secret"] != nil, form["client_assertion"] != nil].count { $0 }
        guard proofs == 1 else {
            return OAuthError("invalid_client", "There has to be one proof of the client.", status: 401)
        }
        let reason = hasField ? self.secretRefusal(.basic, request, form) : self.bodyRefusal(request, form)
        return reason.map { OAuthError("invalid_client", $0, status: hasField ? 401 : 400) }
    }

    private func bodyRefusal(_ request: DemoRequest, _ form: Form) -> String? {
        if form["client_assertion"] != nil { return self.assertionRefusal(form) }
        return self.accepted.contains(.signedSecret)
            ? self.signedSecretRefusal(form) : self.secretRefusal(.post, request, form)
    }

    private func secretRefusal(_ proof: ClientAuthenticationMethod, _ request: DemoRequest, _ form: Form) -> String? {
        guard self.accepted.contains(proof) else { return "\(proof.published) is not accepted for this client." }
        return RequestCredentials(request, form: form).match(self.client) ? nil : "Client id and secret do not match."
    }

    /// RFC 7523 §3.
    private func assertionRefusal(_ form: Form) -> String? {
        guard self.accepted.contains(.assertion) else { return "private_key_jwt is not accepted for this client." }
        guard form["client_assertion_type"] == Self.assertionType else { return "The type of assertion is unknown." }
        guard let token = ClientJWT(form["client_assertion"] ?? "", key: self.client.signingKey.publicKey) else {
            return "The assertion is not signed by the client."
        }
        let named = [token.claims["iss"]?.string, token.claims["sub"]?.string, form["client_id"] ?? self.client.id]
        guard named.allSatisfy({ $0 == self.client.id }) else { return "The assertion names another client." }
        guard self.audiences.contains(where: { token.isFor($0) }) else { return "The assertion is for somebody else." }
        guard token.lives(at: self.clock.now, atMost: .seconds(600)) else { return "The assertion has expired." }
        guard let id = token.claims["jti"]?.string, self.isNew(id) else { return "The assertion was used before." }
        return nil
    }

    private func isNew(_ id: String) -> Bool {
        self.seen.withLock { $0.count < Self.limit && $0.insert(id).inserted }
    }

    /// At most six months of 15,777,000 seconds.
    ///
    /// https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
    private func signedSecretRefusal(_ form: Form) -> String? {
        guard let token = ClientJWT(form["client_secret"] ?? "", key: self.client.signingKey.publicKey) else {
            return "The secret is not signed by the team."
        }
        guard token.header["kid"]?.string == ClientJWT.keyID else { return "The key is unknown." }
        guard form["client_id"] == self.client.id, token.claims["sub"]?.string == self.client.id else {
            return "The secret names another client."
        }
        guard token.claims["iss"]?.string == self.team else { return "The secret names another team." }
        guard self.audiences.first.map({ token.isFor($0) }) == true else { return "The secret is for somebody else." }
        let isAlive = token.lives(at: self.clock.now, atMost: .seconds(15_777_000))
        return isAlive ? nil : "The secret has expired or lives too long."
    }
}
