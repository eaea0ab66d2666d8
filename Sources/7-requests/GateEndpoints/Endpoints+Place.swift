// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateIssuer
internal import GateOpenID
internal import GatePages
internal import GatePolicy
internal import GateProviders
internal import GateRuntime
internal import GateSessions

extension Endpoints {
    /// Where the user was going when a request for an endpoint failed; nil if the request does not name it.
    func place(of request: EndpointRequest) -> PageContext.Place? {
        let origin = request.origin
        switch self.address(of: request) {
        case .callback:
            guard let callback = request.callbackParameters else { return nil }
            let attempts = self.attempts(of: request)
            let path = attempts.attempt(named: callback)?.returnPath
            return (path ?? attempts.returnPath(ofDropped: callback)?.path).map { self.place(of: $0) }
        case .sessionTransfer: return self.placeOfSessionTransfer(request)
        case .resume:
            let reference = (request.query?["to"]).flatMap {
                ReturnReference(sealed: $0, on: origin.host, by: self.runtime.sealer)
            }
            return reference.map { self.runtime.place($0.front, on: origin) }
        case .password:
            let attempt = request.form.flatMap { self.attempts(of: request).attempt(named: $0) }
            return attempt.map { self.place(of: $0.returnPath) }
        case .start, .signIn, .passkey, .passkeys:
            return request.statedPath.map { self.runtime.place($0, on: origin) }
        case .account, .connected, .recover, .join, .passkeyScript, .pictures, .accountLink, .credentials, .signOut,
            .backChannelLogout,
            .frontChannelLogout,
            .userinfo, .apps, .auth,
            .keys, .style, .icon,
            .authorize,
            .token, .register, .introspect, .revoke, .pushedRequests, .deviceAuthorization, .device, .endSession,
            .tokenKeys, nil:
            return nil
        }
    }

    /// The place in a request or a code of a session transfer, which may be expired or spent.
    private func placeOfSessionTransfer(_ request: EndpointRequest) -> PageContext.Place? {
        if let wanted = request.query?["request"].flatMap(self.transferRequest(sealed:)) {
            return self.runtime.place(wanted.path, on: wanted.origin)
        }
        if let text = request.query?["code"], let code = SessionTransferCode(sealed: text, by: self.runtime.sealer),
            code.origin == request.origin
        {
            return self.runtime.place(code.path, on: code.origin)
        }
        return nil
    }

    /// Where the return path of an attempt leads now: a session transfer that has expired meanwhile, or will before the
    /// browser is there, begins again at the app.
    func place(of path: ReturnPath) -> PageContext.Place {
        let soon = self.runtime.services.clock.now.advanced(by: .seconds(30))
        guard let request = self.transferRequest(in: path), request.expires <= soon else {
            return self.runtime.place(path, on: self.runtime.hosts.publicOrigin)
        }
        return self.runtime.place(request.path, on: request.origin)
    }

    /// The route of the app that a return path leads to, also through a session transfer or a reference.
    func destination(of path: ReturnPath, for request: EndpointRequest) -> RuntimeRoute? {
        let (host, path) = self.target(of: path)
        return self.route(host: host, path: path, for: request)
    }

    /// The host and the path that a return path leads to, also through a session transfer.
    func target(of path: ReturnPath) -> (host: String, path: ReturnPath) {
        self.transferRequest(in: path).map { ($0.origin.host, $0.path) } ?? (self.runtime.hosts.publicOrigin.host, path)
    }

    /// Where the form may lead: a sign-in ends with a redirect, which browsers compare with `form-action` as well.
    func formTargets(of path: ReturnPath, for request: EndpointRequest) -> String {
        if let form = self.authorizationForm(of: path, for: request) {
            // The redirect URI of a pushed request is not known here; the request is checked before the browser gets there.
            let client = form["client_id"].flatMap { self.runtime.clients.issuer?.client(named: $0) }
            let schemes = (client?.redirectURIs ?? []).compactMap { uri -> String? in
                guard case .customScheme(let scheme) = uri.kind else { return nil }
                return " \(scheme):"
            }
            return "'self' https: http:\(Set(schemes).sorted().joined())"
        }
        let host = self.target(of: path).host
        guard host != self.runtime.hosts.publicOrigin.host, let origin = self.runtime.hosts.origin(of: host) else {
            return "'self'"
        }
        return "'self' \(origin)"
    }

    /// What a sign-in is asked for where a return path leads; nil if nothing is.
    func demand(of path: ReturnPath, for request: EndpointRequest) -> AuthenticationDemand? {
        if let form = self.authorizationForm(of: path, for: request) {
            return RequestedSignIn(in: form, by: self.runtime.sealer, now: request.now).map(AuthenticationDemand.init)
        }
        let (host, path) = self.target(of: path)
        if host == self.runtime.hosts.publicOrigin.host {
            let age = SignedInPage.maxAuthenticationAge(at: self.whole(path, on: host, for: request), self.runtime)
            if let age { return AuthenticationDemand(ofRule: age) }
        }
        return self.maxAuthenticationAge(on: host, path).map(AuthenticationDemand.init(ofRule:))
    }

    /// How recent the authentication of a user must be for a place on the host of an app; nil if that does not matter.
    private func maxAuthenticationAge(on host: String, _ path: ReturnPath) -> Duration? {
        guard
            let reference = ReturnReference(
                path,
                on: host,
                below: self.runtime.hosts.endpoints,
                by: self.runtime.sealer
            )
        else {
            return self.runtime.maxAuthenticationAge(on: host, path)
        }
        guard case .path(let whole) = reference.content, reference.maxAuthenticationAge == nil else {
            return reference.maxAuthenticationAge
        }
        return self.runtime.maxAuthenticationAge(on: host, whole)
    }

    /// Whether a request for a place on an app's host needs a more recent authentication than a session has.
    func needsAuthentication(_ session: Session, at place: SessionTransferRequest, _ request: EndpointRequest) -> Bool {
        let limit = self.maxAuthenticationAge(on: place.origin.host, place.path)
        guard let limit else { return false }
        return session.authenticated.map { request.now.since($0) > limit } ?? true
    }

    /// The route of a place on a host, references followed.
    func route(host: String, path: ReturnPath, for request: EndpointRequest) -> RuntimeRoute? {
        self.runtime.route(host: host, path: self.whole(path, on: host, for: request))
    }

    /// The providers that are accepted where a return path leads: those of a client, of an app, or all.
    func accepted(at path: ReturnPath, for request: EndpointRequest) -> [RuntimeProvider] {
        if let id = self.authorizationForm(of: path, for: request)?["client_id"],
            let client = self.runtime.clients.issuer?.client(named: id)
        {
            return self.runtime.providers.all.filter { client.route.providers.contains($0.id) }
        }
        return self.runtime.providers.accepted(by: self.destination(of: path, for: request))
    }

    /// The account that a client expects where a sign-in leads, or whose email address the user has typed, which never replaces
    /// that of the file.
    ///
    /// OpenID Connect Core §3.1.2.1.
    func loginHint(of request: EndpointRequest, for party: RelyingParty? = nil) -> String? {
        let isFixed = party?.definition.authorizationParameters.contains { $0.name == Endpoints.hint } ?? false
        let typed = request.query?[Endpoints.hint].flatMap { EmailAddress($0) }?.description
        let asked = self.authorizationForm(of: request.returnPath, for: request)?[Endpoints.hint]
        return (asked ?? (isFixed ? nil : typed)).flatMap { $0.utf8.count <= Endpoints.maxHint ? $0 : nil }
    }

    static let maxHint = 256

    /// The parameters of a client's request that a return path leads to; nil if it leads elsewhere.
    func authorizationForm(of path: ReturnPath, for request: EndpointRequest) -> Form? {
        guard self.runtime.clients.issuer != nil else { return nil }
        let whole = self.whole(path, on: self.runtime.hosts.publicOrigin.host, for: request).value
        let sides = whole.split(separator: "?", maxSplits: 1)
        guard sides.count == 2, sides[0] == self.runtime.path(.authorize) else { return nil }
        return Form(encoded: sides[1])
    }

    /// A path, or the one that it is a reference to; that of the app if the browser sends its cookie to another host.
    func whole(_ path: ReturnPath, on host: String, for request: EndpointRequest) -> ReturnPath {
        guard
            let reference = ReturnReference(
                path,
                on: host,
                below: self.runtime.hosts.endpoints,
                by: self.runtime.sealer
            )
        else { return path }
        switch reference.content {
        case .path(let path): return path
        case .cookie(let id):
            let kept = request.origin.host == host ? self.returnPath(ofCookie: id, request) : nil
            return kept ?? reference.front
        case .page, .tooLong: return reference.front
        }
    }

    /// The return path in a cookie of the host that was asked.
    func returnPath(ofCookie id: String, _ request: EndpointRequest) -> ReturnPath? {
        self.returnCookie(request).path(of: id, in: request.cookies, now: request.now)
    }

    /// The cookies with the return paths of the host that was asked.
    func returnCookie(_ request: EndpointRequest) -> ReturnCookie {
        ReturnCookie(at: request.origin, sealer: self.runtime.sealer)
    }

    /// The request of a session transfer that a path of the gateway's host leads to, expired or not.
    private func transferRequest(in path: ReturnPath) -> SessionTransferRequest? {
        let sides = path.value.split(separator: "?", maxSplits: 1)
        guard sides.count == 2, sides[0] == self.runtime.path(.sessionTransfer) else { return nil }
        return Form(encoded: sides[1])?["request"].flatMap(self.transferRequest(sealed:))
    }

    /// A request of a session transfer for an origin of an app, expired or not.
    private func transferRequest(sealed text: String) -> SessionTransferRequest? {
        let request = SessionTransferRequest(sealed: text, by: self.runtime.sealer)
        return request.flatMap { self.runtime.hosts.origin(of: $0.origin.host) == $0.origin ? $0 : nil }
    }
}

extension AuthenticationDemand {
    /// That of a rule of an app, or of a page of the gateway.
    init(ofRule maxAge: Duration) {
        self.init(maxAge: maxAge, reauthenticates: false, asker: "rule", isOfClient: false)
    }

    /// That of a client's request.
    init(_ signIn: RequestedSignIn) {
        self.init(
            maxAge: signIn.maxAge,
            reauthenticates: signIn.reauthenticates,
            asker: signIn.id,
            isOfClient: true
        )
    }
}
