// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions

// The life of a sign-in, from the callback of its provider to the session of the browser: this is the whole order.
// Limits and counts are around it (`SignInSteps`); the steps at the side of the provider are in
// `GateOpenID/SignIn/RelyingParty+Callback.swift`.
extension Endpoints {
    /// Ends an attempt with a provider: attempt, tokens, user; ``enter(_:_:_:)`` goes on.
    ///
    /// - Parameters:
    ///   - request: The request, with what the provider returned by way of the browser.
    ///   - id: The provider that the path names.
    ///   - guess: Released when the callback is known to belong to an attempt of the browser, before the provider is asked.
    /// - Returns: The response.
    /// - Throws: The first check that failed.
    func callback(
        _ request: EndpointRequest,
        provider id: String,
        _ guess: SignInSteps.Guess
    ) async throws(Failure) -> Response {
        guard let provider = self.runtime.providers[id], let party = provider.relyingParty,
            self.isOnGatewayHost(request)
        else { throw Failure(.providerNone, "a callback for an unknown provider") }
        guard let callback = request.callbackParameters else {
            throw Failure(.openIDCallback, "the callback is not a form")
        }
        guard let attempt = self.attempts(of: request).attempt(named: callback) else {
            return try await self.response(toLost: callback, request)
        }
        guard provider.waiting.acquire() else { throw provider.busy }
        defer { provider.waiting.release() }
        let signIn: SignIn
        do throws(Failure) {
            // Form, provider, age and `state` of the attempt; its first use at this gateway.
            let response = try party.accept(callback, of: attempt)
            guess.release()
            // `iss`, the provider's keys, a slot among the sign-ins that call it.
            let exchange = try await party.open(response)
            defer { party.close(exchange) }
            // The first use at all gateways.
            try await self.claim(attempt, at: party)
            // The provider's error, or tokens for the code: PKCE, ID token, nonce.
            let tokens = try await party.redeem(exchange)
            // Userinfo, API calls, groups, profile.
            signIn = try await party.user(of: tokens, looksUpGroups: self.runtime.providers.needsGroups(of: id)).signIn
        } catch {
            return try await self.response(to: error, of: id, attempt, request)
        }
        if attempt.isSilent {
            self.runtime.services.rechecks.succeeded(id)
            // Another user is signed in at the provider: this one must see it.
            guard await self.isOfSession(signIn, request) else { return self.withPage(attempt, request) }
        }
        return try await self.enter(signIn, attempt, request)
    }

    /// Gives a user who is known a session: admission, session.
    ///
    /// Sign-ins with a password or a passkey come here as well.
    ///
    /// - Parameters:
    ///   - user: The sign-in as the provider, or a local account, began it.
    ///   - attempt: Its attempt, which is spent with what becomes of it.
    ///   - request: The request.
    /// - Returns: The response, with the cookies of the session if the user is admitted.
    /// - Throws: `openid.attempt_spent`, `account.disabled`, `policy.authentication_stale`, or if the store is unavailable.
    func enter(_ user: SignIn, _ attempt: Attempt, _ request: EndpointRequest) async throws(Failure) -> Response {
        var signIn = user
        self.runtime.dropUnneeded(of: &signIn)
        // An account that is to be connected gets no session.
        if let question = try await self.question(about: signIn.profile, attempt, request) { return question }
        signIn.askedBy = attempt.demand?.mark
        // The connected account, unless it is disabled; device and time.
        try await self.steps.complete(&signIn, request)
        // A silent sign-in renews the session that the browser has.
        let confirmed = try await self.confirm(signIn, attempt, request)
        // `max_age`, then the rules of the app.
        try self.checkAuthentication(of: signIn.profile, attempt, request)
        if let denial = try await self.denial(of: signIn.profile, attempt, confirmed, request) { return denial }
        if let confirmed { return self.response(ending: attempt, confirmed, request) }
        // The limit of sign-ins, the session in the store, the end of the one that it replaces; audit line and metrics.
        return self.response(ending: attempt, try await self.begin(signIn, attempt, request), request)
    }
}

// MARK: Attempt

extension Endpoints {
    /// A callback whose attempt the browser does not have, or not any more.
    private func response(toLost callback: Form, _ request: EndpointRequest) async throws(Failure) -> Response {
        let dropped = self.attempts(of: request).returnPath(ofDropped: callback)
        var redirect = try await self.withoutAttempt(request, to: dropped?.path ?? .root)
        redirect.addCookies(dropped?.deletions ?? [])
        return redirect
    }

    /// A callback whose attempt is lost or spent: a user with a session goes on, any other has to start again.
    func withoutAttempt(_ request: EndpointRequest, to path: ReturnPath) async throws(Failure) -> Response {
        guard try await self.session(of: request) == nil else {
            return self.redirect(to: path)
        }
        throw Failure(.openIDAttemptLost, "no attempt of this browser belongs to the callback")
    }

    /// Uses an attempt up where several gateways may get its callback; one gateway alone remembers it by itself.
    private func claim(_ attempt: Attempt, at party: RelyingParty) async throws(Failure) {
        guard self.runtime.sharesStore else { return }
        let isFirst: Bool
        do throws(Failure) {
            isFirst = try await self.runtime.sessions.spend(
                SingleUse("callback", attempt.id, until: attempt.expiry)
            )
        } catch {
            party.reopen(attempt)
            throw error
        }
        guard isFirst else {
            throw Failure(.openIDAttemptSpent, "this callback was used before, maybe at another gateway")
        }
    }

    /// The response to a sign-in that failed at the side of the provider, if the user can go on nevertheless.
    private func response(
        to failure: Failure,
        of provider: String,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response {
        switch failure.reason {
        case .providerInteractionRequired, .providerDenied, .providerRefused:
            // Without a page the provider could not sign the user in, so now with one.
            guard attempt.isSilent else { break }
            return self.withPage(attempt, request)
        case .openIDAttemptSpent: return try await self.withoutAttempt(request, to: attempt.returnPath)
        case .openIDAttemptExpired:
            if try await self.session(of: request) != nil { return self.response(ending: attempt, [], request) }
        default: break
        }
        self.runtime.services.metrics.signIn(provider: provider, result: failure.code)
        if attempt.isSilent { self.silentSignInFailed(with: provider, failure) }
        throw failure
    }

    /// Leads from a silent attempt that failed to a usual one.
    private func withPage(_ attempt: Attempt, _ request: EndpointRequest) -> Response {
        let query = Form([self.runtime.field(attempt.returnPath)]).encoded
        var redirect = Rendering.redirect(to: "\(self.runtime.address(.start))/\(attempt.provider)?\(query)")
        self.attempts(of: request).end(attempt, in: &redirect)
        return redirect
    }
}

// MARK: Admission

extension Endpoints {
    /// Whether a sign-in is of the user whose session the browser has.
    private func isOfSession(_ signIn: SignIn, _ request: EndpointRequest) async -> Bool {
        await self.session(of: request, with: signIn.profile.provider)?.profile.user == signIn.profile.user
    }

    /// The question whether to connect the account with that of the session on whose page the attempt began; nil for
    /// any other attempt.
    private func question(
        about profile: Profile,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response? {
        let connected = ConnectedEndpoint(runtime: self.runtime)
        guard let family = connected.wantedSignIn(of: attempt.returnPath, now: request.now) else { return nil }
        try await self.spend(attempt)
        var question = try await connected.question(about: profile, to: family, attempt.replaced(by: request), request)
        self.attempts(of: request).end(attempt, in: &question)
        return question
    }

    /// Stores a silent sign-in in the session that the browser has.
    ///
    /// - Returns: The `Set-Cookie` values of that session; nil if the sign-in begins another.
    private func confirm(
        _ signIn: SignIn,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) async throws(Failure) -> [String]? {
        guard attempt.isSilent, let ticket = request.ticket else { return nil }
        let (sessions, once) = (self.runtime.sessions, attempt.once)
        let cookies: [String]
        switch try await sessions.confirm(ticket, with: signIn, now: request.now, spending: once) {
        case .confirmed: cookies = []
        case .reissued(let issued): cookies = self.cookies(of: issued, for: request)
        case .spent: throw Endpoints.spent
        case .otherSession: return nil
        }
        self.runtime.services.metrics.rechecked(signIn.profile.provider, result: "confirmed")
        return cookies
    }

    /// Rejects an authentication that is older than what a rule demanded when the sign-in began.
    ///
    /// The provider was asked for one at most that old: another redirect would lead here again. A client judges by
    /// itself.
    private func checkAuthentication(
        of profile: Profile,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) throws(Failure) {
        guard let demand = attempt.demand, !demand.isOfClient, let time = profile.authTime,
            request.now.since(time) > demand.maxAge + RequestedSignIn.clockLeeway
        else { return }
        let age = request.now.since(time).wholeSeconds
        let detail = "\(profile.provider) reports an authentication \(age) s ago after max_age"
        throw Failure(.policyAuthenticationStale, "\(detail)=\(demand.maxAge.wholeSeconds)")
    }

    /// The page for a user whom the rules of the app do not admit; nil for any other.
    ///
    /// A session that the browser has for other apps goes on: any link could lead the user to this one.
    private func denial(
        of profile: Profile,
        _ attempt: Attempt,
        _ confirmed: [String]?,
        _ request: EndpointRequest
    ) async throws(Failure) -> Response? {
        guard let destination = self.destination(of: attempt.returnPath, for: request),
            case .denied(let denial)? = destination.route.decision(for: profile)
        else { return nil }
        if confirmed == nil { try await self.spend(attempt) }
        let failure = denial.failure(of: profile, app: destination.name)
        self.runtime.services.metrics.signIn(provider: profile.provider, result: failure.code)
        var context = PageContext()
        context.user = self.runtime.user(of: profile, isSignedIn: false)
        (context.app, context.title) = (destination.name, destination.title)
        context.provider = profile.provider
        context.userKey = profile.user
        context.rule = Decision.denied(denial).place
        context.place = self.place(of: attempt.returnPath)
        var page = self.runtime.rendering.response(to: failure, for: request.clientKind, context: context)
        page.addCookies(confirmed ?? [])
        return page
    }

    /// Spends an attempt that begins no session.
    private func spend(_ attempt: Attempt) async throws(Failure) {
        guard try await self.runtime.sessions.spend(attempt.once) else { throw Endpoints.spent }
    }

    private static var spent: Failure { Failure(.openIDAttemptSpent, "this callback was used before") }
}

// MARK: Session

extension Endpoints {
    /// Begins the session of a user who is admitted.
    ///
    /// - Returns: The `Set-Cookie` values: of the session, of the page that it is confirmed for, and of the provider.
    private func begin(
        _ signIn: SignIn,
        _ attempt: Attempt,
        _ request: EndpointRequest
    ) async throws(Failure) -> [String] {
        let old = attempt.replaced(by: request)
        guard let issued = try await self.steps.issue(signIn, spending: attempt.once, replacing: old, request) else {
            throw Endpoints.spent
        }
        let confirmation = SignedInPage.cookie(
            after: self.whole(attempt.returnPath, on: self.runtime.hosts.publicOrigin.host, for: request),
            attempt.demand,
            issued.session,
            runtime: self.runtime,
            now: request.now
        )
        var cookies = self.cookies(of: issued, for: request) + [confirmation].compactMap(\.self)
        if self.runtime.providers.all.count > 1 {
            let cookie = GatewayCookie.lastProvider(at: self.runtime.hosts.publicOrigin)
            cookies.append(cookie.setting(Base64URL.encode(Array(signIn.profile.provider.utf8))))
        }
        return cookies
    }

    /// The `Set-Cookie` values of a session on the gateway's host.
    private func cookies(of issued: IssuedSession, for request: EndpointRequest) -> [String] {
        let origin = self.runtime.hosts.publicOrigin
        return self.runtime.cookies(of: issued, at: origin, replacing: request.cookies, now: request.now)
    }

    /// Sends the browser on to where the user wanted to go.
    private func response(ending attempt: Attempt, _ cookies: [String], _ request: EndpointRequest) -> Response {
        var response = self.redirect(to: attempt.returnPath)
        self.attempts(of: request).end(attempt, in: &response)
        response.addCookies(cookies)
        return response
    }

    /// Sends the browser on to where the return path of an attempt leads.
    func redirect(to path: ReturnPath) -> Response {
        let place = self.place(of: path)
        return Rendering.redirect(to: "\(place.origin)\(place.path)")
    }
}

extension Attempt {
    /// Its use for a session, a denial or a question.
    fileprivate var once: SingleUse { SingleUse("attempt", self.id, until: self.expiry) }

    /// The ticket of the session that its sign-in replaces: that of the browser, or of the attempt for a callback
    /// without cookies.
    fileprivate func replaced(by request: EndpointRequest) -> Ticket? {
        request.ticket ?? self.replacedTicket.flatMap { Ticket(Array($0.utf8)) }
    }
}
