// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
package import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateOperations
package import GatePages
internal import GateProviders
internal import GateRuntime
internal import GateSessions

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
        let cookie = request.value(of: .lastProvider(at: self.runtime.hosts.publicOrigin))
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
            ? request.callbackParameters.flatMap { self.attempts(of: request).attempt(named: $0) } : nil
        let path = attempt?.returnPath ?? request.returnPath
        let accepted = self.accepted(at: path, for: request)
        let others = accepted.filter { $0.id != parts[1] }
        let kept = self.runtime.kept(path, on: request.origin, in: request.cookies)
        return (self.buttons(for: self.sorted(others, for: request), returningTo: kept.path), kept.cookies)
    }

    /// Begins an attempt with a provider and sends the browser there.
    func start(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        guard !id.isEmpty, self.isOnGatewayHost(request) else { return self.signIn(request) }
        guard let provider = self.runtime.providers[id] else {
            throw Failure(.providerNone, "no provider has this name")
        }
        try self.requireNavigation(request)
        let (signIns, limits) = (self.runtime.services.signIns, self.runtime.limits.signIns)
        let confirmed = request.wantsSilence ? await self.session(of: request, with: id) : nil
        let browser = self.attempts(of: request).newest?.browser
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
            self.runtime.services.metrics.signIn(provider: id, result: error.code)
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
        var response = Rendering.redirect(to: location)
        response.addCookies(kept.cookies)
        try self.attempts(of: request).begin(attempt, isCrossSite: isCrossSite, in: &response)
        return response
    }

    /// Counts a provider that is down, so that sessions which wait for it are served without being led there.
    func silentSignInFailed(with provider: String, _ failure: Failure) {
        if RelyingParty.isOutage(failure) { _ = self.runtime.services.rechecks.failed(provider, failure) }
    }

    /// The browser's session, if it is one with this provider.
    func session(of request: EndpointRequest, with provider: String) async -> Session? {
        let session = (try? await self.session(of: request)) ?? nil
        return session?.provider == provider ? session : nil
    }
}

/// A provider of the sign-in page.
private struct ListedProvider {
    let provider: RuntimeProvider
    let isFailing: Bool
}
