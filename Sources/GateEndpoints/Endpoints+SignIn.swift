// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateAppConfiguration
internal import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateOperations
package import GatePages
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions
package import GateTokenEndpoints

extension Endpoints {
    /// The page that offers the accepted providers; with a single one it goes straight there.
    func signIn(_ request: EndpointRequest) -> Response {
        guard self.isOnGatewayHost(request) else {
            return SignInRedirect(runtime: self.runtime).redirect(
                to: request.returnPath,
                on: request.origin,
                route: nil,
                cookies: request.cookies,
                otherAccount: request.wantsOtherAccount
            )
        }
        let kept = self.runtime.kept(request.returnPath, on: request.origin, in: request.cookies)
        var response = self.signIn(request, returningTo: kept.path)
        response.addCookies(kept.cookies)
        return response
    }

    private func signIn(_ request: EndpointRequest, returningTo path: ReturnPath) -> Response {
        let otherAccount = request.wantsOtherAccount
        let accepted = self.accepted(at: request.returnPath, for: request)
        let email = request.query?["email"].flatMap { EmailAddress($0) }
        if let email, let provider = accepted.first(where: { $0.domains.contains(email.domain) }) {
            let hint = Form.Field(Endpoints.hint, email.description)
            let fields = self.startFields(returningTo: path, otherAccount: otherAccount) + [hint]
            return Rendering.redirect(to: self.startAddress(of: provider, fields))
        }
        let buttons = self.buttons(
            for: self.sorted(accepted, for: request),
            returningTo: path,
            otherAccount: otherAccount
        )
        if buttons.count == 1, let only = buttons.first { return Rendering.redirect(to: only.address) }
        let pages = self.runtime.rendering.pages
        let app = self.destination(of: request.returnPath, for: request).map { route in
            (name: route.title, icon: pages.address(ofPicture: route.display.icon))
        }
        let discovery = SignInView.Discovery(
            action: self.runtime.address(.signIn),
            target: self.runtime.field(path).value,
            prompt: otherAccount ? Form.Field.selectAccount : nil,
            unknownEmail: request.query?["email"].map { email?.description ?? String($0.prefix(Endpoints.maxHint)) }
        )
        let hasDomains = accepted.contains { !$0.domains.isEmpty }
        let view = SignInView(
            buttons: buttons,
            app: app,
            discovery: hasDomains ? discovery : nil,
            hasDroppedLink: request.refusedPath != nil
        )
        return Rendering.page(200, pages.signIn(view, in: self.language(of: request)))
    }

    /// The field with the account that the provider should offer, OpenID Connect Core §3.1.2.1.
    static let hint = "login_hint"

    /// The providers with the one that this browser used last in front, and those that do not respond at the end.
    private func sorted(_ providers: [RuntimeProvider], for request: EndpointRequest) -> [ListedProvider] {
        let cookie = request.value(of: .lastProvider(at: self.runtime.publicOrigin))
        let used = cookie.flatMap { Base64URL.decode(String(decoding: $0, as: UTF8.self)) }
        let name = used.map { String(decoding: $0, as: UTF8.self) }
        // Asked once: it changes meanwhile.
        let listed = providers.map { ListedProvider(provider: $0, isFailing: $0.isFailing()) }
        let first = listed.filter { $0.provider.id == name } + listed.filter { $0.provider.id != name }
        return first.filter { !$0.isFailing } + first.filter(\.isFailing)
    }

    private func startFields(returningTo path: ReturnPath, otherAccount: Bool) -> [Form.Field] {
        [self.runtime.field(path)] + (otherAccount ? [.selectAccount] : [])
    }

    private func startAddress(of provider: RuntimeProvider, _ fields: [Form.Field]) -> String {
        "\(self.runtime.address(.start))/\(provider.id)?\(Form(fields).encoded)"
    }

    private func buttons(
        for providers: [ListedProvider],
        returningTo path: ReturnPath,
        otherAccount: Bool = false
    ) -> [PageButton] {
        let fields = self.startFields(returningTo: path, otherAccount: otherAccount)
        return providers.map { listed in
            PageButton(
                address: self.startAddress(of: listed.provider, fields),
                label: listed.provider.buttonLabel,
                picture: self.runtime.rendering.pages.address(ofPicture: listed.provider.icon),
                isUnavailable: listed.isFailing
            )
        }
    }

    /// The other providers to sign in with, if the provider has failed, and the `Set-Cookie` values that they need; none otherwise.
    package func otherProviders(
        for request: EndpointRequest,
        after failure: Failure
    ) -> (buttons: [PageButton], cookies: [String]) {
        let parts = self.segments(of: request)
        let isBusy = failure.kind == .overloaded && failure.reason.entry.section == .provider
        guard failure.kind == .providerFailed || isBusy, parts.count == 2 else { return ([], []) }
        let attempt =
            parts[0] == EndpointPath.callback.rawValue
            ? request.callbackParameters.flatMap { self.attempt(named: $0, in: request) } : nil
        let path = attempt?.returnPath ?? request.returnPath
        let accepted = self.accepted(at: path, for: request)
        let others = accepted.filter { $0.id != parts[1] }
        let kept = self.runtime.kept(path, on: request.origin, in: request.cookies)
        return (self.buttons(for: self.sorted(others, for: request), returningTo: kept.path), kept.cookies)
    }

    /// Begins an attempt with a provider and sends the browser there.
    func start(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        guard !id.isEmpty, self.isOnGatewayHost(request) else { return self.signIn(request) }
        guard let provider = self.runtime.provider(id) else {
            throw Failure(.providerNone, "no provider has this name")
        }
        try self.requireNavigation(request)
        let (signIns, limits) = (self.runtime.signIns, self.runtime.limits.signIns)
        let confirmed = request.wantsSilence ? await self.session(of: request, with: id) : nil
        let browser = self.newestAttempt(of: request)?.browser
        if let confirmed {
            try signIns.confirm(confirmed.familyKey, within: limits)
        } else {
            try signIns.start(by: request.client, browser: browser, within: limits)
        }
        try signIns.acquire(within: limits)
        defer { signIns.release() }
        guard let party = provider.relyingParty, let reach = provider.reach else {
            return try self.start(request, with: provider, browser: browser)
        }
        guard provider.waiting.acquire() else { throw provider.busy }
        defer { provider.waiting.release() }
        do throws(Failure) {
            try await reach.admit(party)
        } catch {
            self.runtime.metrics.signIn(provider: id, result: error.code)
            throw error
        }
        let isCrossSite = party.definition.responseMode == .formPost
        let kept = self.runtime.kept(request.returnPath, on: request.origin, in: request.cookies)
        let (location, attempt): (String, Attempt)
        do throws(Failure) {
            // The session that this sign-in replaces: its cookie does not come along with a form from the provider's site.
            (location, attempt) = try await party.authorization(
                returnPath: kept.path,
                replacedTicket: isCrossSite ? request.ticket.flatMap { $0.isWholeSession ? nil : $0.text } : nil,
                offersOtherAccounts: request.wantsOtherAccount,
                silent: confirmed?.profile,
                demand: self.demand(of: request.returnPath, for: request),
                loginHint: self.loginHint(of: request, for: party),
                browser: browser
            )
        } catch {
            if confirmed != nil { self.silentSignInFailed(with: id, error) }
            throw error
        }
        // Seldom has to wait, so seldom has a task that outlives this request.
        Task.immediate { await reach.warm(party) }
        guard let cookie = self.cookie(of: attempt.id, isCrossSite: isCrossSite) else {
            throw Failure(.openIDAttemptID, "an attempt without a proper id")
        }
        var response = Rendering.redirect(to: location)
        response.addCookies(kept.cookies)
        return self.response(response, beginning: attempt, cookie, request)
    }

    /// A response that gives the browser the cookie of an attempt, and takes the surplus ones.
    func response(
        _ response: Response,
        beginning attempt: Attempt,
        _ cookie: GatewayCookie,
        _ request: EndpointRequest
    ) -> Response {
        var response = response
        for old in GatewayCookie.surplusAttempts(in: request.cookies, at: self.runtime.publicOrigin) {
            if let dropped = self.attempt(in: old, of: request) {
                response.addCookies(self.keptReturnPath(of: dropped, for: request))
            }
            response.addCookie(old.deletion)
        }
        response.addCookie(cookie.setting(attempt.sealed(by: self.runtime.sealer, cookie: cookie.name)))
        return response
    }

    /// Ends an attempt: the user is known and authorized for the app, and gets a new session.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - id: The provider that the path names.
    ///   - response: What the provider returned by way of the browser.
    ///   - accepted: Called when the response is known to belong to an attempt of the browser, before the provider is asked.
    /// - Returns: The response.
    /// - Throws: If the sign-in failed.
    func callback(
        _ request: EndpointRequest,
        provider id: String,
        response: Form?,
        accepted: () -> Void
    ) async throws(Failure) -> Response {
        guard let provider = self.runtime.provider(id), let party = provider.relyingParty,
            self.isOnGatewayHost(request)
        else {
            throw Failure(.providerNone, "a callback for an unknown provider")
        }
        guard let response else { throw Failure(.openIDCallback, "the callback is not a form") }
        guard let attempt = self.attempt(named: response, in: request) else {
            let path = self.returnPath(ofDropped: response, request)
            var redirect = try await self.withoutAttempt(request, to: path ?? .root)
            if path != nil, let state = response["state"] {
                redirect.addCookies(self.returnCookie(request).deletions(of: state, in: request.cookies))
            }
            return redirect
        }
        guard provider.waiting.acquire() else { throw provider.busy }
        defer { provider.waiting.release() }
        let signIn: GateOpenID.SignIn
        do throws(Failure) {
            signIn = try await party.signIn(
                callback: response,
                attempt: attempt,
                looksUpGroups: self.runtime.needsGroups(of: id),
                claim: { () throws(Failure) in try await self.claim(attempt) },
                accepted: accepted
            )
        } catch {
            switch error.reason {
            case .providerInteractionRequired, .providerDenied, .providerRefused:
                // Without a page the provider could not sign the user in, so now with one.
                guard attempt.isSilent else { break }
                return self.withPage(attempt)
            case .openIDAttemptSpent: return try await self.withoutAttempt(request, to: attempt.returnPath)
            case .openIDAttemptExpired:
                if try await self.session(of: request) != nil {
                    return self.response(ending: attempt)
                }
            default: break
            }
            self.runtime.metrics.signIn(provider: id, result: error.code)
            if attempt.isSilent { self.silentSignInFailed(with: id, error) }
            throw error
        }
        if attempt.isSilent {
            self.runtime.rechecks.succeeded(id)
            guard await self.session(of: request, with: id)?.profile.user == signIn.profile.user else {
                // Another user is signed in at the provider: this one must see it.
                return self.withPage(attempt)
            }
        }
        return try await self.enter(self.runtime.kept(signIn), attempt: attempt, request: request)
    }

    /// Uses an attempt up where several gateways may get its callback; one gateway alone remembers it by itself.
    private func claim(_ attempt: Attempt) async throws(Failure) {
        guard self.runtime.sharesStore else { return }
        guard try await self.runtime.sessions.spend(SingleUse("callback", attempt.id, until: attempt.expiry)) else {
            throw Failure(.openIDAttemptSpent, "this callback was used before, maybe at another gateway")
        }
    }

    /// Counts a provider that is down, so that sessions which wait for it are served without being led there.
    private func silentSignInFailed(with provider: String, _ failure: Failure) {
        if RelyingParty.isOutage(failure) { _ = self.runtime.rechecks.failed(provider, failure) }
    }

    /// The browser's session, if it is one with this provider.
    private func session(of request: EndpointRequest, with provider: String) async -> Session? {
        let session = (try? await self.session(of: request)) ?? nil
        return session?.provider == provider ? session : nil
    }

    /// Leads from a silent attempt that failed to a usual one.
    private func withPage(_ attempt: Attempt) -> Response {
        let query = Form([self.runtime.field(attempt.returnPath)]).encoded
        var response = Rendering.redirect(
            to: "\(self.runtime.address(.start))/\(attempt.provider)?\(query)"
        )
        if let cookie = self.cookie(of: attempt.id, isCrossSite: true) { response.addCookie(cookie.deletion) }
        return response
    }

    /// Gives the user of a sign-in a new session, if the policy of the app that it is for permits.
    func enter(
        _ signIn: GateSessions.SignIn,
        attempt: Attempt,
        request: EndpointRequest
    ) async throws(Failure) -> Response {
        var profile = signIn.profile
        self.runtime.keepGroups(of: &profile)
        let demand = attempt.demand
        let once = SingleUse("attempt", attempt.id, until: attempt.expiry)
        let spent = Failure(.openIDAttemptSpent, "this callback was used before")
        let connected = ConnectedEndpoint(runtime: self.runtime)
        if let family = connected.wantedSignIn(of: attempt.returnPath, now: request.now) {
            guard try await self.runtime.sessions.spend(once) else { throw spent }
            let ticket = request.ticket ?? attempt.replacedTicket.flatMap { Ticket(Array($0.utf8)) }
            var question = try await connected.question(about: profile, to: family, ticket, request)
            if let cookie = self.cookie(of: attempt.id, isCrossSite: true) { question.addCookie(cookie.deletion) }
            return question
        }
        var known = signIn
        known.profile = profile
        known.askedBy = demand?.mark
        known = try await self.steps.completed(known, request)
        profile = known.profile
        let destination = self.destination(of: attempt.returnPath, for: request)
        var isConfirmed = false
        var cookies: [String] = []
        if attempt.isSilent, let ticket = request.ticket {
            let sessions = self.runtime.sessions
            switch try await sessions.confirm(ticket, with: known, now: request.now, spending: once) {
            case .confirmed: isConfirmed = true
            case .reissued(let issued): (isConfirmed, cookies) = (true, self.cookies(of: issued, for: request))
            case .spent: throw spent
            case .otherSession: break
            }
        }
        if isConfirmed { self.runtime.metrics.rechecked(profile.provider, result: "confirmed") }
        if let demand, !demand.isOfClient, let time = profile.authTime,
            request.now.since(time) > demand.maxAge + RequestedSignIn.clockLeeway
        {
            // The provider was asked for an authentication at most that old: another redirect would lead here again.
            let age = request.now.since(time).wholeSeconds
            let detail = "\(profile.provider) reports an authentication \(age) s ago after max_age"
            throw Failure(.policyAuthenticationStale, "\(detail)=\(demand.maxAge.wholeSeconds)")
        }
        if let destination, case .denied(let denial)? = destination.route.decision(for: profile) {
            // The session of other apps goes on: any link could lead the user to this one.
            if !isConfirmed {
                guard try await self.runtime.sessions.spend(once) else { throw spent }
            }
            let failure = denial.failure(of: profile, app: destination.name)
            self.runtime.metrics.signIn(provider: profile.provider, result: failure.code)
            var context = PageContext()
            context.user = self.runtime.user(of: profile, isSignedIn: false)
            (context.app, context.title) = (destination.name, destination.title)
            context.provider = profile.provider
            context.userKey = profile.user
            context.rule = Decision.denied(denial).place
            context.place = self.place(of: attempt.returnPath)
            var page = self.runtime.rendering.response(to: failure, for: request.clientKind, context: context)
            page.addCookies(cookies)
            return page
        }
        guard !isConfirmed else {
            var response = self.response(ending: attempt)
            response.addCookies(cookies)
            return response
        }
        let host = self.runtime.publicOrigin.host
        let old = request.ticket ?? attempt.replacedTicket.flatMap { Ticket(Array($0.utf8)) }
        guard let issued = try await self.steps.issue(known, spending: once, replacing: old, request) else {
            throw spent
        }
        var response = self.response(ending: attempt)
        response.addCookies(self.cookies(of: issued, for: request))
        let whole = self.whole(attempt.returnPath, on: host, for: request)
        let confirmation = SignedInPage.cookie(
            after: whole,
            demand,
            issued.session,
            runtime: self.runtime,
            now: request.now
        )
        if let confirmation { response.addCookie(confirmation) }
        if self.runtime.providers.count > 1 {
            let cookie = GatewayCookie.lastProvider(at: self.runtime.publicOrigin)
            response.addCookie(cookie.setting(Base64URL.encode(Array(profile.provider.utf8))))
        }
        return response
    }

    /// The `Set-Cookie` values of a session on the gateway's host.
    private func cookies(of issued: IssuedSession, for request: EndpointRequest) -> [String] {
        let origin = self.runtime.publicOrigin
        return self.runtime.cookies(of: issued, at: origin, replacing: request.cookies, now: request.now)
    }

    /// Sends the browser on to where the user wanted to go.
    private func response(ending attempt: Attempt) -> Response {
        var response = self.redirect(to: attempt.returnPath)
        if let cookie = self.cookie(of: attempt.id, isCrossSite: true) { response.addCookie(cookie.deletion) }
        return response
    }

    /// A callback whose attempt is lost or spent: a user with a session goes on, any other has to start again.
    func withoutAttempt(_ request: EndpointRequest, to path: ReturnPath) async throws(Failure) -> Response {
        guard try await self.session(of: request) == nil else {
            return self.redirect(to: path)
        }
        throw Failure(.openIDAttemptLost, "no attempt of this browser belongs to the callback")
    }

    /// Sends the browser on to where the return path of an attempt leads.
    func redirect(to path: ReturnPath) -> Response {
        let place = self.place(of: path)
        return Rendering.redirect(to: "\(place.origin)\(place.path)")
    }

    /// The attempt that the callback's `state` names, if this browser holds it.
    func attempt(named response: Form, in request: EndpointRequest) -> Attempt? {
        guard let state = response["state"], let id = Attempt.id(inState: state), let cookie = self.cookie(of: id)
        else {
            return nil
        }
        return self.attempt(in: cookie, of: request)
    }

    /// The attempt that a browser has begun last, of those that are open.
    private func newestAttempt(of request: EndpointRequest) -> Attempt? {
        let origin = self.runtime.publicOrigin
        let prefix = GatewayCookie.attemptPrefix(at: origin)
        // RFC 6265 §5.4: the browser sends older cookies first.
        let tag = request.cookies.names(withPrefix: prefix).last?.dropFirst(prefix.count)
        let cookie = tag.flatMap { GatewayCookie.attempt(String($0), at: origin, isCrossSite: true) }
        return cookie.flatMap { self.attempt(in: $0, of: request) }
    }

    private func attempt(in cookie: GatewayCookie, of request: EndpointRequest) -> Attempt? {
        guard let value = request.value(of: cookie) else { return nil }
        return Attempt(
            sealed: String(decoding: value, as: UTF8.self),
            by: self.runtime.sealer,
            cookie: cookie.name
        )
    }

    /// Keeps the return path of an attempt whose cookie is dropped because the browser has too many, so that its tab ends
    /// where the user wanted to go once another tab has signed in.
    ///
    /// It is bound to the whole `state`, so that the callback of no other attempt leads there.
    private func keptReturnPath(of attempt: Attempt, for request: EndpointRequest) -> [String] {
        guard attempt.returnPath != .root, request.now < attempt.expiry else { return [] }
        return self.returnCookie(request)
            .settings(attempt.returnPath, as: attempt.state, replacing: request.cookies, now: request.now) ?? []
    }

    /// The return path of an attempt whose cookie was dropped; nil if there is no such attempt, or not any more.
    func returnPath(ofDropped callback: Form, _ request: EndpointRequest) -> ReturnPath? {
        guard let state = callback["state"], Attempt.id(inState: state) != nil else { return nil }
        return self.returnPath(ofCookie: state, request)
    }

    /// The cookie of an attempt, named after the first bytes of its id.
    func cookie(of attempt: String, isCrossSite: Bool = false) -> GatewayCookie? {
        guard let bytes = Base64URL.decode(attempt) else { return nil }
        return GatewayCookie.attempt(
            GatewayCookie.tag(of: bytes),
            at: self.runtime.publicOrigin,
            isCrossSite: isCrossSite
        )
    }
}

/// A provider of the sign-in page.
private struct ListedProvider {
    let provider: RuntimeProvider
    let isFailing: Bool
}
