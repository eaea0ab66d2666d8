// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateNet
internal import GateOperations
internal import GatePages
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import NIOCore

// MARK: Forwarding
extension GatewayResponder {
    func forward(to route: RuntimeRoute, identity: ByteBuffer?) {
        guard let request, let connection else { return }
        var opening: PendingTunnel?
        if route.webSocket != nil {
            switch self.webSocketWish(of: request, on: route, isProtected: identity != nil) {
            case .none: break
            case .opening(let wish): opening = wish
            case .refused(let response): return self.respond(response)
            }
        } else if WebSocketHandshake.isRequested(by: request) {
            self.runtime.log.webSocketIsOff(app: route.name, requestID: self.requestID.text)
        }
        self.downstream.sendsForwarded = route.sendsForwarded
        let path = RequestPath(runtime: self.runtime, loop: self.loop)
        let exchange = UpstreamExchange(
            delegate: self,
            loop: self.loop,
            connection: connection,
            request: path.forApp(request, on: route),
            hidesAuthorization: path.hidesAuthorization(of: request, on: route),
            route: route,
            identity: identity,
            opening: opening,
            renewal: identity == nil ? nil : path.renewal(with: request),
            trace: self.trace
        )
        self.exchange = exchange
        if route.hasDates, identity != nil, opening == nil {
            let access = path.endingAccess(of: request, on: route) { self.ruledClient(of: request) }
            exchange.watch = access.map { AccessWatch(over: exchange, $0, loop: self.loop) }
        }
        for body in self.held {
            exchange.send(body)
        }
        self.held.removeAll()
        if self.isRequestComplete { exchange.finishRequest() }
        connection.resumeReading()
        exchange.begin()
    }
}

// MARK: WebSockets
extension GatewayResponder {
    /// How many tunnels one session may have on an event loop: each takes a connection to the app.
    private static let maxTunnelsPerSession = 64

    /// What a request that may enter asks for.
    func webSocketWish(of request: RequestHead, on route: RuntimeRoute, isProtected: Bool) -> WebSocketUpgrade {
        guard let rule = route.webSocket, WebSocketHandshake.isRequested(by: request) else { return .none }
        // The bytes after a handshake are not a request.
        self.connection?.closeAfterResponse()
        let offer: WebSocketHandshake
        do throws(WebSocketHandshake.Rejection) {
            offer = try WebSocketHandshake(of: request)
        } catch {
            return .refused(self.rejection(error))
        }
        guard rule.admits(request) else {
            let origin = request.message.value(.origin) ?? "no origin"
            return .refused(self.rejection(.requestCrossSiteWebSocket, "opened by \(origin)"))
        }
        let session = isProtected ? RequestPath(runtime: self.runtime, loop: self.loop).liveSession(of: request) : nil
        if let session, self.loop.tunnels.count(of: session.familyKey) >= GatewayResponder.maxTunnelsPerSession {
            let detail = "the session has \(GatewayResponder.maxTunnelsPerSession) open"
            return .refused(self.rejection(.requestTooManyWebSockets, detail))
        }
        let authorization = TunnelAuthorization(
            request: request,
            route: route,
            tls: self.tls,
            certificates: (self.certificates, self.certificatePeer),
            client: self.ruledClient(of: request),
            session: session,
            loop: self.loop
        )
        return .opening(PendingTunnel(offer, authorization))
    }

    func rejection(_ rejection: WebSocketHandshake.Rejection) -> Response {
        switch rejection {
        case .malformed(let why):
            return self.rejection(.requestWebSocket, why)
        case .version:
            var response = self.rejection(.requestWebSocketVersion, "the version is not 13")
            response.head.headerFields[.secWebSocketVersion] = "13"
            // RFC 9110 §15.5.22.
            response.head.headerFields[.upgrade] = "websocket"
            response.head.headerFields[.connection] = "upgrade"
            return response
        }
    }

    /// Neither endpoints nor apps without 'websocket' accept WebSockets.
    func refuseWebSocket(at place: String = "the gateway itself") {
        self.respond(self.rejection(.requestNoWebSocket, "\(place) accepts no WebSockets"))
    }

    func rejection(_ reason: Failure.Reason, _ detail: String) -> Response {
        self.runtime.rendering.response(to: Failure(reason, detail), for: self.clientKind)
    }
}

// MARK: What an exchange asks for
extension GatewayResponder: UpstreamExchangeDelegate {
    /// The id of the request: a trusted proxy's, or a new one, made when it is first needed.
    var requestID: RequestID {
        if let givenID { return givenID }
        let id =
            if self.downstream.isTrusted, let request {
                ForwardedHead.requestID(of: request, downstream: self.downstream, fresh: self.loop.freshRequestID())
            } else {
                self.loop.freshRequestID()
            }
        self.givenID = id
        return id
    }

    /// The session that a request brings, as a number; 0 if it brings none.
    ///
    /// Asked for only where an app's targets are chosen by session.
    func sessionKey(for exchange: UpstreamExchange) -> UInt64 {
        RequestPath(runtime: self.runtime, loop: self.loop).sessionKey(of: exchange.request)
    }

    /// The identity lines for a retry, after the request was authorized again; nil if it is denied now.
    func refreshedIdentity(for exchange: UpstreamExchange) -> ByteBuffer? {
        defer { self.loop.forgetForAccessLine() }
        guard let request = self.request else { return nil }
        let path = self.path(of: request)
        guard
            case .forwarded(let again, .some(let identity)) = path.verdict(
                for: request,
                over: self.tls,
                lookup: .done,
                isRetry: true,
                client: { self.ruledClient(of: request) }
            ), again === exchange.route
        else { return nil }
        return identity
    }

    /// The head for the app; a second try gets a new one.
    func upstreamHead(
        for exchange: UpstreamExchange,
        identity: ByteBuffer?,
        endsConnection: Bool
    ) -> ByteBuffer {
        let (request, route) = (self.trace?.forwarded(exchange.request) ?? exchange.request, exchange.route)
        let certificate =
            route.certificateHeaders.isEmpty
            ? nil : self.path(of: exchange.request).certificate?.verified?.lines(route.certificateHeaders)
        let capacity = request.message.bytes.readableBytes + (identity?.readableBytes ?? 0) + 256
        return ForwardedHead.request(
            request,
            authority: route.authority(of: request),
            downstream: self.downstream,
            identity: identity,
            certificate: certificate,
            changes: route.requestChanges,
            requestID: self.requestID,
            traceParent: self.trace?.traceParent,
            endsConnection: endsConnection,
            hidesAuthorization: exchange.hidesAuthorization,
            into: self.loop.memory.acquire(capacity: capacity)
        )
    }

    func exchangeOpenedTunnel(_ exchange: UpstreamExchange) {
        self.count(101, of: exchange.route)
    }

    func exchangeFinished(_ exchange: UpstreamExchange, status: Int) {
        self.finish(status: status)
    }

    func exchangeFailed(_ exchange: UpstreamExchange, _ failure: Failure) {
        let clientKind = self.clientKind
        var context = PageContext()
        if clientKind.wantsPage, let request { self.complete(&context, for: request) }
        self.respond(self.runtime.rendering.response(to: failure, for: clientKind, context: context))
    }

    func exchangeTruncated(_ exchange: UpstreamExchange, by failure: Failure) {
        // Only for the log: the client has the head of another response.
        _ = self.runtime.rendering.response(to: failure, for: self.clientKind)
    }

    func upstreamFailed(_ exchange: UpstreamExchange, _ failure: Failure) {
        self.runtime.log.upstreamFailed(failure, app: exchange.route.name, requestID: self.requestID.text)
    }
}

/// Whether a request asks for a WebSocket.
enum WebSocketUpgrade {
    /// It does not, or the app accepts none, and it is forwarded as any other.
    case none
    case opening(PendingTunnel)
    case refused(Response)
}
