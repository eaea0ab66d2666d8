// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GatePolicy
internal import GateProviders
internal import GateSessions

extension Endpoints {
    /// The page that offers the accepted providers; with a single one it goes straight there.
    func signIn(_ request: EndpointRequest) -> Response {
        let path = self.site.carried(request.returnPath, on: request.origin.host, for: request.client)
        let otherAccount = request.wantsOtherAccount
        guard self.isAtGate(request) else {
            return self.site.invitation.redirect(
                to: path,
                on: request.origin,
                route: nil,
                cookies: request.cookies,
                otherAccount: otherAccount
            )
        }
        let destination = self.destination(of: path, now: request.now)
        let accepted = self.site.accepted(by: destination)
        let buttons = self.buttons(for: accepted, returningTo: path, otherAccount: otherAccount)
        if buttons.count == 1, let only = buttons.first { return Rendering.redirect(to: only.address) }
        return Rendering.page(200, Pages.chooser(buttons, app: destination?.name))
    }

    private func buttons(
        for providers: [RuntimeProvider],
        returningTo path: ReturnPath,
        otherAccount: Bool = false
    ) -> [PageButton] {
        let query = Form([Form.Field("rd", path.value)] + (otherAccount ? [EndpointRequest.otherAccount] : [])).encoded
        return providers.map { provider in
            PageButton(
                address: "\(self.site.publicOrigin)/oauth2/start/\(provider.id)?\(query)",
                text: provider.buttonText
            )
        }
    }

    /// The other ways to go where a sign-in was to lead, if it is the provider that failed; none otherwise.
    func otherWays(for request: EndpointRequest, after failure: Failure) -> [PageButton] {
        let parts = request.path.split(separator: "/").map(String.init)
        let isBusy = failure.kind == .overloaded && failure.reason.entry.section == .provider
        guard failure.kind == .providerFailed || isBusy, parts.count == 3 else { return [] }
        let attempt =
            parts[1] == EndpointPath.callback.rawValue
            ? request.callbackAnswer.flatMap { self.attempt(named: $0, in: request) } : nil
        let asked = self.site.carried(request.returnPath, on: request.origin.host, for: request.client)
        let path = attempt?.returnPath ?? asked
        let accepted = self.site.accepted(by: self.destination(of: path, now: request.now))
        return self.buttons(for: accepted.filter { $0.id != parts[2] }, returningTo: path)
    }

    /// Begins an attempt with a provider and sends the browser there.
    func start(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        guard !id.isEmpty, self.isAtGate(request) else { return self.signIn(request) }
        guard let provider = self.site.provider(id) else {
            throw Failure(.providerNone, "no provider has the name that was asked for")
        }
        guard request.isNavigation else {
            throw Failure(.requestNotNavigation, "a sign-in begins when a person opens its address")
        }
        try self.site.signIns.start(by: request.client, within: self.site.limits.signIns)
        try self.site.signIns.enter(within: self.site.limits.signIns)
        defer { self.site.signIns.leave() }
        guard provider.waiting.acquire() else { throw provider.busy }
        defer { provider.waiting.release() }
        do throws(Failure) {
            try await provider.reach.admit(provider.relyingParty)
        } catch {
            self.site.metrics.signIn(provider: id, result: error.code)
            throw error
        }
        let isCrossSite = provider.relyingParty.definition.responseMode == .formPost
        // The session that this sign-in replaces: its cookie does not come along with a form from the provider's site.
        let (location, attempt) = try await provider.relyingParty.authorization(
            returnPath: self.site.carried(request.returnPath, on: request.origin.host, for: request.client),
            replacedTicket: isCrossSite ? request.ticket?.text : nil,
            offersOtherAccounts: request.wantsOtherAccount
        )
        // Seldom has to wait, so seldom has a task that outlives this request.
        Task.immediate { await provider.reach.warm(provider.relyingParty) }
        guard let cookie = self.cookie(of: attempt.id, isCrossSite: isCrossSite) else {
            throw Failure(.openIDAttemptID, "an attempt without a proper id")
        }
        var answer = Rendering.redirect(to: location)
        for old in GatewayCookie.surplusAttempts(in: request.cookies, at: self.site.publicOrigin) {
            answer.addCookie(old.deletion)
        }
        answer.addCookie(cookie.setting(self.site.attempts.seal(attempt, cookie: cookie.name)))
        return answer
    }

    /// Ends an attempt: the person is known, may enter where they were going, and gets a new session.
    func callback(_ request: EndpointRequest, provider id: String, answer: Form?) async throws(Failure) -> Response {
        guard let provider = self.site.provider(id), self.isAtGate(request) else {
            throw Failure(.providerNone, "a callback for a provider that there is not")
        }
        guard let answer else { throw Failure(.openIDCallback, "the callback is no form") }
        guard let attempt = self.attempt(named: answer, in: request) else {
            return try await self.withoutAttempt(request, to: .root)
        }
        guard provider.waiting.acquire() else { throw provider.busy }
        defer { provider.waiting.release() }
        let signIn: GateOpenID.SignIn
        do throws(Failure) {
            signIn = try await provider.relyingParty.signIn(
                callback: answer,
                attempt: attempt,
                looksUpGroups: self.site.needsGroups(of: id)
            )
        } catch {
            switch error.reason {
            case .openIDAttemptSpent: return try await self.withoutAttempt(request, to: attempt.returnPath)
            case .openIDAttemptExpired:
                if try await self.session(of: request) != nil {
                    return Rendering.redirect(to: "\(self.site.publicOrigin)\(attempt.returnPath)")
                }
            default: break
            }
            self.site.metrics.signIn(provider: id, result: error.code)
            throw error
        }
        return try await self.enter(signIn, attempt: attempt, request: request)
    }

    private func enter(
        _ signIn: GateOpenID.SignIn,
        attempt: Attempt,
        request: EndpointRequest
    ) async throws(Failure) -> Response {
        var profile = signIn.profile
        self.site.keepGroups(of: &profile)
        let once = SingleUse("attempt", attempt.id, until: attempt.expiry)
        let spent = Failure(.openIDAttemptSpent, "this callback was used before")
        let destination = self.destination(of: attempt.returnPath, now: request.now)
        if let destination, case .denied(let refusal) = destination.route.decision(for: profile) {
            guard try await self.site.sessions.spend(once) else { throw spent }
            let failure = refusal.failure(of: profile, app: destination.name)
            self.site.metrics.signIn(provider: profile.provider, result: failure.code)
            var context = PageContext()
            context.user = self.site.user(of: profile, isSignedIn: false)
            context.app = destination.name
            context.provider = profile.provider
            context.place = PageContext.Place(origin: self.site.publicOrigin, path: attempt.returnPath)
            return self.site.rendering.answer(to: failure, for: request.visitor, context: context)
        }
        var known = GateSessions.SignIn(profile: profile)
        known.idToken = signIn.idToken.map { Secret(text: $0) }
        known.endSession = signIn.endSessionEndpoint.map { "\($0)" }
        let host = self.site.publicOrigin.host
        guard
            let issued = try await self.site.sessions.issue(known, host: host, now: request.now, spending: once)
        else { throw spent }
        let replaced = attempt.replacedTicket.flatMap { Ticket(Array($0.utf8)) }
        if let old = request.ticket ?? replaced { _ = try? await self.site.sessions.end(old) }
        self.begun(issued)
        self.site.metrics.signIn(provider: profile.provider, result: "ok")
        self.site.log.signedIn(profile, session: issued.session.id)
        var answer = Rendering.redirect(to: "\(self.site.publicOrigin)\(attempt.returnPath)")
        answer.addCookie(GatewayCookie.session(at: self.site.publicOrigin).setting(issued.ticket.text))
        if let cookie = self.cookie(of: attempt.id, isCrossSite: true) { answer.addCookie(cookie.deletion) }
        return answer
    }

    /// A callback whose attempt is lost or spent: whoever has a session goes on, everybody else is told to start anew.
    private func withoutAttempt(_ request: EndpointRequest, to path: ReturnPath) async throws(Failure) -> Response {
        guard try await self.session(of: request) == nil else {
            return Rendering.redirect(to: "\(self.site.publicOrigin)\(path)")
        }
        throw Failure(.openIDAttemptLost, "no attempt of this browser belongs to the callback")
    }

    /// The attempt that the callback's `state` names, if this browser holds it.
    func attempt(named answer: Form, in request: EndpointRequest) -> Attempt? {
        guard let state = answer["state"], let id = Attempt.id(inState: state), let cookie = self.cookie(of: id) else {
            return nil
        }
        guard case .value(let value) = request.cookies.lookup(cookie.name) else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        return self.site.attempts.open(text, cookie: cookie.name)
    }

    /// The cookie of an attempt, named after the first bytes of its id.
    private func cookie(of attempt: String, isCrossSite: Bool = false) -> GatewayCookie? {
        guard let bytes = Base64URL.decode(attempt) else { return nil }
        let tag = bytes.prefix(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return GatewayCookie.attempt(tag, at: self.site.publicOrigin, isCrossSite: isCrossSite)
    }
}
