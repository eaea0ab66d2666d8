// SPDX-License-Identifier: Apache-2.0

package import GateClients
internal import GateCore
package import GateIssuer
internal import GateRuntime
internal import GateSessions
internal import GateWire

// Keys that clients prove to have: RFC 9449.
extension TokenEndpoints {
    /// The key that a client has proved to have; nil if it has proved none, and need not.
    ///
    /// RFC 9449 §5.
    package func keyThumbprint(for client: ClientSettings, _ own: EndpointRequest) throws -> String? {
        guard let proof = try self.proof(of: own) else {
            guard !client.requiresDPoP else {
                throw DPoPProof.invalid("the client has 'dpop: true', so it must send one")
            }
            return nil
        }
        return proof.keyThumbprint
    }

    /// The proof of a request; nil if it has none.
    ///
    /// It is not spent by this. At the token endpoint, what it comes with works once: a repeated request gives nothing to a sender
    /// without the key, and proofs of unknown clients must not fill the table (RFC 9449 §11.1).
    func proof(of own: EndpointRequest, with accessToken: [UInt8]? = nil) throws(OAuthError) -> DPoPProof? {
        guard let text = own.proof else { return nil }
        let url = "\(self.runtime.hosts.publicOrigin)\(own.path)"
        let target = DPoPProof.Target(method: own.method.rawValue, url: url, accessToken: accessToken)
        return try DPoPProof(Array(text.utf8), for: target, now: own.now)
    }

    /// Checks that a client without a secret uses the key to which its sign-in is bound.
    ///
    /// RFC 9449 §5: refresh tokens of clients with a secret are not bound.
    static func checkKey(of session: ClientSession, _ request: TokenRequest) throws(OAuthError) {
        guard request.client.kind != .confidential, let key = session.grant.keyThumbprint else { return }
        guard let used = request.keyThumbprint else {
            throw DPoPProof.invalid("it is missing, and the refresh token is bound to a key")
        }
        guard isIdentical(key, used) else {
            throw OAuthError(.invalidGrant, "the refresh token is bound to another key than that of the header DPoP")
        }
    }

    /// The access token of a request to an endpoint of the gateway, with the proof of its key if it is bound to one.
    ///
    /// RFC 6750 §2.1, RFC 9449 §7.
    package func accessToken(of own: EndpointRequest) throws(OAuthError) -> AccessToken {
        let parts = (own.authorization ?? "").split(separator: " ", maxSplits: 1)
        let scheme = parts.first?.lowercased()
        guard parts.count == 2, scheme == "bearer" || scheme == "dpop",
            let token = self.issuer.accessToken(parts[1].utf8, now: own.now)
        else { throw OAuthError(.invalidToken, "the token is missing, invalid or expired") }
        guard let key = token.keyThumbprint else {
            guard scheme == "bearer" else {
                throw OAuthError(.invalidToken, "the token is bound to no key: send it as Bearer")
            }
            return token
        }
        guard scheme == "dpop" else {
            throw OAuthError(.invalidToken, "the token is bound to a key: send it as DPoP, with a proof")
        }
        guard let proof = try self.proof(of: own, with: Array(parts[1].utf8)) else {
            throw DPoPProof.invalid("it is missing")
        }
        guard isIdentical(proof.keyThumbprint, key) else {
            throw OAuthError(.invalidToken, "the token is bound to another key than that of the header DPoP")
        }
        try self.runtime.services.proofs.spend(proof, beside: token)
        return token
    }
}
