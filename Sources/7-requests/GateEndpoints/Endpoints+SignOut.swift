// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import HTTPTypes

extension Endpoints {
    /// An ID token longer than this many bytes is left out of the URL of a provider's sign-out: servers limit the length
    /// of URLs, and `client_id` suffices.
    private static let maxHintLength = 4096

    /// The page with the button; a mere link must not sign the user out.
    func signOutPage(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard let session = try await self.session(of: request) else { return self.signedOutPage(request) }
        let path = request.returnPath
        let query = path == .root ? "" : "?\(Form([Form.Field("rd", path.value)]).encoded)"
        let html = self.runtime.rendering.pages.signOut(
            action: "\(request.origin)\(self.runtime.path(.signOut))\(query)",
            user: self.runtime.user(of: session),
            offersEverywhere: self.runtime.sessions.keepsSessions,
            in: self.language(of: request)
        )
        return Rendering.page(200, html, formTargets: self.signOutTargets(of: session, request))
    }

    /// Where the form of a sign-out may lead: here, to the gateway's host, to the provider.
    func signOutTargets(of session: Session, _ request: EndpointRequest) -> String {
        let target = session.endSession.flatMap { WebURL($0) }.map { " \($0.origin)" } ?? ""
        let gatewaySource = self.isOnGatewayHost(request) ? "" : " \(self.runtime.hosts.publicOrigin)"
        return "'self'\(gatewaySource)\(target)"
    }

    /// The page for a browser without a session on this host, which may have one at the gateway's.
    ///
    /// After a sign-out at the provider it leads to the host where the user signed out: only that one has the cookie that
    /// proves that it was this browser.
    private func signedOutPage(_ request: EndpointRequest) -> Response {
        let text = request.query?["state"] ?? ""
        let state = SignOutState(sealed: text, by: self.runtime.sealer, now: request.now)
        if let state, self.isOnGatewayHost(request), state.origin != request.origin,
            self.runtime.hosts.origin(of: state.origin.host) == state.origin
        {
            return Rendering.redirect(to: self.signOutAddress(at: state.origin, state: text))
        }
        if let state, state.origin == request.origin, let cookie = request.signOutCookie, state.isBound(to: cookie) {
            guard state.path == .root else { return Rendering.redirect(to: "\(state.origin)\(state.path)") }
            return self.signedOutPage(request, self.remark(on: state))
        }
        guard self.isOnGatewayHost(request) else {
            return Rendering.redirect(to: self.runtime.address(.signOut))
        }
        return self.signedOutPage(request, self.remark(on: nil))
    }

    private func signedOutPage(_ request: EndpointRequest, _ remark: Pages.SignOutRemark) -> Response {
        let html = self.runtime.rendering.pages.signedOut(
            address: self.runtime.address(.signIn),
            remark: remark,
            in: self.language(of: request)
        )
        return Rendering.page(200, html)
    }

    /// The page after a sign-out at an origin.
    private func signOutAddress(at origin: Origin, state: String) -> String {
        "\(origin)\(self.runtime.path(.signOut))?\(Form([Form.Field("state", state)]).encoded)"
    }

    /// What a sign-out means for the session at the provider.
    private func remark(on state: SignOutState?) -> Pages.SignOutRemark {
        guard let state else {
            let isLocal = self.runtime.providers.all.allSatisfy { $0.accounts != nil }
            return isLocal ? .complete(includesOthers: false) : .unknown
        }
        // Nothing else has a session of a local account.
        guard self.runtime.providers[state.provider]?.accounts == nil else {
            return .complete(includesOthers: state.isEverywhere)
        }
        let provider = self.runtime.providers.name(of: state.provider)
        return state.includesProvider
            ? .atProvider(provider, includesOthers: state.isEverywhere)
            : .onlyHere(provider: provider, includesOthers: state.isEverywhere)
    }

    /// Ends the session on all hosts, first in the store, then in the browser, then at the provider if it can; with
    /// `sessions=all` in the form before that all other sessions of the user, in every browser.
    func signOut(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard request.comesFromOurPages else {
            throw Failure(.requestCrossSite, "another site posted to sign_out")
        }
        let isEverywhere = request.form?[SessionForm.everywhere.name] == SessionForm.everywhere.value
        return try await self.signOut(request, to: request.returnPath, isEverywhere: isEverywhere)
    }

    /// The same for a request that is known to be the user's, or of a client for its user.
    func signOut(
        _ request: EndpointRequest,
        to path: ReturnPath,
        isEverywhere: Bool = false
    ) async throws(Failure) -> Response {
        let others = isEverywhere ? try await self.endOthers(request) : nil
        let sessions = self.runtime.sessions
        var ended: Session?
        if let ticket = request.ticket {
            ended = try await uncancelled { () throws(Failure) in try await sessions.end(ticket) }
        }
        if let ended {
            self.runtime.services.metrics.signedOut()
            self.runtime.services.log.signedOut(ended.profile.user, session: ended.id, others: others)
            self.runtime.revokeTokens(of: ended)
        }
        let binding = BrowserBinding(from: self.runtime.services.random)
        let next = self.afterwards(request, ended, to: path, isEverywhere: others != nil, binding)
        var response = Rendering.redirect(to: next)
        response.addCookies(GatewayCookie.session(at: request.origin).deletions(in: request.cookies))
        if ended != nil { response.addCookie(GatewayCookie.signOut(at: request.origin).setting(binding.text)) }
        // What the browser has stored of the apps of this origin. https://www.w3.org/TR/clear-site-data/
        response.head.headerFields[.clearSiteData] = "\"cache\""
        return response
    }

    /// Ends all sessions of the user but those of this browser, which end last: if this fails, the user can repeat it.
    ///
    /// - Returns: The number of sign-ins whose sessions have ended; nil without a live session.
    private func endOthers(_ request: EndpointRequest) async throws(Failure) -> Int? {
        guard let session = try await self.session(of: request) else { return nil }
        let sessions = self.runtime.sessions
        return try await uncancelled { () throws(Failure) in
            try await sessions.endAll(of: session.profile, but: session.familyKey)
        }
    }

    /// The provider's own end of session if it has one (OpenID Connect RP-Initiated Logout §2), else the page asked for.
    ///
    /// The session is the one that has ended, with all that its record had for the provider.
    private func afterwards(
        _ request: EndpointRequest,
        _ session: Session?,
        to path: ReturnPath,
        isEverywhere: Bool,
        _ binding: BrowserBinding
    ) -> String {
        guard let session else { return "\(request.origin)\(path == .root ? self.runtime.path(.signOut) : path.value)" }
        let endpoint = session.endSession.flatMap { WebURL($0) }
        let state = SignOutState(
            provider: session.provider,
            includesProvider: endpoint != nil,
            isEverywhere: isEverywhere,
            origin: request.origin,
            path: path,
            binding: binding,
            now: request.now
        )
        let text = state.sealed(by: self.runtime.sealer)
        guard let endpoint else {
            return path == .root ? self.signOutAddress(at: request.origin, state: text) : "\(request.origin)\(path)"
        }
        var form = Form()
        if let hint = session.idToken, hint.count <= Endpoints.maxHintLength {
            hint.withText { form.append("id_token_hint", $0) }
        }
        if let party = self.runtime.providers[session.provider]?.relyingParty {
            form.append("client_id", party.clientID)
        }
        form.append("post_logout_redirect_uri", self.runtime.address(.signOut))
        form.append("state", text)
        let query = endpoint.query.map { $0.isEmpty ? form.encoded : "\($0)&\(form.encoded)" } ?? form.encoded
        return "\(WebURL(origin: endpoint.origin, path: endpoint.path, query: query))"
    }
}
