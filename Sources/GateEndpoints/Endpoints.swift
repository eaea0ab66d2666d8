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
package import GateTokenEndpoints
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
                let takesTokens = self.runtime.issuer != nil && self.address(of: request) == .userinfo
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
        guard parts.count == 2, EndpointPath(rawValue: parts[0])?.takesProvider == true else { return nil }
        return self.runtime.provider(parts[1])?.id
    }

    /// Whether the response needs no provider and no store.
    package func isImmediate(_ request: EndpointRequest) -> Bool {
        guard self.sessionAPI(request) == nil else { return false }
        return self.runtime.wellKnown.document(host: request.origin.host, path: request.path) != nil
            || self.address(of: request)?.isImmediate ?? true
    }

    /// The endpoint that a path names; `/` is the list of apps where no app has it.
    func address(of request: EndpointRequest) -> EndpointPath? {
        guard self.sessionAPI(request) == nil else { return nil }
        return request.path == "/" ? .apps : self.segments(of: request).first.flatMap { EndpointPath(rawValue: $0) }
    }

    /// What a path names below that of the session API; nil if it is not there.
    private func sessionAPI(_ request: EndpointRequest) -> String? {
        guard let prefix = self.runtime.sessionAPI, self.isOnGatewayHost(request) else { return nil }
        guard request.path != prefix else { return "" }
        return request.path.hasPrefix("\(prefix)/") ? String(request.path.dropFirst(prefix.count + 1)) : nil
    }

    private func route(_ request: EndpointRequest) async throws(Failure) -> Response {
        if let document = self.runtime.wellKnown.document(host: request.origin.host, path: request.path) {
            return self.wellKnown(document, request)
        }
        if let name = self.sessionAPI(request), let issuer = self.runtime.issuer {
            let tokens = TokenEndpoints(runtime: self.runtime, issuer: issuer)
            return await SessionAPI(steps: self.steps, tokens: tokens).response(to: request, at: name)
        }
        let provider = self.segments(of: request).dropFirst().joined(separator: "/")
        guard let address = self.address(of: request), provider.isEmpty || address.takesName
        else { throw Failure(.endpointNone, "the gateway has no endpoint of this name") }
        if let reason = request.refusedPath, Endpoints.leadingOn.contains(address) {
            self.runtime.log.returnPathRefused(reason, at: address.rawValue)
        }
        let isForSessions = address == .userinfo && self.runtime.issuer == nil
        guard address.methods.contains(request.method), !isForSessions || [.get, .head].contains(request.method) else {
            return self.wrongMethod(request, at: address)
        }
        switch address {
        case .signIn: return self.signIn(request)
        case .start:
            return try await self.steps.counted(.start, provider) { () throws(Failure) in
                try await self.start(request, provider: provider)
            }
        case .callback:
            try self.requireNavigation(request)
            return try await self.steps.counted(.callback, provider) { () throws(Failure) in
                try await self.steps.limited(request) { guess throws(Failure) in
                    try await self.callback(request, provider: provider, guess)
                }
            }
        case .password:
            return try await self.steps.counted(.callback, provider) { () throws(Failure) in
                try await self.steps.limited(request) { () throws(Failure) in
                    try await self.password(request, provider: provider)
                }
            }
        case .accountLink:
            try self.requireNavigation(request)
            return try await self.steps.limited(request) { () throws(Failure) in
                try await self.accountLink(request, provider: provider)
            }
        case .recover, .join:
            try self.requireNavigation(request)
            let purpose = address == .recover ? AccountMailEndpoint.Purpose.recovery : .registration
            return try await self.steps.limited(request) { () throws(Failure) in
                try await AccountMailEndpoint(purpose, provider: provider, self.runtime).response(to: request)
            }
        case .credentials: return try await self.credentials(request)
        case .passkey: return try await self.passkey(request)
        case .passkeys: return try await self.passkeys(request)
        case .connected:
            return try await self.steps.limited(request) { () throws(Failure) in
                try await ConnectedEndpoint(runtime: self.runtime).response(to: request)
            }
        case .passkeyScript:
            return Rendering.script(version: request.query?["v"], acceptsGzip: request.acceptsGzip)
        case .signOut where request.method == .post: return try await self.signOut(request)
        case .signOut: return try await self.signOutPage(request)
        case .backChannelLogout:
            return await ProviderLogoutEndpoints(runtime: self.runtime).backChannel(request, provider: provider)
        case .frontChannelLogout:
            return try await ProviderLogoutEndpoints(runtime: self.runtime).frontChannel(request, provider: provider)
        case .userinfo, .token, .register, .introspect, .revoke, .pushedRequests, .deviceAuthorization, .tokenKeys:
            guard request.method != .options else { return TokenEndpoints.preflight(address.methods) }
            return try await self.tokenEndpoint(address, request)
        case .authorize: return try await self.authorize(request)
        case .device: return try await self.device(request)
        case .endSession: return try await self.endSession(request)
        case .apps: return try await self.apps(request)
        case .sessionTransfer: return try await self.sessionTransfer(request)
        case .resume: return try self.resume(request)
        case .auth:
            let detail =
                "'gateway.forward_auth' is missing, or the path is spelled otherwise than \(self.runtime.path(.auth))"
            throw Failure(.forwardAuthPeer, detail)
        case .keys: return self.jwks()
        case .account: return try await self.account(request)
        case .style:
            return self.runtime.rendering.style(version: request.query?["v"], acceptsGzip: request.acceptsGzip)
        case .icon: return Rendering.icon.response(acceptsGzip: request.acceptsGzip)
        case .pictures:
            let picture = self.runtime.rendering.picture(named: provider, acceptsGzip: request.acceptsGzip)
            guard let response = picture else {
                throw Failure(.endpointNone, "there is no picture of this name")
            }
            return response
        }
    }

    /// The endpoints that lead on to `rd`.
    private static let leadingOn: Set<EndpointPath> = [.signIn, .start, .signOut, .passkey, .passkeys, .connected]

    /// Rejects what a page of another site loads as an image or frame: it would count as a failed attempt of the user's
    /// network.
    func requireNavigation(_ request: EndpointRequest) throws(Failure) {
        guard request.isNavigation else {
            throw Failure(.requestNotNavigation, "a sign-in consists of navigations of the user")
        }
    }

    /// The segments of the path after the prefix of endpoints; none of a path that is not below it.
    func segments(of request: EndpointRequest) -> [String] {
        guard let name = self.runtime.endpoints.name(in: request.path) else { return [] }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            String(Substring($0))
        }
    }

    /// Rejects the method and lists those of the endpoint.
    ///
    /// RFC 9110 §15.5.6.
    private func wrongMethod(_ request: EndpointRequest, at address: EndpointPath) -> Response {
        let failure = Failure(
            .endpointMethod,
            "\(request.method.rawValue) for \(address.rawValue)"
        )
        var response = self.runtime.rendering.response(to: failure, for: request.clientKind)
        response.head.headerFields[.allow] = address.methods.map(\.rawValue).joined(separator: ", ")
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
        request.origin.host == self.runtime.publicOrigin.host
    }

    /// A document below `/.well-known/`, which pages of any origin may read.
    private func wellKnown(_ document: [UInt8], _ request: EndpointRequest) -> Response {
        guard request.method != .options else { return TokenEndpoints.preflight(EndpointPath.tokenKeys.methods) }
        guard request.method == .get || request.method == .head else {
            return self.wrongMethod(request, at: .tokenKeys)
        }
        var fields: HTTPFields = [.contentType: "application/json", .xContentTypeOptions: "nosniff"]
        fields[.cacheControl] = "public, max-age=300"
        fields[.accessControlAllowOrigin] = "*"
        return Response(200, fields: fields, body: document)
    }

    private func tokenEndpoint(_ address: EndpointPath, _ request: EndpointRequest) async throws(Failure) -> Response {
        guard let issuer = self.runtime.issuer, self.isOnGatewayHost(request) else {
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

    /// The failure of an endpoint for clients without clients.
    var noClients: Failure {
        Failure(.endpointNone, "the file has no 'clients', or the host is not that of public_url")
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

    /// The keys that verify assertions.
    private func jwks() -> Response { Rendering.keys(self.runtime.keys) }
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
