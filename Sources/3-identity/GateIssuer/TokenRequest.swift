// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
package import GateClients
package import GateCore
package import GateSessions

/// A request to the token endpoint, of a client that is authenticated.
package struct TokenRequest: Sendable {
    package let client: ClientSettings
    /// The parameters, none repeated.
    package let form: Form
    /// The key that the client has proved to have; nil if it has proved none.
    package var keyThumbprint: String?

    /// A request of a client that ``Issuer/client(of:_:)`` has authenticated.
    package init(client: ClientSettings, form: Form) {
        self.client = client
        self.form = form
    }
}

extension Issuer {
    /// Authenticates the client of a request: by its secret, or by its id if it has none.
    ///
    /// RFC 6749 §2.3.1 and §3.2.1.
    ///
    /// - Parameters:
    ///   - form: The parameters of the request.
    ///   - authorization: The value of `Authorization`; nil without one.
    /// - Returns: The client.
    /// - Throws: `invalid_client`, or `invalid_request` for a request with several methods.
    package func client(of form: Form, _ authorization: String?) throws(OAuthError) -> ClientSettings {
        try Issuer.checkNames(of: form)
        if let authorization {
            guard form["client_secret"] == nil else {
                throw OAuthError(.invalidRequest, "the request has a secret in the body and in Authorization")
            }
            guard let (id, spellings) = Issuer.basic(authorization) else {
                throw OAuthError(.invalidClient, "Authorization is not 'Basic' with an id and a secret")
            }
            guard form["client_id"].map({ isIdentical($0, id) }) ?? true else {
                throw OAuthError(.invalidRequest, "'client_id' is not the client of Authorization")
            }
            return try self.client(id, secret: spellings)
        }
        guard let id = form["client_id"] else { throw OAuthError(.invalidClient, "'client_id' is missing") }
        return try self.client(id, secret: form["client_secret"].map { [$0] } ?? [])
    }

    /// The client with this id.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - spellings: How the secret of the request may be read; none without a secret.
    /// - Returns: The client.
    /// - Throws: `invalid_client` if no client has the id, or the secret is not its own.
    private func client(_ id: String, secret spellings: [String]) throws(OAuthError) -> ClientSettings {
        guard id.utf8.allSatisfy({ $0 < 0x80 }), let client = self.client(named: id) else {
            throw OAuthError(.invalidClient, "no client has this id")
        }
        guard !client.secrets.isEmpty else {
            guard spellings.allSatisfy(\.isEmpty) else {
                throw OAuthError(.invalidClient, "the client is public and has no secret")
            }
            return client
        }
        guard !spellings.isEmpty else { throw OAuthError(.invalidClient, "the secret of the client is missing") }
        let hashes = spellings.map { Array(SHA256.hash(data: Array($0.utf8))) }
        let isOurs = client.secrets.contains { known in
            known.withBytes { bytes in
                hashes.contains { constantTimeEquals(Array(SHA256.hash(data: bytes)), $0) }
            }
        }
        guard isOurs else { throw OAuthError(.invalidClient, "the secret of the client is wrong") }
        return client
    }

    /// The id, and how the secret may be read.
    ///
    /// RFC 6749 §2.3.1 has both form-encoded, and clients such as Authlib send them as they are (RFC 7617 §2). The readings differ
    /// for a secret with `%` or `+`; either may be the secret, which the sender has to know anyway.
    private static func basic(_ value: String) -> (id: String, secret: [String])? {
        guard value.utf8.count <= 2048, value.lowercased().hasPrefix("basic "),
            let bytes = Data(base64Encoded: String(value.dropFirst(6).drop { $0 == " " })),
            let pair = String(validating: bytes, as: UTF8.self), let colon = pair.firstIndex(of: ":"),
            let id = self.decoded(pair[..<colon])
        else { return nil }
        let secret = pair[pair.index(after: colon)...]
        return (id, [String(secret)] + (self.decoded(secret).map { [$0] } ?? []))
    }

    private static func decoded(_ text: Substring) -> String? {
        PercentEncoding.decode(text.utf8, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Opens the code of a request, and checks that it is this client's.
    ///
    /// RFC 6749 §4.1.3, RFC 7636 §4.6.
    package func code(in request: TokenRequest, now: Instant) throws(OAuthError) -> AuthorizationCode {
        guard let text = request.form["code"] else { throw OAuthError(.invalidRequest, "'code' is missing") }
        guard let verifier = request.form["code_verifier"] else {
            throw OAuthError(.invalidGrant, "'code_verifier' is missing: PKCE is required (RFC 7636)")
        }
        guard let code = AuthorizationCode(sealed: text, by: self.sealer),
            isIdentical(code.terms.client, request.client.id)
        else { throw OAuthError(.invalidGrant, "the code is not one of this client") }
        guard now < code.expires else {
            throw OAuthError(.invalidGrant, "the code has expired; it is valid for a minute")
        }
        guard code.terms.keyThumbprint.map({ isIdentical($0, request.keyThumbprint ?? "") }) ?? true else {
            throw OAuthError(
                .invalidGrant,
                "the code is bound to another key than that of the header DPoP (RFC 9449 §10)"
            )
        }
        // Required by RFC 6749 only where the authorization request had it; PKCE does what it is for.
        guard request.form["redirect_uri"].map({ isIdentical($0, code.terms.redirectURI) }) ?? true else {
            throw OAuthError(.invalidGrant, "'redirect_uri' is not that of the authorization request")
        }
        guard Issuer.isVerifier(verifier),
            constantTimeEquals(
                Array(Base64URL.encode(SHA256.hash(data: Array(verifier.utf8))).utf8),
                Array(code.terms.challenge.utf8)
            )
        else { throw OAuthError(.invalidGrant, "'code_verifier' does not fit 'code_challenge'") }
        return code
    }

    /// RFC 7636 §4.1.
    private static func isVerifier(_ text: String) -> Bool {
        (43...128).contains(text.utf8.count) && text.utf8.allSatisfy { PercentEncoding.isUnreserved($0) }
    }
}

extension Issuer {
    /// The audiences of the access token that a request asks for: those that it names, or all that were granted.
    ///
    /// RFC 8707 §2.2.
    package func audiences(namedIn request: TokenRequest, grantedTo grant: ClientGrant) throws(OAuthError) -> [String] {
        let named = try self.namedAudiences(in: request.form, of: request.client)
        let known = self.audiences(of: request.client) + [self.userinfo]
        // An app may have been removed from the client since.
        let granted = grant.audiences.filter { audience in known.contains { isIdentical($0, audience) } }
        guard !named.isEmpty else { return granted }
        guard named.allSatisfy({ audience in granted.contains { isIdentical($0, audience) } }) else {
            throw OAuthError(.invalidTarget, "'resource' was not granted to the client")
        }
        return named
    }
}

extension Issuer {
    /// The scopes of the tokens that a request asks for: those that it names, or all that were granted.
    ///
    /// RFC 6749 §6: a refresh may ask for fewer; the grant and its refresh tokens keep all.
    package func scopes(namedIn request: TokenRequest, grantedTo grant: ClientGrant) throws(OAuthError) -> [String] {
        guard let text = request.form["scope"] else { return grant.scopes }
        let named = text.split(separator: " ").map(String.init)
        guard !named.isEmpty, named.allSatisfy({ scope in grant.scopes.contains { isIdentical($0, scope) } }) else {
            throw OAuthError(.invalidScope, "'scope' has a word that was not granted")
        }
        return grant.scopes.filter(named.contains)
    }

    /// What a client without a browser asks for.
    ///
    /// RFC 8628 §3.1, RFC 8707 §2.
    package func deviceRequest(_ request: TokenRequest) throws(OAuthError) -> (scopes: [String], audiences: [String]) {
        let named = try self.namedAudiences(in: request.form, of: request.client)
        let client = request.client
        let reach = named.isEmpty ? self.audiences(of: client) : named
        let scopes = try self.scopes(request.form["scope"], at: reach, of: client)
        return (scopes, named.isEmpty ? self.audiences(of: client, for: scopes) : named)
    }
}
