// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateSessions

extension Endpoints {
    /// The page with the button; a mere link must not sign anybody out.
    func signOutPage(_ request: OwnRequest) async throws(Failure) -> Answer {
        guard let session = try await self.session(of: request) else {
            return Rendering.page(200, Pages.signedOut(address: "\(self.site.publicOrigin)/oauth2/sign_in"))
        }
        let profile = session.profile
        let query = Form([Form.Field("rd", request.returnPath.value)]).encoded
        let html = Pages.signOut(
            action: "\(request.origin)/oauth2/sign_out?\(query)",
            user: profile.name ?? profile.email ?? profile.user
        )
        let target = session.endSession.flatMap { WebAddress($0) }.map { " \($0.origin)" } ?? ""
        return Rendering.page(200, html, formTargets: "'self'\(target)")
    }

    /// Ends the session everywhere, first in the store, then in the browser, then at the provider if it can.
    func signOut(_ request: OwnRequest) async throws(Failure) -> Answer {
        guard request.comesFromOurPages else {
            throw Failure(.forbidden, "request.cross_site", "another site posted to sign_out")
        }
        var ended: Session?
        if let ticket = request.ticket { ended = try await self.end(ticket) }
        if let ended {
            self.site.metrics.signedOut()
            self.site.log.signedOut(ended.profile.user, session: ended.id)
        }
        var answer = Rendering.redirect(to: self.afterwards(request, ended))
        answer.addCookie(GateCookie.session(at: request.origin).deletion)
        return answer
    }

    /// Ends the session also if the browser goes away meanwhile: in a task of its own, which nobody cancels.
    private func end(_ ticket: Ticket) async throws(Failure) -> Session? {
        let sessions = self.site.sessions
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
    private func afterwards(_ request: OwnRequest, _ session: Session?) -> String {
        let back = request.returnPath == .root ? "/oauth2/sign_out" : request.returnPath.value
        guard let endpoint = session?.endSession.flatMap({ WebAddress($0) }) else { return "\(request.origin)\(back)" }
        var form = Form()
        session?.idToken?.withText { form.append("id_token_hint", $0) }
        form.append("post_logout_redirect_uri", "\(self.site.publicOrigin)/oauth2/sign_out")
        let query = endpoint.query.map { $0.isEmpty ? form.encoded : "\($0)&\(form.encoded)" } ?? form.encoded
        return "\(WebAddress(origin: endpoint.origin, path: endpoint.path, query: query))"
    }
}
