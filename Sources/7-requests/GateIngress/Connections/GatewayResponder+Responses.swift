// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateHeaders
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateTracing
internal import GateWire
internal import HTTPTypes

// MARK: Responses without the app
extension GatewayResponder {
    /// Responds to a request that is not forwarded, because of the route's direct response or because its body is too long.
    ///
    /// - Returns: Whether it responded.
    func respondsDirectly(_ request: IngressRequest, on route: RuntimeRoute, isOpen: Bool) -> Bool {
        if let direct = route.directResponse {
            let response = direct.response(to: request.head, isOpen: isOpen)
            self.respond(response, to: request, on: route)
            return true
        }
        guard case .length(let length) = request.head.framing, length > route.maxBody else { return false }
        let response = request.runtime.rendering.response(to: route.bodyTooLarge, for: request.clientKind)
        self.respond(response, to: request, on: route)
        return true
    }

    /// Sends a response of the gateway that counts as one of the route.
    func respond(_ response: Response, to request: IngressRequest, on route: RuntimeRoute) {
        request.count(response.head.status.code, of: route, by: self.loop.telemetry)
        self.respond(response)
    }
}

extension GatewayResponder {
    /// Rejects a request; its access token should have all of the scopes.
    func refuse(_ failure: Failure, _ request: IngressRequest, scopes: [String] = []) {
        let clientKind = request.clientKind
        var context = PageContext()
        if clientKind.wantsPage {
            context.isOurHost = request.runtime.hosts.serves(request.host)
            if failure.isOfApp { self.complete(&context, for: request) }
        }
        switch failure.reason {
        case .policyCertificate, .clientCertificateMissing, .clientCertificateRejected:
            context.issuers = request.runtime.front.certificateIssuers
            // A client that has one by now presents it on a new connection only. That of a proxy serves other clients.
            if !request.downstream.isTrusted, request.asked == nil { self.connection?.replaceConnection() }
        case .requestMisdirected where self.source.certificatePolicy != nil:
            // The connection may be older than the demand for a certificate.
            if self.source.certificates.mayLackCertificate(for: request.host) {
                self.connection?.replaceConnection()
            }
        default: break
        }
        if failure.kind == .forbidden {
            context.userKey = request.session(self.loop)?.session.profile.user
        }
        var response = request.runtime.rendering.response(to: failure, for: clientKind, context: context)
        if failure.reason == .tokenRejected { self.challenge(&response, request, isRejected: true) }
        if let route = request.route, !scopes.isEmpty {
            let challenge = request.runtime.clients.challenge(on: route, scopes: scopes, to: request.head)
            response.head.headerFields[.wwwAuthenticate] = challenge
        }
        if failure.kind == .forbidden, request.head.method == .post, request.route?.maxMCPBody != nil {
            response = response.asDenial(of: request.messages, asksForScopes: !scopes.isEmpty)
        }
        self.respond(response)
    }

    /// Adds to a 401 which tokens the app accepts.
    func challenge(_ response: inout Response, _ request: IngressRequest, isRejected: Bool) {
        guard response.head.status.code == 401, let route = request.route,
            route.takesMachines || route.takesTokens
        else { return }
        // A browser would show its dialog for a password.
        let message = request.head.message
        let isBrowser = message.first(.secFetchMode) != nil || message.first(.xRequestedWith) != nil
        let further = request.runtime.clients.challenges(
            on: route,
            to: request.head,
            isRejected: isRejected,
            asksForPassword: !isBrowser
        )
        let known = response.head.headerFields[values: .wwwAuthenticate]
        response.head.headerFields[values: .wwwAuthenticate] = further + known
    }

    /// Lets pages of an origin that may write to the app read why a call of theirs was rejected.
    func exposeRejection(_ response: inout Response, to request: IngressRequest) {
        guard response.head.status.code >= 400, let origin = request.head.message.value(.origin),
            let route = request.route, route.takesWrites, request.admitsPage(of: origin, on: route)
        else { return }
        response.head.headerFields[.accessControlAllowOrigin] = origin
        response.head.headerFields[.accessControlAllowCredentials] = "true"
        response.head.headerFields[.accessControlExposeHeaders] = "WWW-Authenticate, X-Request-Id, Retry-After"
        response.head.headerFields[.vary] = "Origin"
    }

    /// Adds who is signed in and what the request was for.
    func complete(_ context: inout PageContext, for request: IngressRequest) {
        if let known = request.session(self.loop) { context.user = request.runtime.user(of: known.session) }
        guard let route = request.route else { return }
        (context.app, context.title) = (route.name, route.title)
        let back = request.runtime.returnPath(of: request.head, on: route)
        context.place = request.runtime.place(back, on: request.runtime.hosts.origin(of: request.head))
    }

    /// Redirects a browser without an accepted session to the sign-in; a script gets 401.
    func invite(_ request: IngressRequest, to route: RuntimeRoute, _ step: SignInStep) {
        // To a proxy that asks, a response of 200 would admit the request.
        if route.endsServiceWorkers, request.asked == nil, request.head.isForServiceWorker {
            self.respond(Rendering.unregisteringWorker)
            return
        }
        var response = SignInRedirect(runtime: request.runtime).response(for: request.head, route: route, step: step)
        // A script gets JSON with an incident; a redirect shows none.
        response.rejection = response.rejection ?? Response.Rejection(.signInRequired)
        self.challenge(&response, request, isRejected: false)
        self.respond(response)
    }
}

extension Failure {
    /// Whether the page about it names the app that the request was for, and may lead there again.
    fileprivate var isOfApp: Bool { self.kind == .forbidden || self.reason == .routeMaintenance }
}
