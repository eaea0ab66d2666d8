// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateClients
internal import GateCore

/// One sign-in of a client of the file, as its developer would write it: what it sends, and what it checks.
///
/// RFC 6749 §4.1, RFC 7636 §4, OpenID Connect Core §3.1.
struct ClientFlow: Sendable {
    /// A parameter of a request, and what it is for.
    struct Parameter: Sendable, Hashable {
        let name: String
        let value: String
        let purpose: String
    }

    /// What a client gets of the token endpoint.
    struct Tokens: Sendable {
        let accessToken: String
        let refreshToken: String?
        let idToken: String?
    }

    let client: ClientSettings
    /// The gateway, as `iss` names it.
    let issuer: String
    /// Where the response of the authorization endpoint goes.
    let redirectURI: String
    private let state: String
    private let nonce: String
    private let verifier: String
    /// Signs proofs for a client whose tokens must be bound to a key; nil for all others.
    private let key: P256.Signing.PrivateKey?
    private let random: RandomBytes

    private static let scope = "openid profile email groups"

    /// A sign-in with a `state`, a `nonce` and a PKCE verifier of its own.
    ///
    /// - Parameters:
    ///   - client: The client.
    ///   - issuer: The gateway's `public_url`.
    ///   - redirectURI: A redirect URI of the client.
    ///   - random: The source of its random values.
    init(of client: ClientSettings, issuer: String, redirectURI: String, random: RandomBytes = .system) {
        self.client = client
        self.issuer = issuer
        self.redirectURI = redirectURI
        self.state = random.token(16)
        self.nonce = random.token(16)
        self.verifier = random.token(32)
        self.key = client.requiresDPoP ? P256.Signing.PrivateKey() : nil
        self.random = random
    }

    /// The parameters of the authorization request.
    var authorizationParameters: [Parameter] {
        let challenge = Base64URL.encode(SHA256.hash(data: Array(self.verifier.utf8)))
        return [
            .init(name: "response_type", value: "code", purpose: "the code flow; there is no other"),
            .init(name: "client_id", value: self.client.id, purpose: "the entry in 'clients'"),
            .init(name: "redirect_uri", value: self.redirectURI, purpose: "one of 'redirect_uris', byte by byte"),
            .init(name: "scope", value: ClientFlow.scope, purpose: "'openid' for an ID token; the others for claims"),
            .init(
                name: "state",
                value: self.state,
                purpose: "comes back, so that the response belongs to this request"
            ),
            .init(name: "nonce", value: self.nonce, purpose: "comes back in the ID token"),
            .init(name: "code_challenge", value: challenge, purpose: "the SHA-256 of a secret of this sign-in (PKCE)"),
            .init(name: "code_challenge_method", value: "S256", purpose: "the only one"),
        ]
    }

    /// The URL that the browser opens.
    ///
    /// - Parameters:
    ///   - endpoint: The authorization endpoint.
    ///   - pushed: The reference to the parameters, if they were pushed (RFC 9126 §4); nil to have them in the URL.
    /// - Returns: The URL.
    func authorizationURL(at endpoint: String, pushed: String? = nil) -> String {
        let fields = pushed.map { [Form.Field("client_id", self.client.id), Form.Field("request_uri", $0)] }
        let form = Form(fields ?? self.authorizationParameters.map { Form.Field($0.name, $0.value) })
        return "\(endpoint)?\(form.encoded)"
    }

    /// The header `DPoP` of a request; nil for a client whose tokens are for any sender.
    ///
    /// RFC 9449 §4.2.
    ///
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - url: Its URL, without a query.
    ///   - accessToken: The access token that it has; nil without one.
    ///   - now: The time.
    /// - Returns: The proof.
    func proof(_ method: String, _ url: String, with accessToken: String?, now: Instant) -> String? {
        guard let key else { return nil }
        let point = Array(key.publicKey.rawRepresentation)
        let header: JSON = [
            "typ": "dpop+jwt", "alg": "ES256",
            "jwk": [
                "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(Array(point.prefix(32)))),
                "y": .string(Base64URL.encode(Array(point.suffix(32)))),
            ],
        ]
        var claims: [String: JSON] = [
            "jti": .string(self.random.token(16)), "htm": .string(method), "htu": .string(url),
            "iat": .int(now.seconds),
        ]
        claims["ath"] = accessToken.map { .string(Base64URL.encode(SHA256.hash(data: Array($0.utf8)))) }
        let signed = [header, .object(claims)].map { Base64URL.encode($0.encoded) }.joined(separator: ".")
        // It fails only without a key.
        guard let signature = try? key.signature(for: Array(signed.utf8)) else { return nil }
        return "\(signed).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }

    /// The scheme of `Authorization` for its access tokens.
    var tokenScheme: String { self.key == nil ? "Bearer" : "DPoP" }

    /// Whether a callback is one of this sign-in: another one is ignored.
    func owns(callback: Form) -> Bool { callback["state"].map { isIdentical($0, self.state) } ?? false }

    /// The code in the URL to which the browser was redirected.
    ///
    /// RFC 6749 §4.1.2, RFC 9207 §2.4.
    func code(in callback: String) throws(ClientFlowFailure) -> String {
        let parts = callback.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = self.redirectURI.split(separator: "?", maxSplits: 1).first ?? ""
        guard parts.count == 2, isIdentical(String(parts[0]), String(place)), let form = Form(encoded: parts[1]) else {
            throw ClientFlowFailure(
                "the browser was not redirected to \(self.redirectURI)",
                next: "paste the whole URL of the address bar, or of the browser's network log"
            )
        }
        guard self.owns(callback: form) else {
            throw ClientFlowFailure(
                "'state' is not the one that was sent, so the response belongs to another sign-in",
                next: "open the URL above again, and use the response to it"
            )
        }
        guard form["iss"].map({ isIdentical($0, self.issuer) }) ?? false else {
            throw ClientFlowFailure(
                "'iss' is not \(self.issuer)",
                next: "a client must not send the code anywhere: it is of another issuer (RFC 9207)"
            )
        }
        guard let code = form["code"] else {
            let error = form["error"] ?? "no code"
            throw ClientFlowFailure(
                "the gateway responded \(error): \(form["error_description"] ?? "without a description")",
                next: "see docs/clients.md#errors, and the log of the gateway for client.rejected"
            )
        }
        return code
    }

    /// The parameters of the request that redeems a code.
    func tokenRequest(code: String) -> [Parameter] {
        [
            .init(name: "grant_type", value: "authorization_code", purpose: ""),
            .init(name: "code", value: code, purpose: "for one use within a minute"),
            .init(name: "redirect_uri", value: self.redirectURI, purpose: "that of the authorization request"),
            .init(name: "code_verifier", value: self.verifier, purpose: "the secret of 'code_challenge'"),
        ] + self.identification
    }

    /// The parameters of the request for new tokens.
    func refreshRequest(_ token: String) -> [Parameter] {
        [
            .init(name: "grant_type", value: "refresh_token", purpose: ""),
            .init(name: "refresh_token", value: token, purpose: "for one use; the response has the next one"),
        ] + self.identification
    }

    /// The parameters of the request that ends the sign-in of the client.
    func revocationRequest(_ token: String) -> [Parameter] {
        [.init(name: "token", value: token, purpose: "the refresh token or an access token")] + self.identification
    }

    private var identification: [Parameter] {
        self.client.secrets.isEmpty
            ? [.init(name: "client_id", value: self.client.id, purpose: "a public client has no secret")] : []
    }

    /// The value of `Authorization` of a client with a secret.
    ///
    /// RFC 6749 §2.3.1.
    var authorization: String? {
        guard let secret = self.client.secrets.first else { return nil }
        let encoded = secret.withBytes { PercentEncoding.encode($0) }
        return "Basic \(Data("\(PercentEncoding.encode(self.client.id.utf8)):\(encoded)".utf8).base64EncodedString())"
    }

    /// Checks an ID token as a client has to.
    ///
    /// OpenID Connect Core §3.1.3.7. The signature is not verified: the token came from the gateway's own endpoint (rule 6).
    ///
    /// - Parameters:
    ///   - token: The ID token.
    ///   - keyIDs: The ids of the keys at `jwks_uri`.
    ///   - isRefreshed: Whether it is the token of a refresh, which need not have the nonce (§12.2).
    ///   - now: The time.
    /// - Returns: The claims.
    /// - Throws: What a client has to reject.
    func claims(
        ofIDToken token: String,
        keyIDs: [String],
        isRefreshed: Bool = false,
        now: Instant
    ) throws(ClientFlowFailure) -> [String: JSON] {
        let next = "the gateway at \(self.issuer) has another configuration, or a proxy in front changes responses"
        guard let (header, claims) = ClientFlow.decoded(token) else {
            throw ClientFlowFailure("the ID token is not a JWT", next: next)
        }
        let nonce = claims["nonce"]?.string
        let checks: [(name: String, holds: Bool)] = [
            ("kid", header["kid"]?.string.map { keyIDs.contains($0) } ?? false),
            ("iss", claims["iss"]?.string.map { isIdentical($0, self.issuer) } ?? false),
            ("aud", claims["aud"]?.string.map { isIdentical($0, self.client.id) } ?? false),
            ("exp", claims["exp"]?.numericDate.map { now < $0 } ?? false),
            ("nonce", nonce.map { isIdentical($0, self.nonce) } ?? isRefreshed),
        ]
        if let failed = checks.first(where: { !$0.holds }) {
            throw ClientFlowFailure("'\(failed.name)' of the ID token is not what a client accepts", next: next)
        }
        return claims
    }

    /// Header and claims of a JWT, not verified.
    static func decoded(_ token: String) -> (header: [String: JSON], claims: [String: JSON])? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = self.object(parts[0]), let claims = self.object(parts[1]) else {
            return nil
        }
        return (header, claims)
    }

    private static func object(_ part: Substring) -> [String: JSON]? {
        // Both parts of a JWT are JSON; another text is not a JWT.
        Base64URL.decode(String(part)).flatMap { try? JSON(parsing: $0) }?.object
    }
}

/// What failed in the flow of a client.
package struct ClientFlowFailure: Error, Hashable {
    /// What is wrong, and where.
    package let what: String
    /// What to do.
    package let next: String

    init(_ what: String, next: String) {
        self.what = what
        self.next = next
    }
}
