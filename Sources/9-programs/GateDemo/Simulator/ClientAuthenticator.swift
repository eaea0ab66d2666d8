// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore
internal import Synchronization

/// A method by which a client authenticates.
///
/// OpenID Connect Core §9.
enum ClientAuthenticationMethod: Sendable {
    /// Id and secret, each form-encoded, in the `Authorization` field.
    case basic
    /// Id and secret in the body.
    case post
    /// A JWT signed by the client; RFC 7523 §2.2.
    case assertion
    /// Apple's method: a JWT signed by the client in place of the secret.
    case signedSecret
    /// None: a public client, which proves by the code verifier that it made the request; RFC 7636.
    case publicClient
    /// A JWT by which the platform of the client speaks for it; RFC 7523 §2.2.
    case workload
    /// A certificate by its subject; RFC 8705 §2.1.
    case certificate
    /// A certificate that the client signed; RFC 8705 §2.2.
    case ownCertificate

    /// Its name in metadata.
    var published: String {
        switch self {
        case .basic: "client_secret_basic"
        case .post, .signedSecret: "client_secret_post"
        case .assertion, .workload: "private_key_jwt"
        case .publicClient: "none"
        case .certificate: "tls_client_auth"
        case .ownCertificate: "self_signed_tls_client_auth"
        }
    }
}

/// Authenticates the gateway at the endpoints that require it.
final class ClientAuthenticator: Sendable {
    /// A failed check and its error.
    struct FailedCheck {
        let check: TokenCheck
        let error: OAuthError

        init(_ check: TokenCheck, _ text: String, status: Int) {
            self.check = check
            self.error = OAuthError("invalid_client", text, status: status)
        }
    }

    /// How many assertions are remembered, so that each works once.
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
        clock: WallClock,
    ) {
        self.client = client
        self.accepted = accepted
        self.team = team
        self.audiences = audiences
        self.clock = clock
    }

    /// Why the authentication of a request fails; nil if it succeeds.
    func failure(of request: DemoRequest, _ form: Form) -> FailedCheck? {
        let hasField = request.field("authorization") != nil
        let credentials = RequestCredentials(request, form: form)
        guard form["client_assertion"] != nil && form["client_id"] == nil || credentials.id == self.client.id else {
            return FailedCheck(.client, "The client is unknown.", status: 401)
        }
        let methods = [hasField, form["client_secret"] != nil, form["client_assertion"] != nil].count { $0 }
        if !Set(self.accepted).isDisjoint(with: [.publicClient, .certificate, .ownCertificate]) {
            guard methods == 0 else {
                return FailedCheck(.authentication, "This client has neither secret nor assertion.", status: 401)
            }
            return self.failureWithoutProof(request, form)
        }
        guard methods == 1 else {
            return FailedCheck(.authentication, "The request must authenticate the client by one method.", status: 401)
        }
        let reason = hasField ? self.secretFailure(.basic, credentials) : self.bodyFailure(credentials, form)
        return reason.map { FailedCheck(.authentication, $0, status: hasField ? 401 : 400) }
    }

    /// Of a client whose request has no proof in it: a public one, or one that presents a certificate.
    private func failureWithoutProof(_ request: DemoRequest, _ form: Form) -> FailedCheck? {
        if self.accepted.contains(.publicClient) {
            // A pushed request has the challenge instead.
            let hasProof = form["code_verifier"] != nil || form["code_challenge"] != nil
            return hasProof ? nil : FailedCheck(.authentication, "A public client must use PKCE.", status: 401)
        }
        guard let presented = request.certificate else {
            return FailedCheck(.authentication, "The client must present its certificate.", status: 401)
        }
        let isRegistered = self.client.certificate?.isRegistered(presented, at: self.clock.now) == true
        return isRegistered ? nil : FailedCheck(.authentication, "The certificate is not registered.", status: 401)
    }

    private func bodyFailure(_ credentials: RequestCredentials, _ form: Form) -> String? {
        if form["client_assertion"] != nil { return self.assertionFailure(form) }
        return self.accepted.contains(.signedSecret)
            ? self.signedSecretFailure(form) : self.secretFailure(.post, credentials)
    }

    private func secretFailure(_ method: ClientAuthenticationMethod, _ credentials: RequestCredentials) -> String? {
        guard self.accepted.contains(method) else { return "\(method.published) is not accepted for this client." }
        return credentials.match(self.client) ? nil : "Client id and secret do not match."
    }

    /// RFC 7523 §3.
    private func assertionFailure(_ form: Form) -> String? {
        if self.accepted.contains(.workload) { return self.workloadFailure(form) }
        guard self.accepted.contains(.assertion) else { return "private_key_jwt is not accepted for this client." }
        guard form["client_assertion_type"] == Self.assertionType else { return "The type of assertion is unknown." }
        guard let token = ClientJWT(form["client_assertion"] ?? "", key: self.client.signingKey.publicKey) else {
            return "The assertion is not signed by the client."
        }
        let named = [token.claims["iss"]?.string, token.claims["sub"]?.string, form["client_id"] ?? self.client.id]
        guard named.allSatisfy({ $0 == self.client.id }) else { return "The assertion names another client." }
        guard self.audiences.contains(where: { token.isFor($0) }) else { return "The audience is another server." }
        guard token.lives(at: self.clock.now, atMost: .seconds(600)) else { return "The assertion has expired." }
        guard let id = token.claims["jti"]?.string, self.isNew(id) else { return "The assertion was used before." }
        return nil
    }

    /// The platform's token counts as often as the client wants, for the id that the request names.
    private func workloadFailure(_ form: Form) -> String? {
        guard form["client_assertion_type"] == Self.assertionType else { return "The type of assertion is unknown." }
        guard form["client_id"] == self.client.id else { return "The request does not name the client." }
        guard let issuer = self.audiences.first else { return "The provider has no issuer." }
        return self.client.workload.failure(of: form["client_assertion"] ?? "", for: issuer, at: self.clock.now)
    }

    private func isNew(_ id: String) -> Bool {
        self.seen.withLock { $0.count < Self.limit && $0.insert(id).inserted }
    }

    /// At most six months of 15,777,000 seconds.
    ///
    /// https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
    private func signedSecretFailure(_ form: Form) -> String? {
        guard let token = ClientJWT(form["client_secret"] ?? "", key: self.client.signingKey.publicKey) else {
            return "The secret is not signed by the team."
        }
        guard token.header["kid"]?.string == ClientJWT.keyID else { return "The key is unknown." }
        guard form["client_id"] == self.client.id, token.claims["sub"]?.string == self.client.id else {
            return "The secret names another client."
        }
        guard token.claims["iss"]?.string == self.team else { return "The secret names another team." }
        guard self.audiences.first.map({ token.isFor($0) }) == true else { return "The audience is another server." }
        let isAlive = token.lives(at: self.clock.now, atMost: .seconds(15_777_000))
        return isAlive ? nil : "The secret has expired or lives too long."
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
