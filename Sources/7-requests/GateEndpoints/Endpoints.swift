// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
package import GateHTTP
internal import GateHeaders
internal import GateIssuer
internal import GateOperations
internal import GatePages
package import GateRuntime
package import GateSessions
internal import GateWire
internal import HTTPTypes

/// The endpoints, all below ``RuntimeConfiguration/endpoints``.
package struct Endpoints: Sendable {
    let runtime: RuntimeConfiguration
    /// Called with each new session, before the browser gets its response.
    let begun: @Sendable (IssuedSession) -> Void

    /// What all sign-ins have in common.
    var steps: SignInSteps { SignInSteps(runtime: self.runtime, begun: self.begun) }

    /// The endpoints of a runtime configuration; `begun` is called with each new session, before the browser gets its response.
    package init(runtime: RuntimeConfiguration, begun: @escaping @Sendable (IssuedSession) -> Void = { _ in }) {
        self.runtime = runtime
        self.begun = begun
    }

    /// The response to a request for one of them.
    package func response(to request: EndpointRequest) async -> Response {
        do throws(Failure) {
            return try await self.route(request)
        } catch {
            var context = PageContext()
            var cookies: [String] = []
            if request.clientKind.wantsPage {
                // What the page may offer: to go on where the user was going.
                context.place = self.place(of: request)
                (context.others, cookies) = self.otherProviders(for: request, after: error)
            }
            context.provider = self.provider(of: request)
            var response = self.runtime.rendering.response(to: error, for: request.clientKind, context: context)
            // RFC 9110 §15.5.2; for a request without a token RFC 6750 §3.
            if response.head.status == .unauthorized {
                let takesTokens = self.runtime.clients.issuer != nil && self.address(of: request) == .userinfo
                response.head.headerFields[.wwwAuthenticate] =
                    takesTokens ? "Bearer realm=\"gatehouse\"" : Rendering.authenticationScheme
            }
            response.addCookies(cookies)
            return response
        }
    }

    /// The provider that the path of a sign-in names, if it is one of the file.
    private func provider(of request: EndpointRequest) -> String? {
        let parts = self.segments(of: request)
        guard parts.count == 2, self.endpoint(of: request)?.suffix == .provider else { return nil }
        return self.runtime.providers[parts[1]]?.id
    }

    /// Whether the response needs no provider and no store.
    package func isImmediate(_ request: EndpointRequest) -> Bool {
        guard self.sessionAPI(request) == nil else { return false }
        return self.runtime.clients.wellKnown.document(host: request.origin.host, path: request.path) != nil
            || self.endpoint(of: request)?.isImmediate ?? true
    }

    /// The row of the endpoint that a path names.
    private func endpoint(of request: EndpointRequest) -> Endpoint? {
        self.address(of: request).flatMap { Endpoint.all[$0] }
    }

    /// The endpoint that a path names; `/` is the list of apps where no app has it.
    func address(of request: EndpointRequest) -> EndpointPath? {
        guard self.sessionAPI(request) == nil else { return nil }
        return request.path == "/" ? .apps : self.segments(of: request).first.flatMap { EndpointPath(rawValue: $0) }
    }

    /// What a path names below that of the session API; nil if it is not there.
    private func sessionAPI(_ request: EndpointRequest) -> String? {
        guard let prefix = self.runtime.clients.sessionAPI, self.isOnGatewayHost(request) else { return nil }
        guard request.path != prefix else { return "" }
        return request.path.hasPrefix("\(prefix)/") ? String(request.path.dropFirst(prefix.count + 1)) : nil
    }

    private func route(_ request: EndpointRequest) async throws(Failure) -> Response {
        if let document = self.runtime.clients.wellKnown.document(host: request.origin.host, path: request.path) {
            return self.wellKnown(document, request)
        }
        if let name = self.sessionAPI(request), let issuer = self.runtime.clients.issuer {
            let tokens = TokenEndpoints(runtime: self.runtime, issuer: issuer)
            return await SessionAPI(steps: self.steps, tokens: tokens).response(to: request, at: name)
        }
        let name = self.segments(of: request).dropFirst().joined(separator: "/")
        guard let endpoint = self.endpoint(of: request), name.isEmpty || endpoint.suffix != .nothing
        else { throw Failure(.endpointNone, "the gateway has no endpoint of this name") }
        if endpoint.takesReturnPath, let reason = request.refusedPath {
            self.runtime.services.log.returnPathRefused(reason, at: endpoint.path.rawValue)
        }
        let isForSessions = endpoint.path == .userinfo && self.runtime.clients.issuer == nil
        guard endpoint.methods.contains(request.method), !isForSessions || [.get, .head].contains(request.method) else {
            return self.wrongMethod(request, at: endpoint)
        }
        switch endpoint.caller {
        case .anyone: break
        case .navigation: try self.requireNavigation(request)
        case .client:
            if request.method == .options { return TokenEndpoints.preflight(endpoint.methods) }
        }
        guard let step = endpoint.step else { return try await self.limited(endpoint, request, name) }
        return try await self.steps.counted(step, name) { () throws(Failure) in
            try await self.limited(endpoint, request, name)
        }
    }

    private func limited(
        _ endpoint: Endpoint,
        _ request: EndpointRequest,
        _ name: String
    ) async throws(Failure) -> Response {
        guard endpoint.isLimited else { return try await endpoint.respond(self)(request, name) }
        return try await self.steps.limited(request) { () throws(Failure) in
            try await endpoint.respond(self)(request, name)
        }
    }

    /// Rejects what a page of another site loads as an image or frame: it would count as a failed attempt of the user's
    /// network.
    func requireNavigation(_ request: EndpointRequest) throws(Failure) {
        guard request.isNavigation else {
            throw Failure(.requestNotNavigation, "a sign-in consists of navigations of the user")
        }
    }

    /// The segments of the path after the prefix of endpoints; none of a path that is not below it.
    func segments(of request: EndpointRequest) -> [String] {
        guard let name = self.runtime.hosts.endpoints.name(in: request.path) else { return [] }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
    }

    /// Rejects the method and lists those of the endpoint.
    ///
    /// RFC 9110 §15.5.6.
    private func wrongMethod(_ request: EndpointRequest, at endpoint: Endpoint) -> Response {
        let failure = Failure(.endpointMethod, "\(request.method.rawValue) for \(endpoint.path.rawValue)")
        var response = self.runtime.rendering.response(to: failure, for: request.clientKind)
        response.head.headerFields[.allow] = endpoint.methods.map(\.rawValue).joined(separator: ", ")
        return response
    }

    /// The attempts that the browser has open.
    func attempts(of request: EndpointRequest) -> AttemptCookies { AttemptCookies(of: request, at: self.runtime) }

    /// The session of the browser on the host that was asked; nil if it has none.
    func session(of request: EndpointRequest) async throws(Failure) -> Session? {
        guard let ticket = request.ticket else { return nil }
        return try await self.runtime.sessions.session(for: ticket, host: request.origin.host, now: request.now)
    }

    /// The session of the browser on the host that was asked, confirmed by its provider if that is due where it goes to.
    func confirmedSession(
        of request: EndpointRequest,
        to route: RuntimeRoute? = nil,
        mayAskUser: Bool
    ) async throws(Failure) -> SessionLookUp.Found {
        guard let ticket = request.ticket else { return .none }
        let lookUp = SessionLookUp(runtime: self.runtime, route: route)
        return try await lookUp.session(for: ticket, host: request.origin.host, mayAskUser: mayAskUser)
    }

    /// Whether the request reached the gateway's host, where sign-ins happen.
    func isOnGatewayHost(_ request: EndpointRequest) -> Bool {
        request.origin.host == self.runtime.hosts.publicOrigin.host
    }

    /// A document below `/.well-known/`, which pages of any origin may read, as the keys of tokens.
    private func wellKnown(_ document: [UInt8], _ request: EndpointRequest) -> Response {
        if let keys = Endpoint.all[.tokenKeys] {
            guard request.method != .options else { return TokenEndpoints.preflight(keys.methods) }
            guard keys.methods.contains(request.method) else { return self.wrongMethod(request, at: keys) }
        }
        var fields: HTTPFields = [.contentType: "application/json", .xContentTypeOptions: "nosniff"]
        fields[.cacheControl] = "public, max-age=300"
        fields[.accessControlAllowOrigin] = "*"
        return Response(200, fields: fields, body: document)
    }

    /// The failure of an endpoint for clients without clients.
    var noClients: Failure {
        Failure(.endpointNone, "the file has no 'clients', or the host is not that of public_url")
    }
}

// MARK: The table

/// An endpoint: what it takes, from whom, and what responds.
struct Endpoint: Sendable {
    /// Responds to a request; the text is what follows the path of the endpoint.
    typealias Handler = @Sendable (Endpoints) -> (EndpointRequest, String) async throws(Failure) -> Response

    /// Who may call it, as far as it does not ask itself.
    enum Caller: Sendable {
        case anyone
        /// Navigations of the user only: what a page of another site loads as an image or frame would count as a failed
        /// attempt of the user's network.
        case navigation
        /// Clients with tokens, and pages of any origin, which ask before: Fetch standard §3.3.3.
        case client
    }

    /// What may follow its path.
    enum Suffix: Sendable {
        case nothing
        case provider
        case picture
    }

    let path: EndpointPath
    /// Where it takes `GET`, it takes `HEAD` with the same effect, RFC 9110 §9.1.
    let methods: [RequestMethod]
    let caller: Caller
    let suffix: Suffix
    /// Whether the response needs no provider and no store, so that it does not count as waiting.
    let isImmediate: Bool
    /// Whether it leads on to `rd`.
    let takesReturnPath: Bool
    /// As which step of a sign-in it is counted for the provider; nil for none.
    let step: SignInPhase?
    /// Whether it counts as an attempt of the client's network to sign in.
    let isLimited: Bool
    let respond: Handler

    private init(
        _ path: EndpointPath,
        _ methods: [RequestMethod],
        from caller: Caller = .anyone,
        suffix: Suffix = .nothing,
        isImmediate: Bool = false,
        takesReturnPath: Bool = false,
        step: SignInPhase? = nil,
        isLimited: Bool = false,
        _ respond: @escaping Handler
    ) {
        self.path = path
        self.methods = methods
        self.caller = caller
        self.suffix = suffix
        self.isImmediate = isImmediate
        self.takesReturnPath = takesReturnPath
        self.step = step
        self.isLimited = isLimited
        self.respond = respond
    }

    /// An endpoint that nothing follows.
    private init(
        _ path: EndpointPath,
        _ methods: [RequestMethod],
        from caller: Caller = .anyone,
        isImmediate: Bool = false,
        takesReturnPath: Bool = false,
        isLimited: Bool = false,
        _ respond: @escaping @Sendable (Endpoints) -> (EndpointRequest) async throws(Failure) -> Response
    ) {
        self.init(
            path,
            methods,
            from: caller,
            isImmediate: isImmediate,
            takesReturnPath: takesReturnPath,
            isLimited: isLimited
        ) { endpoints in
            { (request, _) throws(Failure) in try await respond(endpoints)(request) }
        }
    }

    /// An endpoint of clients, which share a response by path.
    private init(
        _ path: EndpointPath,
        _ methods: [RequestMethod],
        isImmediate: Bool = false,
        _ respond: @escaping @Sendable (Endpoints) -> (EndpointPath, EndpointRequest) async throws(Failure) -> Response
    ) {
        self.init(path, methods, from: .client, isImmediate: isImmediate) { endpoints in
            { (request, _) throws(Failure) in try await respond(endpoints)(path, request) }
        }
    }
}

extension Endpoint {
    private static let read: [RequestMethod] = [.get, .head]
    private static let page: [RequestMethod] = [.get, .head, .post]
    private static let token: [RequestMethod] = [.post, .options]

    /// All endpoints; each path has one row.
    private static let table: [Endpoint] = [
        // Sign-in and session
        Endpoint(.signIn, read, isImmediate: true, takesReturnPath: true, Endpoints.signIn(_:)),
        Endpoint(
            .start,
            read,
            suffix: .provider,
            takesReturnPath: true,
            step: .start,
            Endpoints.start(_:provider:)
        ),
        Endpoint(
            .callback,
            page,
            from: .navigation,
            suffix: .provider,
            step: .callback,
            Endpoints.callback(_:provider:)
        ),
        Endpoint(
            .password,
            [.post],
            suffix: .provider,
            step: .callback,
            isLimited: true,
            Endpoints.password(_:provider:)
        ),
        Endpoint(
            .accountLink,
            page,
            from: .navigation,
            suffix: .provider,
            isLimited: true,
            Endpoints.accountLink(_:provider:)
        ),
        Endpoint(
            .recover,
            page,
            from: .navigation,
            suffix: .provider,
            isLimited: true,
            Endpoints.recover(_:provider:)
        ),
        Endpoint(.join, page, from: .navigation, suffix: .provider, isLimited: true, Endpoints.join(_:provider:)),
        Endpoint(.credentials, page, Endpoints.credentials(_:)),
        Endpoint(.passkey, page, takesReturnPath: true, Endpoints.passkey(_:)),
        Endpoint(.passkeys, page, takesReturnPath: true, Endpoints.passkeys(_:)),
        Endpoint(.connected, page, takesReturnPath: true, isLimited: true, Endpoints.connected(_:)),
        Endpoint(.signOut, page, takesReturnPath: true, Endpoints.signOutPageOrEnd(_:)),
        Endpoint(.backChannelLogout, [.post], suffix: .provider, Endpoints.backChannelLogout(_:provider:)),
        Endpoint(.frontChannelLogout, read, suffix: .provider, Endpoints.frontChannelLogout(_:provider:)),
        Endpoint(.sessionTransfer, read, Endpoints.sessionTransfer(_:)),
        Endpoint(.resume, read, isImmediate: true, Endpoints.resume(_:)),
        Endpoint(.apps, read, Endpoints.apps(_:)),
        Endpoint(.account, page, Endpoints.account(_:)),
        // Apps and proxies
        Endpoint(.auth, RequestMethod.common, isImmediate: true, Endpoints.forwardAuth(_:)),
        Endpoint(.keys, read, isImmediate: true, Endpoints.assertionKeys(_:)),
        // Clients
        Endpoint(.authorize, page, Endpoints.authorize(_:)),
        Endpoint(.device, page, Endpoints.device(_:)),
        Endpoint(.endSession, page, Endpoints.endSession(_:)),
        Endpoint(.userinfo, [.get, .head, .post, .options], Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.token, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.register, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.introspect, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.revoke, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.pushedRequests, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.deviceAuthorization, token, Endpoints.tokenEndpoint(_:_:)),
        Endpoint(.tokenKeys, [.get, .head, .options], isImmediate: true, Endpoints.tokenEndpoint(_:_:)),
        // Parts of pages
        Endpoint(.passkeyScript, read, isImmediate: true, Endpoints.passkeyScript(_:)),
        Endpoint(.style, read, isImmediate: true, Endpoints.style(_:)),
        Endpoint(.icon, read, isImmediate: true, Endpoints.icon(_:)),
        Endpoint(.pictures, read, suffix: .picture, isImmediate: true, Endpoints.picture(_:named:)),
    ]

    /// The rows of ``table`` by their paths.
    static let all = Dictionary(uniqueKeysWithValues: table.map { ($0.path, $0) })
}

// MARK: What responds, where one type or one line does

extension Endpoints {
    func callback(_ request: EndpointRequest, provider: String) async throws(Failure) -> Response {
        try await self.steps.limited(request) { guess throws(Failure) in
            try await self.callback(request, provider: provider, guess)
        }
    }

    func recover(_ request: EndpointRequest, provider: String) async throws(Failure) -> Response {
        try await AccountMailEndpoint(.recovery, provider: provider, self.runtime).response(to: request)
    }

    func join(_ request: EndpointRequest, provider: String) async throws(Failure) -> Response {
        try await AccountMailEndpoint(.registration, provider: provider, self.runtime).response(to: request)
    }

    func connected(_ request: EndpointRequest) async throws(Failure) -> Response {
        try await ConnectedEndpoint(runtime: self.runtime).response(to: request)
    }

    func signOutPageOrEnd(_ request: EndpointRequest) async throws(Failure) -> Response {
        request.method == .post ? try await self.signOut(request) : try await self.signOutPage(request)
    }

    func backChannelLogout(_ request: EndpointRequest, provider: String) async -> Response {
        await ProviderLogoutEndpoints(runtime: self.runtime).backChannel(request, provider: provider)
    }

    func frontChannelLogout(_ request: EndpointRequest, provider: String) async throws(Failure) -> Response {
        try await ProviderLogoutEndpoints(runtime: self.runtime).frontChannel(request, provider: provider)
    }

    /// Rejects the question of a proxy: that of one that may ask does not reach this endpoint.
    func forwardAuth(_ request: EndpointRequest) throws(Failure) -> Response {
        let detail =
            "'gateway.forward_auth' is missing, or the path is spelled otherwise than \(self.runtime.path(.auth))"
        throw Failure(.forwardAuthPeer, detail)
    }

    func assertionKeys(_ request: EndpointRequest) -> Response { Rendering.keys(self.runtime.keys) }

    /// Responds to clients; without any, `userinfo` to browsers.
    func tokenEndpoint(_ address: EndpointPath, _ request: EndpointRequest) async throws(Failure) -> Response {
        guard let issuer = self.runtime.clients.issuer, self.isOnGatewayHost(request) else {
            guard address == .userinfo else { throw self.noClients }
            return try await self.userinfo(request)
        }
        let endpoints = TokenEndpoints(runtime: self.runtime, issuer: issuer)
        switch address {
        case .userinfo where request.authorization == nil: return try await self.userinfo(request)
        case .userinfo: return await endpoints.userinfo(request)
        case .tokenKeys: return endpoints.keys()
        case .register:
            guard issuer.open.dynamic else {
                throw Failure(.endpointNone, "'dynamic' of 'gateway.client_registration' is off")
            }
            return await endpoints.register(request)
        default: return await endpoints.response(to: request, at: address)
        }
    }

    /// The profile of the signed-in user.
    ///
    /// RFC 6749 has no word for it; OpenID Connect Core §5.3 has.
    private func userinfo(_ request: EndpointRequest) async throws(Failure) -> Response {
        guard case .session(let session) = try await self.confirmedSession(of: request, mayAskUser: false) else {
            throw Failure(.sessionNone, "userinfo without a session")
        }
        return Rendering.json(200, session.profile.json)
    }

    func passkeyScript(_ request: EndpointRequest) -> Response {
        Rendering.script(version: request.query?["v"], acceptsGzip: request.acceptsGzip)
    }

    func style(_ request: EndpointRequest) -> Response {
        self.runtime.rendering.style(version: request.query?["v"], acceptsGzip: request.acceptsGzip)
    }

    func icon(_ request: EndpointRequest) -> Response { Rendering.icon.response(acceptsGzip: request.acceptsGzip) }

    func picture(_ request: EndpointRequest, named name: String) throws(Failure) -> Response {
        let picture = self.runtime.rendering.picture(named: name, acceptsGzip: request.acceptsGzip)
        guard let picture else { throw Failure(.endpointNone, "there is no picture of this name") }
        return picture
    }
}

extension Profile {
    /// The profile as the endpoint `userinfo` shows it; what is not known is left out.
    var json: JSON {
        var members: [String: JSON] = [
            "user": .string(self.user), "provider": .string(self.provider), "issuer": .string(self.issuer),
            "subject": .string(self.subject), "email_verified": .bool(self.emailVerified),
            "email_authoritative": .bool(self.emailAuthoritative), "groups": .array(self.groups.map { .string($0) }),
            "roles": .array(self.roles.map { .string($0) }),
            "groups_complete": .bool(self.groupsComplete && self.groupsRequested == nil),
        ]
        let optional = [
            "tenant": self.tenant, "username": self.username, "name": self.name, "given_name": self.givenName,
            "family_name": self.familyName, "email": self.email, "picture": self.picture, "locale": self.locale,
        ]
        for case (let name, let value?) in optional {
            members[name] = .string(value)
        }
        if let authTime { members["auth_time"] = .int(authTime.seconds) }
        return .object(members)
    }
}
