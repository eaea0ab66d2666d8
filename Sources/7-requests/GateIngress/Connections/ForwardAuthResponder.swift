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

/// Responds to the requests of a proxy that asks, with the same decisions as for requests that are forwarded.
struct ForwardAuthResponder {
    private let responder: GatewayResponder
    private let settings: ForwardAuthSettings

    /// A responder over the connection of another one.
    init(_ responder: GatewayResponder, _ settings: ForwardAuthSettings) {
        self.responder = responder
        self.settings = settings
    }

    private var loop: LoopState { self.responder.loop }

    // MARK: Questions

    /// Takes a request if it is one of a proxy that asks.
    func takes(_ request: IngressRequest) -> Bool {
        let path = request.runtime.hosts.forwardAuthPath
        let isAsked =
            self.settings.dialect == .envoyGRPC
            ? CheckRequest.isCarried(by: request.head) : ForwardAuthRequest.isAsked(by: request.head, at: path)
        guard isAsked else { return false }
        guard self.isListed(request.source) else {
            let help = "list it in 'from' of 'gateway.forward_auth' if it is your proxy"
            let detail = "\(request.source.peerText) asks for a decision; \(help)"
            self.refuseQuestion(Failure(.forwardAuthPeer, detail), request)
            return true
        }
        guard self.settings.dialect == .envoyGRPC else {
            self.decide(about: request.head, askedIn: request, isCheck: false)
            return true
        }
        self.responder.readCheck()
        if self.responder.body.isComplete { self.decideAboutCheck(request) }
        return true
    }

    private func isListed(_ source: RequestSource) -> Bool {
        source.peer.map { peer in self.settings.from.contains { $0.contains(peer) } } ?? source.isTrustedPeer
    }

    /// Decides about the request that a whole message of Envoy describes.
    ///
    /// A message that cannot be decoded gets an error of gRPC; whatever is wrong with the client's request is a decision.
    func decideAboutCheck(_ request: IngressRequest) {
        do throws(Failure) {
            let message = try CheckRequest(body: self.responder.takeBody())
            let check = IngressRequest(request.head, by: .check, in: request)
            self.responder.replaceRequest(check)
            do throws(Failure) {
                let names = request.runtime.fieldNames
                let head = try message.head(below: request.runtime.hosts.forwardAuthPath, names: names)
                self.decide(about: head, askedIn: check, isCheck: true)
            } catch {
                self.refuseQuestion(error, check)
            }
        } catch {
            self.refuseQuestion(error, request)
        }
    }

    /// Puts the request that a proxy asks about in the place of the proxy's own, and decides about it.
    private func decide(about head: RequestHead, askedIn question: IngressRequest, isCheck: Bool) {
        let runtime = question.runtime
        let asked: ForwardAuthRequest
        do throws(Failure) {
            asked = try ForwardAuthRequest(of: head, in: self.settings.dialect, for: runtime)
        } catch {
            let host = ForwardAuthRequest.host(of: head, in: self.settings.dialect, for: runtime)
            if let route = host.flatMap(runtime.routes.shadowed(on:)) {
                let comparison = ShadowComparison(error, other: self.otherStatus(of: head))
                let asker: IngressRequest.Asker = isCheck ? .check : .client
                return self.pass(IngressRequest(head, by: asker, in: question), inShadowOf: route, comparison)
            }
            let use = ForwardAuthRequest.use(head, self.settings.dialect, at: runtime.hosts.forwardAuthPath)
            return self.refuseQuestion(error, question, use: use)
        }
        let request = IngressRequest(asked.original, by: .proxy(asked, isCheck: isCheck), in: question)
        self.responder.replaceRequest(request)
        self.responder.decide(about: request)
    }

    /// Rejects a request for a decision in which no original request was found.
    private func refuseQuestion(
        _ failure: Failure,
        _ request: IngressRequest,
        use: ForwardAuthRequest.Use = .response
    ) {
        request.record?.decision = .rejected
        request.progress = .atEndpoint
        let response = request.runtime.rendering.response(to: failure, for: request.clientKind)
        self.responder.respond(ForwardAuthRequest.rendered(response, for: use))
    }

    // MARK: Decisions

    /// Responds to a proxy that asks.
    ///
    /// - Returns: Whether it responded; otherwise the step is carried out as on any other request.
    func responds(to asked: ForwardAuthRequest, by step: Step, _ request: IngressRequest) -> Bool {
        if case .need = step { return false }
        let failure = asked.failure(of: step)
        if let route = request.route ?? request.runtime.routes.shadowed(on: request.host), route.isShadowed {
            var comparison = ShadowComparison(failure, other: self.otherStatus(of: asked.asking))
            if case .forward(_, nil) = step { comparison.isOpen = true }
            self.pass(request, inShadowOf: route, comparison)
            return true
        }
        switch step {
        case .forward(let route, let identity):
            guard let failure else {
                self.admit(request, to: route, identity, asked)
                return true
            }
            self.responder.refuse(failure, request)
        case .endpoint, .respond:
            if let failure { self.responder.refuse(failure, request) }
        case .signIn(let route, let needed):
            guard asked.use == .status else { return false }
            let redirect = SignInRedirect(runtime: request.runtime)
            self.responder.respond(redirect.status(for: request.head, route: route, step: needed))
        case .reject, .wrongMethod, .need: return false
        }
        return true
    }

    /// Lets a request pass, with the identity that the proxy copies into it.
    private func admit(
        _ request: IngressRequest,
        to route: RuntimeRoute,
        _ identity: ByteBuffer?,
        _ asked: ForwardAuthRequest
    ) {
        guard asked.use != .rejection else {
            let detail = "the proxy rejected a request that may pass: see its own rules for \(route.name), and its log"
            return self.responder.refuse(Failure(.forwardAuthAdmitted, detail), request)
        }
        var response = Response(200, fields: route.identityResponse.fields(about: request.head, identity: identity))
        if identity != nil, let renewal = SessionRenewal(of: request, loop: self.loop) {
            let cookies = renewal.cookies(for: request.head) ?? []
            // nginx copies one field; half of a session would be none.
            if asked.use != .status || cookies.count == 1 { response.addCookies(cookies) }
        }
        self.responder.respond(response, to: request, on: route)
    }

    /// Lets a request pass whatever was decided, without an identity, and notes what another proxy would not have done.
    private func pass(_ request: IngressRequest, inShadowOf route: RuntimeRoute, _ comparison: ShadowComparison) {
        if comparison.isNoted {
            let decision = comparison.decision
            var known = IncidentRequest(request, status: 200)
            (known.app, known.route, known.decision) = (route.name, route.route.path, decision)
            if [.denied, .allowed].contains(decision), let session = request.session(self.loop) {
                (known.user, known.provider) = (session.session.profile.user, session.session.profile.provider)
                known.rule = request.rule
            }
            request.runtime.note(comparison, of: known, on: route)
        }
        self.responder.respond(Response(200), to: request, on: route)
    }

    /// The status with which a proxy in shadow mode has decided itself; nil where none is configured to report it.
    private func otherStatus(of request: RequestHead) -> String? {
        self.settings.reportsStatus ? ForwardAuthRequest.otherStatus(of: request) : nil
    }
}

extension ForwardAuthRequest {
    /// Why the request may not pass; nil if it may, or if something has to be looked up first.
    func failure(of step: Step) -> Failure? {
        switch step {
        case .reject(let failure, _): return failure
        case .endpoint, .respond:
            return Failure(
                .forwardAuthURL,
                "the path belongs to the gateway, to which the proxy has to forward \(self.endpoints)/"
            )
        case .wrongMethod(let route):
            return Failure(
                .routeMethod,
                "\(self.original.method.rawValue) is not one of the 'methods' of \(route.name)"
            )
        case .signIn(let route, _):
            return Failure(.signInRequired, "\(route.name) needs a session that it accepts")
        case .need: return nil
        case .forward(let route, _):
            guard self.opensWebSocket else { return nil }
            guard let rule = route.webSocket else {
                return Failure(.requestNoWebSocket, "\(route.name) accepts no WebSockets")
            }
            guard !rule.admits(self.original) else { return nil }
            let origin = self.original.message.value(.origin) ?? "no origin"
            return Failure(.requestCrossSiteWebSocket, "opened by \(origin)")
        }
    }
}
