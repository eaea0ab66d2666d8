// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
internal import GateHeaders
internal import GatePages
internal import GatePolicy
package import GateRuntime
internal import GateSessions
package import GateWire
internal import HTTPTypes

/// What a user has to do before a request is admitted.
package enum SignInStep: Sendable, Hashable {
    case signIn
    /// Have the session confirmed by its provider, without a page of the provider if possible.
    case recheck(with: String)
    /// Use a passkey.
    case passkey

    /// Whether a public rule for the client's network makes it unnecessary; a user with an accepted session stays that user.
    package var opensToNetworks: Bool {
        self == .signIn
    }
}

/// The response to a request without an accepted session: browsers are redirected to the sign-in, scripts get 401.
package struct SignInRedirect {
    let runtime: RuntimeConfiguration

    /// The responses of a runtime configuration.
    package init(runtime: RuntimeConfiguration) {
        self.runtime = runtime
    }

    /// The response to a request for a route that needs a session.
    ///
    /// - Parameters:
    ///   - request: The request; one that revalidates what a cache has is redirected as any other.
    ///   - route: The route.
    ///   - step: What the user has to do.
    /// - Returns: A redirect for a browser's navigation, else 401.
    package func response(
        for request: RequestHead,
        route: RuntimeRoute,
        step: SignInStep = .signIn
    ) -> Response {
        guard ClientKind(request).wantsPage, self.hasSignIn(route) else {
            return self.challenge(request, route: route, step: step)
        }
        guard request.isRead else { return self.notSent(request, route, step) }
        let path = self.runtime.returnPath(of: request, on: route)
        let origin = self.runtime.hosts.origin(of: request)
        return self.redirect(to: path, on: origin, route: route, cookies: CookieHeader(of: request), step: step)
    }

    /// The page for a form that the app does not get: a redirect would lose it without a word.
    private func notSent(_ request: RequestHead, _ route: RuntimeRoute, _ step: SignInStep) -> Response {
        var context = PageContext()
        (context.app, context.title) = (route.name, route.title)
        let failure: Failure
        if case .recheck = step {
            // The page can be reloaded after another tab has confirmed the session.
            failure = self.failure(step, at: route)
        } else {
            let detail = "\(route.name) did not get a \(request.method.rawValue) of a user who has to sign in first"
            failure = Failure(.signInFormNotSent, detail)
            let address = self.address(for: request, route: route, step: step)
            context.others = [PageButton(address: address, label: .text(.signIn))]
        }
        var response = self.runtime.rendering.response(to: failure, for: ClientKind(request), context: context)
        response.head.headerFields[.wwwAuthenticate] = Rendering.authenticationScheme
        return response
    }

    /// Redirects a browser to what its user has to do, and then back to a place on an origin of the gateway.
    func redirect(
        to path: ReturnPath,
        on origin: Origin,
        route: RuntimeRoute?,
        cookies: CookieHeader,
        otherAccount: Bool = false,
        step: SignInStep = .signIn
    ) -> Response {
        let kept = self.runtime.kept(path, on: origin, in: cookies)
        var response: Response
        if origin.host == self.runtime.hosts.publicOrigin.host {
            response = Rendering.redirect(
                to: self.address(kept.path, step: step, route: route, otherAccount: otherAccount)
            )
        } else {
            response = self.transferSession(
                kept.path,
                on: origin,
                cookies: cookies,
                otherAccount: otherAccount,
                step: step
            )
        }
        response.addCookies(kept.cookies)
        return response
    }

    /// Where a user of the gateway's host does what is to be done.
    private func address(_ path: ReturnPath, step: SignInStep, route: RuntimeRoute?, otherAccount: Bool) -> String {
        switch step {
        case .signIn: self.signInAddress(path, route: route, otherAccount: otherAccount)
        case .recheck(let provider): self.silentAddress(path, provider: provider)
        case .passkey: self.passkeyAddress(path)
        }
    }

    /// The provider that a sign-in for a route on the gateway's host can only be with; nil if there are several, or if the
    /// sign-in begins with a session transfer.
    package func onlyProvider(of request: RequestHead, on route: RuntimeRoute) -> RuntimeProvider? {
        guard self.runtime.hosts.origin(of: request).host == self.runtime.hosts.publicOrigin.host else { return nil }
        let accepted = self.runtime.providers.accepted(by: route)
        return accepted.count == 1 ? accepted.first : nil
    }

    /// The page that offers the providers, or the only provider's own start.
    func signInAddress(_ path: ReturnPath, route: RuntimeRoute?, otherAccount: Bool = false) -> String {
        let query = Form([self.runtime.field(path)] + (otherAccount ? [.selectAccount] : [])).encoded
        let accepted = self.runtime.providers.accepted(by: route)
        if accepted.count == 1, let only = accepted.first {
            return "\(self.runtime.address(.start))/\(only.id)?\(query)"
        }
        return "\(self.runtime.address(.signIn))?\(query)"
    }

    /// The start of a sign-in that shows no page of the provider.
    func silentAddress(_ path: ReturnPath, provider: String) -> String {
        let query = Form([self.runtime.field(path), .silent]).encoded
        return "\(self.runtime.address(.start))/\(provider)?\(query)"
    }

    /// The page that asks a signed-in user for a passkey.
    func passkeyAddress(_ path: ReturnPath) -> String {
        let query = Form([self.runtime.field(path)]).encoded
        return "\(self.runtime.address(.passkey))?\(query)"
    }

    /// Redirects a browser from an app's host to the gateway's; the cookie binds the session transfer to this browser.
    private func transferSession(
        _ path: ReturnPath,
        on origin: Origin,
        cookies: CookieHeader,
        otherAccount: Bool,
        step: SignInStep
    ) -> Response {
        let binding = BrowserBinding(from: self.runtime.services.random)
        let request = SessionTransferRequest(
            origin: origin,
            path: path,
            binding: binding,
            needsPasskey: step == .passkey,
            now: self.runtime.services.clock.now
        )
        let sealed = Form.Field("request", request.sealed(by: self.runtime.sealer))
        let query = Form([sealed] + (otherAccount ? [.selectAccount] : [])).encoded
        var response = Rendering.redirect(to: "\(self.runtime.address(.sessionTransfer))?\(query)")
        for old in GatewayCookie.surplusSessionTransfers(in: cookies, at: origin) {
            response.addCookie(old.deletion)
        }
        if let cookie = GatewayCookie.sessionTransfer(binding.tag, at: origin) {
            response.addCookie(cookie.setting(binding.text))
        }
        return response
    }

    /// Whether a route accepts users of any provider; otherwise no sign-in helps.
    private func hasSignIn(_ route: RuntimeRoute) -> Bool { route.takesSessions && !route.route.providers.isEmpty }

    /// The response for a proxy that shows its client at most the URL of the sign-in, which is in `Location`.
    package func status(for request: RequestHead, route: RuntimeRoute, step: SignInStep) -> Response {
        guard self.hasSignIn(route) else { return self.challenge(request, route: route, step: step) }
        var response = Response(401, fields: [.location: self.address(for: request, route: route, step: step)])
        response.head.headerFields[.wwwAuthenticate] = Rendering.authenticationScheme
        response.rejection = Response.Rejection(self.failure(step, at: route).reason)
        return response
    }

    /// Why a request is not served before its user has done something.
    private func failure(_ step: SignInStep, at route: RuntimeRoute) -> Failure {
        switch step {
        case .signIn: Failure(.signInRequired, "\(route.name) needs a session that it accepts")
        case .passkey: Failure(.signInRequired, "\(route.name) asks for a passkey")
        case .recheck(let provider):
            Failure(.sessionConfirmationNeeded, "\(provider) has to confirm the session, by a navigation of the user")
        }
    }

    /// The response for scripts, with the URL that a user would have to open.
    private func challenge(_ request: RequestHead, route: RuntimeRoute, step: SignInStep) -> Response {
        let resource = self.runtime.clients.resourceMetadata(of: route).map {
            (name: route.route.audience, metadata: $0)
        }
        guard self.hasSignIn(route) else {
            let failure = Failure(.signInRequired, "\(route.name) accepts tokens only, and the request has none")
            return self.runtime.rendering.challenge(failure, resource: resource)
        }
        let address = self.address(for: request, route: route, step: step)
        return self.runtime.rendering.challenge(
            self.failure(step, at: route),
            signIn: address,
            isInBrowser: request.message.first(.secFetchMode) != nil,
            resource: resource
        )
    }

    /// The URL that a user would have to open, which leads back to the page that sent a request, or to what a navigation was for.
    private func address(for request: RequestHead, route: RuntimeRoute, step: SignInStep) -> String {
        let asked = request.isRead ? ReturnPath(requested: request.target) : nil
        let isNavigation = request.isRead && ClientKind(request).wantsPage
        let wanted = (isNavigation ? nil : self.runtime.page(of: request, on: route)) ?? asked
        let isShort = wanted.map { $0.value.utf8.count <= RuntimeConfiguration.maxPathOnGatewayHost } ?? false
        let path = self.runtime.path((isShort ? wanted : nil) ?? route.front, recentEnoughFor: request, on: route)
        let origin = self.runtime.hosts.origin(of: request)
        guard origin.host == self.runtime.hosts.publicOrigin.host else {
            let page = step == .passkey ? EndpointPath.passkey : .signIn
            let query = Form([self.runtime.field(path, on: origin.host)]).encoded
            return "\(origin)\(self.runtime.path(page))?\(query)"
        }
        return self.address(path, step: step, route: route, otherAccount: false)
    }
}

extension Response {
    /// Adds a `Set-Cookie` field.
    package mutating func addCookie(_ line: String) {
        self.head.headerFields.append(HTTPField(name: .setCookie, value: line))
    }

    /// Adds `Set-Cookie` fields.
    package mutating func addCookies(_ lines: [String]) {
        for line in lines { self.addCookie(line) }
    }
}
