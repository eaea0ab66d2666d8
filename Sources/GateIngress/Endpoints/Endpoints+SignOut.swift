// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateSessions
internal import HTTPTypes

extension Endpoints {
    /// An ID token longer than this many bytes is left out of the URL of a provider's sign-out: servers limit the length
    /// of URLs, and `client_id` suffices.
    private static let longestHint = 4096

    /// The page with the button; a mere link must not sign the user out.
    func signOutPage(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard let session = try await self.session(of: request) else { return self.signedOutPage(request) }
        let path = request.returnPath
        let query = path == .root ? "" : "?\(Form([Form.Field("rd", path.value)]).encoded)"
        let html = Pages.signOut(
            action: "\(request.origin)/oauth2/sign_out\(query)",
            user: self.runtime.user(of: session)
        )
        let target = session.endSession.flatMap { WebURL($0) }.map { " \($0.origin)" } ?? ""
        let gate = self.isAtGate(request) ? "" : " \(self.runtime.publicOrigin)"
        return Rendering.page(200, html, formTargets: "'self'\(gate)\(target)")
    }

    /// The page for a browser without a session on this host, which may have one at the gateway's.
    private func signedOutPage(_ request: EndpointRequest) -> Response {
        guard self.isAtGate(request) else {
            return Rendering.redirect(to: "\(self.runtime.publicOrigin)/oauth2/sign_out")
        }
        let state = (request.query?["state"]).flatMap {
            SignOutState(sealed: $0, by: self.runtime.sealer, now: request.now)
        }
        let isOurs = state.map { self.runtime.origin(of: $0.origin.host) == $0.origin } ?? false
        if let state, isOurs, state.path != .root { return Rendering.redirect(to: "\(state.origin)\(state.path)") }
        let address = "\(self.runtime.publicOrigin)/oauth2/sign_in"
        return Rendering.page(200, Pages.signedOut(address: address, remark: self.remark(on: state)))
    }

    /// What a sign-out means for the session at the provider.
    private func remark(on state: SignOutState?) -> String {
        guard let state else { return "You may still be signed in at the sign-in service that you used." }
        let provider = self.runtime.provider(state.provider)?.name ?? state.provider
        guard state.includesProvider else {
            return "You may still be signed in at \(provider). On a shared computer, sign out there as well."
        }
        return "You are signed out at \(provider) as well."
    }

    /// Ends the session everywhere, first in the store, then in the browser, then at the provider if it can.
    func signOut(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard request.comesFromOurPages else {
            throw Failure(.requestCrossSite, "another site posted to sign_out")
        }
        var ended: Session?
        if let ticket = request.ticket { ended = try await self.end(ticket) }
        if let ended {
            self.runtime.metrics.signedOut()
            self.runtime.log.signedOut(ended.profile.user, session: ended.id)
        }
        var answer = Rendering.redirect(to: self.afterwards(request, ended))
        answer.addCookie(GatewayCookie.session(at: request.origin).deletion)
        // What the browser has stored of the apps of this origin. https://www.w3.org/TR/clear-site-data/
        answer.head.headerFields[.clearSiteData] = "\"cache\""
        return answer
    }

    /// Ends the session even if the browser disconnects meanwhile: in a separate task that is not cancelled.
    private func end(_ ticket: Ticket) async throws(Failure) -> Session? {
        let sessions = self.runtime.sessions
        let work = Task { () async -> Result<Session?, Failure> in
            do throws(Failure) {
                return .success(try await sessions.end(ticket))
            } catch {
                return .failure(error)
            }
        }
        return try await work.value.get()
    }

    /// The provider's own end of session if it has one (OpenID Connect RP-Initiated Logout §2), else the page asked for.
    private func afterwards(_ request: EndpointRequest, _ session: Session?) -> String {
        let path = request.returnPath
        guard let session else { return "\(request.origin)\(path == .root ? "/oauth2/sign_out" : path.value)" }
        let endpoint = session.endSession.flatMap { WebURL($0) }
        let state = SignOutState(
            provider: session.provider,
            includesProvider: endpoint != nil,
            origin: request.origin,
            path: path,
            now: request.now
        )
        let back = Form.Field("state", state.sealed(by: self.runtime.sealer))
        guard let endpoint else {
            guard path == .root else { return "\(request.origin)\(path)" }
            return "\(self.runtime.publicOrigin)/oauth2/sign_out?\(Form([back]).encoded)"
        }
        var form = Form()
        if let hint = session.idToken, hint.count <= Endpoints.longestHint {
            hint.withText { form.append("id_token_hint", $0) }
        }
        if let provider = self.runtime.provider(session.provider) {
            form.append("client_id", provider.relyingParty.clientID)
        }
        form.append("post_logout_redirect_uri", "\(self.runtime.publicOrigin)/oauth2/sign_out")
        form.append(back.name, back.value)
        let query = endpoint.query.map { $0.isEmpty ? form.encoded : "\($0)&\(form.encoded)" } ?? form.encoded
        return "\(WebURL(origin: endpoint.origin, path: endpoint.path, query: query))"
    }
}
