// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateRuntime
internal import GateSessions

extension Endpoints {
    /// Both sides of a session transfer: the gateway's host issues a code, the app's host redeems it.
    func sessionTransfer(_ request: EndpointRequest) async throws(Failure) -> Response {
        if self.isOnGatewayHost(request), let text = request.query?["request"] {
            return try await self.issueTransferCode(text, request)
        }
        if !self.isOnGatewayHost(request), let text = request.query?["code"] {
            return try await self.redeemTransferCode(text, request)
        }
        throw Failure(.sessionTransferParameters, "neither a request nor a code")
    }

    /// On the gateway's host: a browser with a session gets a code for the app's host, every other signs in first.
    private func issueTransferCode(_ text: String, _ request: EndpointRequest) async throws(Failure) -> Response {
        guard let wanted = SessionTransferRequest(sealed: text, by: self.runtime.sealer, now: request.now),
            self.runtime.hosts.origin(of: wanted.origin.host) == wanted.origin
        else { throw Failure(.sessionTransferRequest, "the request is not ours or too old") }
        let route = self.route(host: wanted.origin.host, path: wanted.path, for: request)
        let here =
            ReturnPath("\(self.runtime.path(.sessionTransfer))?\(Form([Form.Field("request", text)]).encoded)") ?? .root
        let found = try await self.confirmedSession(of: request, to: route, mayAskUser: request.isNavigation)
        if case .needsUser(let session) = found, self.runtime.providers.isAccepted(session.provider, by: route) {
            let redirect = SignInRedirect(runtime: self.runtime)
            return Rendering.redirect(to: redirect.silentAddress(here, provider: session.provider))
        }
        guard !request.wantsOtherAccount, let ticket = request.ticket, case .session(let session) = found,
            self.runtime.providers.isAccepted(session.provider, by: route),
            route?.isCurrent(session, now: request.now) ?? true,
            !self.needsAuthentication(session, at: wanted, request)
        else {
            let address = SignInRedirect(runtime: self.runtime).signInAddress(
                here,
                route: route,
                otherAccount: request.wantsOtherAccount
            )
            return Rendering.redirect(to: address)
        }
        if let since = wanted.passkeySince, session.passkeyUsed.map({ $0 < since }) ?? true {
            return Rendering.redirect(to: SignInRedirect(runtime: self.runtime).passkeyAddress(here))
        }
        try self.runtime.services.transfers.admit(session.familyKey)
        let code = SessionTransferCode(
            for: wanted,
            ticket: ticket,
            random: self.runtime.services.random,
            now: request.now
        )
        let query = Form([Form.Field("code", code.sealed(by: self.runtime.sealer))]).encoded
        return Rendering.redirect(to: "\(wanted.origin)\(self.runtime.path(.sessionTransfer))?\(query)")
    }

    /// On the app's host: the code is redeemed once, by the browser that asked, and becomes a session of this host.
    private func redeemTransferCode(_ text: String, _ request: EndpointRequest) async throws(Failure) -> Response {
        guard let code = SessionTransferCode(sealed: text, by: self.runtime.sealer, now: request.now) else {
            throw Failure(.sessionTransferCode, "the code is not ours or too old")
        }
        let cookie = GatewayCookie.sessionTransfer(code.tag, at: request.origin)
        let issued = try await self.runtime.sessions.redeem(
            code,
            at: request.origin,
            cookie: cookie.flatMap { request.value(of: $0) },
            gatewayHost: self.runtime.hosts.publicOrigin.host,
            within: self.route(host: request.origin.host, path: code.path, for: request)?.sessionLimits
                ?? SessionLimits(),
            isBelowWildcard: self.runtime.hosts.isBelowWildcard(request.origin.host),
            now: request.now
        )
        guard let issued else {
            return SignInRedirect(runtime: self.runtime).redirect(
                to: code.path,
                on: request.origin,
                route: nil,
                cookies: request.cookies
            )
        }
        self.begun(issued)
        self.runtime.services.metrics.began(with: issued.session.provider, byTransfer: true)
        var response = Rendering.redirect(to: "\(request.origin)\(code.path)")
        response.addCookies(
            self.runtime.cookies(of: issued, at: request.origin, replacing: request.cookies, now: request.now)
        )
        if let cookie { response.addCookie(cookie.deletion) }
        return response
    }
}
