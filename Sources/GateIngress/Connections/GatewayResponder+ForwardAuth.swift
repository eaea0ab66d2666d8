// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import NIOCore

extension GatewayResponder {
    func isListed(_ settings: ForwardAuthSettings) -> Bool {
        self.peer.map { peer in settings.from.contains { $0.contains(peer) } } ?? self.isTrustedPeer
    }

    func refusePeer() {
        let help = "list it in 'from' of 'gateway.forward_auth' if it is your proxy"
        self.refuseQuestion(Failure(.forwardAuthPeer, "\(self.peerText) asks for a decision; \(help)"))
    }

    /// The status with which a proxy in shadow mode has decided itself; nil where none is configured to report it.
    private func otherStatus(of request: RequestHead) -> String? {
        guard self.runtime.forwardAuth?.reportsStatus ?? false else { return nil }
        return ForwardAuthRequest.otherStatus(of: request)
    }

    func isCheck(_ request: RequestHead) -> Bool {
        self.runtime.forwardAuth?.dialect == .envoyGRPC && CheckRequest.isCarried(by: request)
    }

    /// Waits for the message in which Envoy asks.
    func beginCheck(_ settings: ForwardAuthSettings) {
        guard self.isListed(settings) else { return self.refusePeer() }
        self.check = .receiving
        if self.isRequestComplete { self.decideAboutCheck() }
    }

    /// Decides about the request that a whole message describes.
    ///
    /// A message that cannot be decoded gets an error of gRPC; whatever is wrong with the client's request is a decision.
    func decideAboutCheck() {
        guard let settings = self.runtime.forwardAuth else { return }
        let body = self.held.flatMap { Array($0.readableBytesView) }
        self.held.removeAll()
        do throws(Failure) {
            let message = try CheckRequest(body: body)
            self.check = .decoded
            let names = self.runtime.fieldNames
            self.beginForwardAuth(try message.head(below: self.runtime.forwardAuthPath, names: names), settings)
        } catch {
            self.refuseQuestion(error)
        }
    }

    /// Puts the request that a proxy asks about in the place of the proxy's own, and decides about it.
    func beginForwardAuth(_ request: RequestHead, _ settings: ForwardAuthSettings) {
        guard self.isListed(settings) else { return self.refusePeer() }
        let asked: ForwardAuthRequest
        do throws(Failure) {
            asked = try ForwardAuthRequest(of: request, in: settings.dialect, for: self.runtime)
        } catch {
            let host = ForwardAuthRequest.host(of: request, in: settings.dialect, for: self.runtime)
            if let route = host.flatMap(self.runtime.shadowedRoute(on:)) {
                return self.pass(
                    request,
                    inShadowOf: route,
                    ShadowComparison(error, other: self.otherStatus(of: request))
                )
            }
            return self.refuseQuestion(
                error,
                use: ForwardAuthRequest.use(request, settings.dialect, at: self.runtime.forwardAuthPath)
            )
        }
        self.request = asked.original
        self.forwardAuth = asked
        let path = self.path(of: asked.original)
        let verdict = path.verdict(for: asked.original, over: nil) { self.ruledClient(of: asked.original) }
        guard let route = path.route(of: asked.original) else { return self.carryOut(verdict) }
        let reportsStatus = settings.reportsStatus && route.isShadowed
        let own = self.certificateFields(of: asked)
        if let name = asked.foreignField(reportsStatus: reportsStatus, keeping: route.requestChanges, setByProxy: own) {
            let help =
                "remove it in the proxy, from the request to the gateway and from that to the app; if the app takes no "
                + "identity from it, write 'request_headers: { keep: [\(name)] }' for the app"
            self.carryOut(.refused(Failure(.forwardAuthHeader, "the client sent '\(name)'; \(help)")))
        } else if route.forwardAuth == nil {
            self.carryOut(.refused(Failure(.forwardAuthApp, "\(route.name) has no 'forward_auth'")))
        } else {
            self.carryOut(verdict)
        }
    }

    /// The names of the header with the certificate that the proxy passes on, and of that with its chain, in lower case.
    ///
    /// Where no certificate came, a chain is the client's own.
    private func certificateFields(of asked: ForwardAuthRequest) -> [String] {
        guard self.downstream.isTrusted, let policy = self.certificatePolicy, let header = policy.settings.header else {
            return []
        }
        guard case .certificate? = policy.forwarded?.certificate(in: asked.asking.message) else {
            return [header.name.lowercased()]
        }
        return [header.name, header.form.chainHeader].compactMap { $0?.lowercased() }
    }

    /// Rejects a request for a decision in which no original request was found.
    func refuseQuestion(_ failure: Failure, use: ForwardAuthRequest.Use = .response) {
        self.record?.decision = .rejected
        self.isAtEndpoint = true
        let response = self.runtime.rendering.response(to: failure, for: self.clientKind)
        self.respond(ForwardAuthRequest.rendered(response, for: use))
    }

    /// Responds to a proxy that asks, and rejects other requests for apps about which only proxies may ask.
    ///
    /// - Returns: Whether it responded; otherwise the verdict is carried out as on any other request.
    func respondedForProxy(_ verdict: Verdict, about request: RequestHead) -> Bool {
        guard let asked = self.forwardAuth else {
            guard let route = verdict.route, route.forwardAuth != nil else { return false }
            let detail =
                "'forward_auth' of \(route.name): another proxy forwards its requests, and none came through that"
            self.refuse(Failure(.forwardAuthOnly, detail), request)
            return true
        }
        switch verdict {
        case .needsSession, .needsVerification, .needsMessages: return false
        case .refused, .scopesNeeded, .endpoint, .respond, .wrongMethod, .signInNeeded, .forwarded: break
        }
        let failure = asked.failure(of: verdict)
        let route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request)
        if let route = route ?? self.runtime.shadowedRoute(on: request.authority.host), route.isShadowed {
            var comparison = ShadowComparison(failure, other: self.otherStatus(of: asked.asking))
            if case .forwarded(_, nil) = verdict { comparison.isOpen = true }
            self.pass(request, inShadowOf: route, comparison)
            return true
        }
        switch verdict {
        case .forwarded(let route, let identity):
            if let failure { self.refuse(failure, request) } else { self.admit(request, to: route, identity, asked) }
        case .endpoint, .respond:
            if let failure { self.refuse(failure, request) }
        case .signInNeeded(let route, let step):
            guard asked.use == .status else { return false }
            self.respond(SignInRedirect(runtime: self.runtime).status(for: request, route: route, step: step))
        case .refused, .scopesNeeded, .wrongMethod, .needsSession, .needsVerification, .needsMessages:
            return false
        }
        return true
    }

    /// Lets a request pass, with the identity that the proxy copies into it.
    func admit(
        _ request: RequestHead,
        to route: RuntimeRoute,
        _ identity: ByteBuffer?,
        _ asked: ForwardAuthRequest
    ) {
        guard asked.use != .rejection else {
            let detail = "the proxy rejected a request that may pass: see its own rules for \(route.name), and its log"
            return self.refuse(Failure(.forwardAuthAdmitted, detail), request)
        }
        var response = Response(200, fields: route.identityResponse.fields(about: request, identity: identity))
        if identity != nil, let renewal = RequestPath(runtime: self.runtime, loop: self.loop).renewal(with: request) {
            let cookies = renewal.cookies(for: request) ?? []
            // nginx copies one field; half of a session would be none.
            if asked.use != .status || cookies.count == 1 { response.addCookies(cookies) }
        }
        self.respond(response, on: route)
    }

    /// Lets a request pass whatever was decided, without an identity, and notes what another proxy would not have done.
    func pass(_ request: RequestHead, inShadowOf route: RuntimeRoute, _ comparison: ShadowComparison) {
        if comparison.isNoted {
            let decision = comparison.decision
            var known = IncidentRequest()
            (known.id, known.status, known.client) = (self.requestID.text, 200, self.clientText)
            (known.app, known.route, known.decision) = (route.name, route.route.path, decision)
            (known.method, known.host) = (request.method.rawValue, request.authority.host)
            known.path = request.path.text(in: request.message)
            let path = RequestPath(runtime: self.runtime, loop: self.loop)
            if [.denied, .allowed].contains(decision), let session = path.cachedSession(of: request) {
                (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
                known.rule = session.rule
            }
            self.runtime.note(comparison, of: known, on: route)
        }
        self.respond(Response(200), on: route)
    }
}

/// How far a call is in which Envoy asks over gRPC.
enum Check {
    case none
    case receiving
    case decoded
}
