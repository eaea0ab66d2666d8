// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GateOperations
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTracing
internal import GateWire
internal import NIOCore

// MARK: Work that outlasts a turn of the event loop: the session store, the issuers, the endpoints
extension GatewayResponder {
    /// How many requests of one loop may wait for the store.
    private static let maxLookUps = 2000
    /// How many may wait at endpoints, mostly for a provider; fewer, so that a provider that hangs does not affect users
    /// who are signed in.
    private static let maxEndpointRequests = 1000

    /// Looks up what a decision needs, and decides again.
    func lookUp(_ lookUp: LookUp, for request: IngressRequest) {
        switch lookUp {
        case .session(let sought):
            self.holdBody(of: request)
            self.lookUp(sought, for: request)
        case .verification(let credential, let issuer):
            self.holdBody(of: request)
            self.verify(credential, at: issuer, for: request)
        case .messages: if let route = request.route { self.readMessages(of: request, on: route) }
        // Deciding spends it.
        case .proof: self.decide(about: request)
        }
    }

    private func holdBody(of request: IngressRequest) {
        guard request.head.framing != .none || request.head.isExtendedConnect, !self.body.isComplete else { return }
        self.connection?.pauseReading()
    }

    private func lookUp(_ sought: SoughtSession, for request: IngressRequest) {
        let (ticket, host, head) = (sought.ticket, sought.host, request.head)
        // A form or a part of another page cannot be led over the provider and be repeated afterwards.
        let mayAskUser =
            (head.method == .get || head.method == .head)
            && ClientKind(head).wantsPage && EndpointRequest.isNavigation(head)
        let lookUp = SessionLookUp(runtime: request.runtime, route: request.route)
        request.progress = .lookedUp
        self.wait(counting: \.lookUps, upTo: GatewayResponder.maxLookUps, for: request) {
            await lookUp.result(for: ticket, host: host, mayAskUser: mayAskUser)
        } then: { responder, request, result in
            responder.resume(request, with: result, of: ticket, by: lookUp)
        }
    }

    /// The store has responded.
    func resume(
        _ request: IngressRequest,
        with result: Result<SessionLookUp.Found, Failure>,
        of ticket: Ticket,
        by lookUp: SessionLookUp
    ) {
        let lookedUp: LookedUp
        switch result {
        case .failure(let failure): lookedUp = .unavailable(failure)
        case .success(.needsUser(let session)): lookedUp = .needsUser(provider: session.provider)
        case .success(.session(let session)):
            self.loop.remember(session, of: ticket, in: request.runtime.sessions, foundBy: lookUp)
            lookedUp = .done
        case .success(.none): lookedUp = .done
        }
        request.resume(on: self.loop, after: lookedUp)
        self.decide(about: request)
    }

    private func verify(_ credential: MachineCredential, at issuer: TokenIssuer, for request: IngressRequest) {
        self.wait(counting: \.verifications, upTo: LoopState.maxVerifications, for: request) {
            await MachineVerifier.result(of: credential, at: issuer)
        } then: { responder, request, result in
            request.runtime.services.metrics.verified(issuer.id, result: result)
            request.resume(on: responder.loop, after: .done)
            responder.loop.remember(result, of: credential, at: issuer)
            responder.decide(about: request)
        }
    }

    /// Begins the sign-in of a navigation at once where the user has nothing to choose: being redirected to the start would
    /// cost the browser a round trip, and lead to the same response.
    ///
    /// - Returns: Whether it did.
    func beginsSignIn(_ request: IngressRequest, on route: RuntimeRoute) -> Bool {
        let (head, runtime) = (request.head, request.runtime)
        guard head.method == .get, head.framing == .none, ClientKind(head).wantsPage,
            EndpointRequest.isNavigation(head),
            let provider = SignInRedirect(runtime: runtime).onlyProvider(of: head, on: route)
        else { return false }
        let path = runtime.returnPath(of: head, on: route)
        let start = self.endpointRequest(request).redirected(toStartOf: provider.id, returningTo: path, at: runtime)
        self.count(Response.Rejection(.signInRequired), of: request, status: 303)
        request.progress = .inPlaceOfApp
        self.respond(from: start, to: request)
        return true
    }

    /// Lets an endpoint respond, now that the body is complete.
    func respondFromEndpoint() {
        guard let request else { return }
        self.respond(from: self.endpointRequest(request), to: request)
    }

    private func endpointRequest(_ request: IngressRequest) -> EndpointRequest {
        self.noteForwarding(request)
        var own = EndpointRequest(
            request.head,
            body: self.body.bytes,
            downstream: request.downstream,
            runtime: request.runtime,
            now: self.loop.clock.now
        )
        own.clientKind.request = request.id.text
        return own
    }

    /// Reports a proxy of this network that is missing in `trusted_proxies`; only here, since each user signs in.
    private func noteForwarding(_ request: IngressRequest) {
        guard !request.downstream.isTrusted, let peer = self.source.peer,
            request.head.message.value(.xForwardedFor) != nil,
            CIDRRange.internalNetworks.contains(where: { $0.contains(peer) })
        else { return }
        request.runtime.services.log.forwardingIgnored(from: self.source.peerText)
    }

    private func respond(from own: EndpointRequest, to request: IngressRequest) {
        let loop = self.loop.loop
        let bound = NIOLoopBound((state: self.loop, sessions: request.runtime.sessions), eventLoop: loop)
        // Most browsers come back at once and on the same connection: the new session need not be read from the store.
        let endpoints = Endpoints(runtime: request.runtime) { issued in
            loop.execute { bound.value.state.remember(issued.session, of: issued.ticket, in: bound.value.sessions) }
        }
        let limit = endpoints.isImmediate(own) ? Int.max : GatewayResponder.maxEndpointRequests
        self.wait(counting: \.ownRequests, upTo: limit, for: request) {
            await endpoints.response(to: own)
        } then: { responder, _, response in
            responder.respond(response)
        }
    }
}
