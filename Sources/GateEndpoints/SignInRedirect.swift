// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateHTTP
internal import GateHeaders
internal import GatePages
internal import GatePolicy
package import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints
package import GateWire
internal import HTTPTypes

/// What a user has to do before a request is admitted.
package enum SignInStep: Sendable, Hashable {
    /// Sign in.
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
    ///   - client: The client, asked for only when something has to be kept for it.
    /// - Returns: A redirect for a browser's navigation, else 401.
    package func response(
        for request: RequestHead,
        route: RuntimeRoute,
        step: SignInStep = .signIn,
        client: @autoclosure () -> IPAddress? = nil
    ) -> Response {
        guard ClientKind(request).wantsPage, self.hasSignIn(route) else {
            return self.challenge(request, route: route, step: step)
        }
        let path = self.runtime.returnPath(of: request, on: route, client: client())
        let origin = self.runtime.origin(of: request)
        if origin.host == self.runtime.publicOrigin.host {
            switch step {
            case .recheck(let provider):
                return Rendering.redirect(to: self.silentAddress(path, provider: provider))
            case .passkey: return Rendering.redirect(to: self.passkeyAddress(path))
            case .signIn: break
            }
        }
        return self.redirect(to: path, on: origin, route: route, cookies: CookieHeader(of: request), step: step)
    }

    /// Redirects a browser to the sign-in and then back to a place on an origin of the gateway.
    func redirect(
        to path: ReturnPath,
        on origin: Origin,
        route: RuntimeRoute?,
        cookies: CookieHeader,
        otherAccount: Bool = false,
        step: SignInStep = .signIn
    ) -> Response {
        guard origin.host == self.runtime.publicOrigin.host else {
            return self.transferSession(path, on: origin, cookies: cookies, otherAccount: otherAccount, step: step)
        }
        return Rendering.redirect(to: self.signInAddress(path, route: route, otherAccount: otherAccount))
    }

    /// The provider that a sign-in for a route on the gateway's host can only be with; nil if there are several, or if the
    /// sign-in begins with a session transfer.
    package func onlyProvider(of request: RequestHead, on route: RuntimeRoute) -> RuntimeProvider? {
        guard self.runtime.origin(of: request).host == self.runtime.publicOrigin.host else { return nil }
        let accepted = self.runtime.accepted(by: route)
        return accepted.count == 1 ? accepted.first : nil
    }

    /// The page that offers the providers, or the only provider's own start.
    func signInAddress(_ path: ReturnPath, route: RuntimeRoute?, otherAccount: Bool = false) -> String {
        let query = Form([Form.Field("rd", path.value)] + (otherAccount ? [.selectAccount] : [])).encoded
        let accepted = self.runtime.accepted(by: route)
        if accepted.count == 1, let only = accepted.first {
            return "\(self.runtime.publicOrigin)/oauth2/start/\(only.id)?\(query)"
        }
        return "\(self.runtime.publicOrigin)/oauth2/sign_in?\(query)"
    }

    /// The start of a sign-in that shows no page of the provider.
    func silentAddress(_ path: ReturnPath, provider: String) -> String {
        let query = Form([Form.Field("rd", path.value), .silent]).encoded
        return "\(self.runtime.publicOrigin)/oauth2/start/\(provider)?\(query)"
    }

    /// The page that asks a signed-in user for a passkey.
    func passkeyAddress(_ path: ReturnPath) -> String {
        let query = Form([Form.Field("rd", path.value)]).encoded
        return "\(self.runtime.publicOrigin)/oauth2/\(EndpointPath.passkey.rawValue)?\(query)"
    }

    /// Redirects a browser from an app's host to the gateway's; the cookie binds the session transfer to this browser.
    private func transferSession(
        _ path: ReturnPath,
        on origin: Origin,
        cookies: CookieHeader,
        otherAccount: Bool,
        step: SignInStep
    ) -> Response {
        let binding = BrowserBinding(from: self.runtime.random)
        let request = SessionTransferRequest(
            origin: origin,
            path: path,
            binding: binding,
            needsPasskey: step == .passkey,
            now: self.runtime.clock.now
        )
        let sealed = Form.Field("request", request.sealed(by: self.runtime.sealer))
        let query = Form([sealed] + (otherAccount ? [.selectAccount] : [])).encoded
        var response = Rendering.redirect(to: "\(self.runtime.publicOrigin)/oauth2/handover?\(query)")
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
        response.rejection = Response.Rejection(.signInRequired)
        return response
    }

    /// The response for scripts, with the URL that a user would have to open.
    private func challenge(_ request: RequestHead, route: RuntimeRoute, step: SignInStep) -> Response {
        let resource = self.runtime.resourceMetadata(of: route).map { (name: route.route.audience, metadata: $0) }
        guard self.hasSignIn(route) else {
            let failure = Failure(.signInRequired, "\(route.name) accepts tokens only, and the request has none")
            return self.runtime.rendering.challenge(failure, resource: resource)
        }
        let wanted = step == .passkey ? "asks for a passkey" : "needs a session that it accepts"
        let failure = Failure(.signInRequired, "\(route.name) \(wanted)")
        let address = self.address(for: request, route: route, step: step)
        return self.runtime.rendering.challenge(failure, signIn: address, resource: resource)
    }

    /// The URL that a user would have to open, which leads back to what a request is for.
    private func address(for request: RequestHead, route: RuntimeRoute, step: SignInStep) -> String {
        let isRead = request.method == .get || request.method == .head
        let asked = isRead ? ReturnPath(request.target) : nil
        let isShort = asked.map { $0.value.utf8.count <= ReturnPath.maxLengthOnGatewayHost } ?? false
        let path = (isShort ? asked : nil) ?? ReturnPath(route.route.path) ?? .root
        let origin = self.runtime.origin(of: request)
        guard origin.host == self.runtime.publicOrigin.host else {
            let page = step == .passkey ? EndpointPath.passkey : .signIn
            return "\(origin)/oauth2/\(page.rawValue)?\(Form([Form.Field("rd", path.value)]).encoded)"
        }
        return step == .passkey ? self.passkeyAddress(path) : self.signInAddress(path, route: route)
    }
}

// The longest return paths that travel as they are, in bytes; longer ones go through ``ReturnPathStore``.
extension ReturnPath {
    /// On an app's own host, so that the whole address of a session transfer still fits an attempt's cookie.
    fileprivate static let maxLengthOnAppHost = 512
    /// On the gateway's host, so that the cookie of an attempt stays small.
    fileprivate static let maxLengthOnGatewayHost = 1280
}

extension RuntimeConfiguration {
    /// A path that is short enough to travel: itself, or a reference to it.
    func carried(_ path: ReturnPath, on host: String, for client: IPAddress?) -> ReturnPath {
        let bound = host == self.publicOrigin.host ? ReturnPath.maxLengthOnGatewayHost : ReturnPath.maxLengthOnAppHost
        guard path.value.utf8.count > bound else { return path }
        let place = ReturnPathStore.Place(path: path, isWhole: true)
        return self.longPaths.reference(to: place, on: host, for: client, now: self.clock.now)
    }

    /// Where the browser comes back to: the requested path, or that of the app if the request must not be repeated.
    package func returnPath(
        of request: RequestHead,
        on route: RuntimeRoute,
        client: @autoclosure () -> IPAddress?
    ) -> ReturnPath {
        let front = ReturnPath(route.route.path) ?? .root
        guard request.method == .get || request.method == .head else { return front }
        let target = request.target
        let host = request.authority.host
        if let path = ReturnPath(target) {
            return path.value.utf8.count <= ReturnPath.maxLengthOnAppHost
                ? path : self.carried(path, on: host, for: client())
        }
        guard target.utf8.count > ReturnPath.maxLength else { return front }
        let place = ReturnPathStore.Place(path: front, isWhole: false)
        return self.longPaths.reference(to: place, on: host, for: client(), now: self.clock.now)
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
