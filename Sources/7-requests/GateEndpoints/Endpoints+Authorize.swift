// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GatePages
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions
internal import GateWire

extension Endpoints {
    /// Gives a client a code for the user of the browser, after what the user has to do for that.
    ///
    /// RFC 6749 §4.1.1 and §4.1.2, OpenID Connect Core §3.1.2.
    func authorize(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard let issuer = self.runtime.clients.issuer, self.isOnGatewayHost(request) else { throw self.noClients }
        guard request.method == .post else {
            guard let form = request.query else { throw Failure(.clientRequest, "the query is not a form") }
            if let pushed = issuer.unusedPushedRequest(in: form, now: request.now) {
                return try await self.begin(pushed, request, issuer)
            }
            return try await self.authorize(form, request, issuer)
        }
        guard let form = request.form else { throw Failure(.clientRequest, "the body is not a form") }
        if let text = form[Consent.field] { return try await self.respond(toChoice: text, form, request, issuer) }
        // Our cookie does not come along with a form of another site, and with a link it does.
        return Rendering.redirect(to: "\(self.runtime.address(.authorize))?\(form.encoded)")
    }

    private func authorize(
        _ form: Form,
        _ request: EndpointRequest,
        _ issuer: Issuer,
        consented: Consent? = nil
    ) async throws(Failure) -> Response {
        let asked: AuthorizationRequest
        switch try await self.asked(form, request, issuer) {
        case .untrusted(let why): throw Failure(.clientRequest, why)
        case .error(let error, let target): return try self.reject(error, to: target)
        case .valid(let valid): asked = valid
        }
        guard request.isNavigation || asked.prompt.none else {
            throw Failure(.requestNotNavigation, "a sign-in begins with a navigation of the user")
        }
        let found = try await self.confirmedSession(of: request, mayAskUser: !asked.prompt.none)
        let step = NextStep(endpoints: self, request: request, asked: asked, form: form)
        let session: Session
        switch found {
        case .none: return try step.signIn()
        case .needsUser(let stale): return try step.signIn(silentlyWith: stale.provider)
        case .session(let live): session = live
        }
        let accepts = asked.client.route.accepts(session.profile)
        guard accepts, asked.provider.map({ $0 == session.provider }) ?? true else {
            return try step.signIn(otherAccount: true)
        }
        guard asked.expectedUser.map({ isIdentical($0, session.profile.forwardedKey) }) ?? true else {
            return try step.signIn(otherAccount: true)
        }
        let signedIn = RequestedSignIn(in: form, by: self.runtime.sealer, now: request.now).flatMap {
            $0.hasBegun(session) ? $0 : nil
        }
        if let signedIn {
            guard signedIn.satisfies(asked, by: session) else {
                return try self.reject(AuthorizationSteps.notAuthenticated, to: asked.target)
            }
        } else if !AuthorizationSteps.isRecent(session, for: asked, now: request.now) {
            return try step.signIn(otherAccount: asked.prompt.selectAccount)
        }
        switch asked.client.decision(about: session, from: request.ruledClient, now: request.now) {
        case .admitted: break
        case .signInNeeded, .authenticationNeeded: return try step.signIn(after: signedIn)
        case .passkeyNeeded: return try step.passkey()
        case .denied(let denial):
            let failure = denial.failure(of: session.profile, app: asked.client.id)
            return try self.reject(
                OAuthError(.accessDenied, "the rules of the client do not admit the user"),
                to: asked.target,
                because: failure,
                hasConsent: consented != nil
            )
        case .openToAll, .openToNetwork, .scopesNeeded:
            throw Failure(.clientRequest, "'\(asked.client.id)' has rules that are those of an app, and admit no user")
        }
        var terms = asked.terms
        let permitted = self.runtime.routes.permitted(terms.audiences, to: session.profile, at: request.now)
        if asked.namesAudiences, permitted.count < terms.audiences.count {
            let error = OAuthError(.accessDenied, "the user may not enter the app of 'resource'")
            return try self.reject(error, to: asked.target)
        }
        if asked.namesAudiences,
            self.runtime.routes.needsPasskey(session, for: permitted, request.ruledClient, now: request.now)
        {
            return try step.passkey()
        }
        terms.audiences = permitted
        // The app would reject the token, and the client would come back for another one.
        guard self.runtime.routes.accepts(session, at: permitted, now: request.now) else {
            return try step.signIn(after: signedIn)
        }
        if let shown = consented?.form[AuthorizationSteps.shownName]?.split(separator: " ").map(String.init) {
            terms.scopes = terms.scopes.filter(shown.contains)
        }
        if AuthorizationSteps.needsConsent(asked), consented == nil {
            guard !asked.prompt.none else {
                return try self.reject(OAuthError(.consentRequired, "the user has to be asked"), to: asked.target)
            }
            return self.consentPage(form, asked, session, request)
        }
        guard let ticket = request.ticket else { return try step.signIn() }
        if let signedIn, try await !self.runtime.sessions.spend(signedIn.once),
            !AuthorizationSteps.isRecent(session, for: asked, now: request.now)
        {
            return try step.signIn(otherAccount: asked.prompt.selectAccount)
        }
        self.runtime.services.metrics.clientRequest(asked.client.metricLabel, endpoint: "authorize", result: "ok")
        let code = AuthorizationCode(for: terms, ticket: ticket, random: self.runtime.services.random, now: request.now)
        return Rendering.redirect(to: asked.target.url(code: code.sealed(by: self.runtime.sealer)))
    }

    /// The request of a client; of one that is named by a URL, by its metadata document.
    private func asked(
        _ form: Form,
        _ request: EndpointRequest,
        _ issuer: Issuer
    ) async throws(Failure) -> ParsedAuthorizationRequest {
        let form = AuthorizationSteps.original(form)
        guard case .value(let id) = form.single("client_id"), issuer.clients[id] == nil,
            let url = issuer.metadataURL(of: id),
            let documents = self.runtime.clients.documents
        else { return issuer.authorizationRequest(in: form, by: self.browser(of: request), now: request.now) }
        let document = try await documents.document(at: url, now: request.now) { () async throws(Failure) in
            let limits = self.runtime.limits.signIns
            try self.runtime.services.openClients.admit(request.client, within: limits)
            let limit = SharedLimit.documents(limits.perMinute)
            guard await self.runtime.sessions.count(limit, of: request.network, now: request.now) else {
                let detail = "over \(limits.perMinute) new clients a minute from one address, at all gateways together"
                throw Failure(.signInTooOften, detail, retryAfter: .seconds(60))
            }
        }
        do throws(OAuthError) {
            return issuer.authorizationRequest(form, of: try issuer.client(at: url, document))
        } catch {
            return .untrusted("the metadata document of the client at \(url): \(error.detail)")
        }
    }

    /// The page that names the client, where the browser goes, and who the user is.
    private func consentPage(
        _ form: Form,
        _ asked: AuthorizationRequest,
        _ session: Session,
        _ request: EndpointRequest
    ) -> Response {
        let shown = AuthorizationSteps.shown(asked.terms.scopes, in: form)
        let consent = Consent(.client, to: shown, of: session, now: request.now)
        let html = self.runtime.rendering.pages.consent(
            ConsentView(
                client: asked.client.name,
                apps: self.runtime.routes.permissions(of: asked.terms.audiences, asked.terms.scopes, by: asked.client),
                action: self.runtime.address(.authorize),
                field: (Consent.field, consent.sealed(by: self.runtime.sealer)),
                choice: Consent.choice
            ),
            target: asked.target.place,
            user: self.runtime.user(of: session),
            in: self.language(of: request)
        )
        // Chromium applies `form-action` to the redirect after the form as well.
        return Rendering.page(200, html, formTargets: "'self' \(asked.target.formTarget)")
    }

    /// What the user chose on that page.
    private func respond(
        toChoice text: String,
        _ form: Form,
        _ request: EndpointRequest,
        _ issuer: Issuer
    ) async throws(Failure) -> Response {
        guard request.comesFromOurPages else {
            throw Failure(.requestCrossSite, "another site posted to authorize")
        }
        guard let consent = Consent(.client, sealed: text, by: self.runtime.sealer, now: request.now) else {
            throw Failure(.clientRequest, "the consent page is over ten minutes old, or not of this gateway")
        }
        guard let session = try await self.session(of: request), consent.isOf(session) else {
            // Another user is signed in now, who has not been asked.
            return Rendering.redirect(
                to: "\(self.runtime.address(.authorize))?\(consent.form.encoded)"
            )
        }
        guard form[Consent.choice.name] == Consent.choice.allow else {
            switch try await self.asked(consent.form, request, issuer) {
            case .untrusted(let why): throw Failure(.clientRequest, why)
            case .error(let error, let target): return try self.reject(error, to: target)
            case .valid(let asked):
                let error = OAuthError(.accessDenied, "the user did not consent")
                return try self.reject(error, to: asked.target, hasConsent: true)
            }
        }
        return try await self.authorize(consent.form, request, issuer, consented: consent)
    }

    /// Sends the browser back to the client with an error.
    ///
    /// A client without an entry in the file has chosen its redirect URI itself: until the user has consented, only the user learns
    /// of the error (RFC 9700 §4.11.2).
    func reject(
        _ error: OAuthError,
        to target: AuthorizationTarget,
        because failure: Failure? = nil,
        hasConsent: Bool = false
    ) throws(Failure) -> Response {
        let label = target.isOpen ? ClientSettings.openLabel : target.client
        self.runtime.services.metrics.clientRequest(label, endpoint: "authorize", result: error.code.rawValue)
        guard !target.isOpen || hasConsent else {
            throw failure ?? Failure(.clientRequest, error.detail(for: target.client, isOpen: true))
        }
        let detail = error.detail(for: target.client, isOpen: target.isOpen)
        let failure = failure ?? Failure(.clientRejected, detail)
        let incident = self.runtime.rendering.logged(failure)
        var response = Rendering.redirect(to: target.url(error))
        response.rejection = Response.Rejection(failure.reason, incident: incident)
        return response
    }
}

/// Where the browser goes if the user has to sign in first.
private struct NextStep {
    let endpoints: Endpoints
    let request: EndpointRequest
    let asked: AuthorizationRequest
    let form: Form

    /// The sign-in that a rule asks for, unless the user has just come from one: another would lead here again.
    func signIn(after signedIn: RequestedSignIn?) throws(Failure) -> Response {
        guard signedIn == nil else {
            return try self.endpoints.reject(AuthorizationSteps.notAuthenticated, to: self.asked.target)
        }
        return try self.signIn(byRule: true)
    }

    func signIn(
        silentlyWith provider: String? = nil,
        otherAccount: Bool = false,
        byRule: Bool = false
    ) throws(Failure) -> Response {
        guard !self.asked.prompt.none else {
            let error = OAuthError(.loginRequired, "the user has to sign in")
            return try self.endpoints.reject(error, to: self.asked.target)
        }
        let runtime = self.endpoints.runtime
        let signIn = RequestedSignIn(
            for: self.form,
            self.asked,
            byRule: byRule,
            random: runtime.services.random,
            now: self.request.now
        )
        let whole = AuthorizationSteps.returnPath(self.form, after: signIn, at: runtime)
        guard let whole, let kept = self.kept(whole) else { return try self.tooLong() }
        if let provider {
            let address = SignInRedirect(runtime: runtime).silentAddress(kept.path, provider: provider)
            return self.redirect(to: address, kept)
        }
        let query = Form([runtime.field(kept.path)] + (otherAccount ? [.selectAccount] : [])).encoded
        let accepted = self.endpoints.accepted(at: whole, for: self.request)
        let named = accepted.first { $0.id == self.asked.provider } ?? (accepted.count == 1 ? accepted.first : nil)
        let next = named.map { "\(runtime.address(.start))/\($0.id)" } ?? runtime.address(.signIn)
        return self.redirect(to: "\(next)?\(query)", kept)
    }

    /// The page that asks for a passkey, and then the same request.
    func passkey() throws(Failure) -> Response {
        guard !self.asked.prompt.none else {
            let error = OAuthError(.interactionRequired, "the user has to use a passkey")
            return try self.endpoints.reject(error, to: self.asked.target)
        }
        let whole = ReturnPath(requested: "\(self.endpoints.runtime.path(.authorize))?\(self.form.encoded)")
        guard let kept = whole.flatMap(self.kept) else { return try self.tooLong() }
        return self.redirect(to: SignInRedirect(runtime: self.endpoints.runtime).passkeyAddress(kept.path), kept)
    }

    /// The request in the form in which it travels; nil if it is too long.
    private func kept(_ path: ReturnPath) -> KeptPath? {
        let kept = self.endpoints.runtime.kept(path, on: self.request.origin, in: self.request.cookies)
        return kept.isWhole ? kept : nil
    }

    private func redirect(to address: String, _ kept: KeptPath) -> Response {
        var response = Rendering.redirect(to: address)
        response.addCookies(kept.cookies)
        return response
    }

    private func tooLong() throws(Failure) -> Response {
        try self.endpoints.reject(OAuthError(.invalidRequest, "the request is too long"), to: self.asked.target)
    }
}

extension AuthorizationTarget {
    /// What the consent page shows of the redirect URI: the host, or the scheme of a native app.
    var place: String { WebURL(self.redirectURI)?.origin.host ?? String(self.redirectURI.prefix { $0 != ":" }) }

    /// The source expression of `form-action` for the redirect URI.
    var formTarget: String {
        if let url = WebURL(self.redirectURI) { return "\(url.origin)" }
        return String(self.redirectURI.prefix { $0 != ":" }) + ":"
    }
}
