// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GatePages
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire

extension Endpoints {
    /// How many sign-ins the page of an account lists.
    private static let maxSignIns = 50
    /// How many apps it lists to which the access ends.
    private static let maxLimited = 50
    /// The query of the page after a session has ended.
    private static let ended = Form.Field("ended", "1")

    /// What apps get to know of the user, and where the user is signed in; a form ends one of these sessions.
    func account(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard self.isOnGatewayHost(request) else { return Rendering.redirect(to: self.runtime.address(.account)) }
        guard case .session(let session) = try await self.confirmedSession(of: request, mayAskUser: false) else {
            guard request.clientKind.wantsPage else { throw Failure(.sessionNone, "an account without a session") }
            let here = ReturnPath(self.runtime.path(.account)) ?? .root
            return Rendering.redirect(to: SignInRedirect(runtime: self.runtime).signInAddress(here, route: nil))
        }
        guard request.method != .post else { return try await self.endSession(request, of: session) }
        let lifetimes = self.runtime.sessions.lifetimes
        let end = session.created.advanced(by: lifetimes.absolute)
        var view = AccountView(
            sessions: nil,
            ends: AccountView.End(at: session.ends.map { min($0, end) } ?? end, idle: lifetimes.idle),
            hasMore: false,
            hasEnded: request.query?[Endpoints.ended.name] == Endpoints.ended.value,
            actions: (end: self.runtime.address(.account), signOut: self.runtime.address(.signOut))
        )
        view.limitedApps = self.limitedApps(of: session.profile, at: request.now)
        if self.runtime.sessions.keepsSessions {
            let (items, hasMore) = try await self.runtime.sessions.signIns(
                of: session.profile,
                limit: Endpoints.maxSignIns,
                now: request.now
            )
            let sessions = items.map { $0.view(isHere: $0.family == session.familyKey) }
            view.sessions = sessions.filter(\.isHere) + sessions.filter { !$0.isHere }
            view.hasMore = hasMore
        }
        let html = self.runtime.rendering.pages.account(
            view,
            of: session.profile,
            provider: self.runtime.providers.name(of: session.provider),
            apps: self.runtime.address(.apps),
            credentials: self.runtime.providers[session.provider]?.accounts == nil
                ? nil : self.runtime.address(.credentials),
            passkeys: self.runtime.users.passkeys.map { _ in self.runtime.address(.passkeys) },
            connected: self.runtime.users.connections.map { _ in self.runtime.address(.connected) },
            in: self.language(of: request)
        )
        return Rendering.page(
            200,
            html,
            formTargets: self.signOutTargets(of: session, request),
            pictures: session.profile.picture.flatMap(WebURL.init)?.origin
        )
    }

    /// The apps to which the access of a user ends by a date in the rules, that which ends first first.
    private func limitedApps(of profile: Profile, at now: Instant) -> [(app: String, until: Instant)] {
        let found = self.runtime.routes.all.compactMap { route -> (app: String, until: Instant)? in
            guard route.hasDates, case .possible(let until?) = route.route.access(of: profile, at: now) else {
                return nil
            }
            return (route.title, until)
        }
        return Array(found.sorted { $0.until < $1.until }.prefix(Endpoints.maxLimited))
    }

    /// Ends the session that the form names, if it is one of the user's.
    private func endSession(_ request: EndpointRequest, of session: Session) async throws(Failure) -> Response {
        guard request.comesFromOurPages else { throw Failure(.requestCrossSite, "another site posted to account") }
        let sessions = self.runtime.sessions
        guard sessions.keepsSessions else {
            throw Failure(.sessionNotKept, "a session of a user, with 'sessions.store: cookie:'")
        }
        let id = request.form?[SessionForm.session] ?? ""
        let hasEnded = try await uncancelled { () throws(Failure) in
            try await sessions.endSignIn(id, of: session.profile, now: request.now)
        }
        if hasEnded {
            self.runtime.services.metrics.signedOut()
            self.runtime.services.log.signedOut(session.profile.user, session: id, by: "account page")
        }
        let page = self.runtime.address(.account)
        return Rendering.redirect(to: hasEnded ? "\(page)?\(Form([Endpoints.ended]).encoded)" : page)
    }

    /// The language of the pages for a request.
    func language(of request: EndpointRequest) -> PageLanguage {
        self.runtime.rendering.language(for: request.clientKind)
    }
}

extension UserSignIn {
    fileprivate func view(isHere: Bool) -> AccountView.Session {
        AccountView.Session(
            id: self.id,
            device: self.card?.device,
            began: self.created,
            used: self.lastSeen,
            isHere: isHere
        )
    }
}
