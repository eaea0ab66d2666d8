// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire

extension Endpoints {
    /// Signs the user of a browser out because a client asks for it, and leads back to the client.
    ///
    /// OpenID Connect RP-Initiated Logout §2 and §3. Without an ID token of the session that the browser has, any page could ask
    /// for it, so the user has to confirm it then.
    func endSession(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard let issuer = self.runtime.clients.issuer, self.isOnGatewayHost(request) else { throw self.noClients }
        guard let form = request.method == .post ? request.form : request.query else {
            throw Failure(.clientRequest, "the parameters are not a form")
        }
        let hint = form["id_token_hint"].flatMap { issuer.signer.claims(of: $0.utf8, as: .idToken) }
        // OpenID Connect RP-Initiated Logout §2: both name the same client.
        if let id = form["client_id"], let audience = hint?["aud"]?.string, !isIdentical(id, audience) {
            let shown = PrintableText.escaped(id, limit: 100)
            throw Failure(.clientRequest, "'client_id' is '\(shown)', and 'id_token_hint' is of 'clients.\(audience)'")
        }
        let target = try self.target(in: form, hint, issuer)
        guard let session = try await self.session(of: request) else {
            return target.map { Rendering.redirect(to: $0) } ?? Rendering.redirect(to: self.signOutPath(to: nil))
        }
        let isOfSession = hint?["sid"]?.string.map { isIdentical($0, session.signInID) } ?? false
        guard isOfSession else { return Rendering.redirect(to: self.signOutPath(to: target)) }
        return try await self.signOut(request, to: self.returnPath(to: target))
    }

    /// The page that asks the user, and leads to a client after that.
    private func signOutPath(to target: String?) -> String {
        let path = self.returnPath(to: target)
        let query = path == .root ? "" : "?\(Form([Form.Field("rd", path.value)]).encoded)"
        return "\(self.runtime.address(.signOut))\(query)"
    }

    /// A path of ours that leads on to a client, since a sign-out ends at no other place.
    private func returnPath(to target: String?) -> ReturnPath {
        target.flatMap {
            ReturnPath("\(self.runtime.path(.endSession))?\(Form([Form.Field("next", self.sealed($0))]).encoded)")
        }
            ?? .root
    }

    /// The URL of the client to which the user is redirected after the sign-out, with its `state`; nil without one.
    ///
    /// OpenID Connect RP-Initiated Logout §3.
    private func target(in form: Form, _ hint: JSON?, _ issuer: Issuer) throws(Failure) -> String? {
        if let next = form["next"] { return self.opened(next) }
        guard let uri = form["post_logout_redirect_uri"] else { return nil }
        let id = form["client_id"] ?? hint?["aud"]?.string
        guard let id, let client = issuer.clients[id], client.postLogoutRedirectURI(uri) else {
            let shown = PrintableText.escaped(uri, limit: 200)
            throw Failure(.clientRequest, "'\(shown)' is not one of the 'post_logout_redirect_uris' of the client")
        }
        guard let state = form["state"] else { return uri }
        return "\(uri)\(uri.utf8.contains(UInt8(ascii: "?")) ? "&" : "?")\(Form([Form.Field("state", state)]).encoded)"
    }

    private static let purpose = "client/end-session"

    private func sealed(_ url: String) -> String {
        Base64URL.encode(self.runtime.sealer.seal(Array(url.utf8), for: Endpoints.purpose))
    }

    private func opened(_ text: String) -> String? {
        let plain = Base64URL.decode(text).flatMap { self.runtime.sealer.open($0, for: Endpoints.purpose) }
        return plain.flatMap { String(validating: $0, as: UTF8.self) }
    }
}
