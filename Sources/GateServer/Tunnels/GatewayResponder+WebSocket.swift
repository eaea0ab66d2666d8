// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateNet
internal import GateSessions
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Whether a request asks for a WebSocket.
enum WebSocketUpgrade {
    /// It does not, or the app takes none, and it is forwarded as any other.
    case none
    case opening(PendingTunnel)
    case refused(Response)
}

extension GatewayResponder {
    /// How many tunnels one session may have on an event loop: each takes a connection to the app.
    private static let mostOfSession = 64

    /// What a request that may enter asks for.
    func webSocketWish(of request: RequestHead, on route: RuntimeRoute, isProtected: Bool) -> WebSocketUpgrade {
        guard let rule = route.webSocket, WebSocketHandshake.isRequested(by: request) else { return .none }
        // Whatever comes behind a handshake is no request.
        self.connection?.closeAfterResponse()
        let offer: WebSocketHandshake
        do throws(WebSocketHandshake.Rejection) {
            offer = try WebSocketHandshake(of: request)
        } catch {
            return .refused(self.refusal(error))
        }
        guard rule.admits(request) else {
            let origin = request.message.value(.origin) ?? "no origin"
            return .refused(self.refusal(.requestCrossSiteWebSocket, "opened by \(origin)"))
        }
        let session = isProtected ? RequestPath(site: self.site, loop: self.loop).liveSession(of: request) : nil
        if let session, self.loop.tunnels.count(of: session.familyKey) >= GatewayResponder.mostOfSession {
            let detail = "the session has \(GatewayResponder.mostOfSession) open"
            return .refused(self.refusal(.requestTooManyWebSockets, detail))
        }
        let pass = TunnelAuthorization(request: request, route: route, tls: self.tls, session: session)
        return .opening(PendingTunnel(offer, pass))
    }

    private func refusal(_ fault: WebSocketHandshake.Rejection) -> Response {
        switch fault {
        case .malformed(let why):
            return self.refusal(.requestWebSocket, why)
        case .version:
            var answer = self.refusal(.requestWebSocketVersion, "the version is not 13")
            if let name = HTTPField.Name("Sec-WebSocket-Version") { answer.head.headerFields[name] = "13" }
            // RFC 9110 §15.5.22.
            answer.head.headerFields[.upgrade] = "websocket"
            answer.head.headerFields[.connection] = "upgrade"
            return answer
        }
    }

    /// Neither the gateway's own addresses take WebSockets, nor apps that are not asked.
    func refuseWebSocket(at place: String = "the gateway itself") {
        self.answer(self.refusal(.requestNoWebSocket, "\(place) takes no WebSockets"))
    }

    private func refusal(_ reason: Failure.Reason, _ detail: String) -> Response {
        self.site.rendering.answer(to: Failure(reason, detail), for: self.visitor)
    }

    /// The head of a handshake for the app: an ordinary head, and the lines that concern one connection only.
    func handshakeHead(_ head: ByteBuffer, _ offer: WebSocketHandshake) -> ByteBuffer {
        var lines = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
        if !offer.isKeyOfClient { lines += "Sec-WebSocket-Key: \(offer.key)\r\n" }
        return self.head(head, with: lines)
    }

    /// The head of the answer that begins a tunnel.
    func tunnelHead(_ answer: ResponseHead, for request: RequestHead, on route: RuntimeRoute) -> ByteBuffer {
        var head = ForwardedHead.answer(
            answer,
            to: request,
            requestID: self.requestID,
            framing: .none,
            closes: false,
            changes: route.responseChanges(isProtected: false),
            date: self.loop.date,
            into: self.loop.memory.take(capacity: answer.message.bytes.readableBytes + 512)
        )
        guard request.isExtendedConnect else {
            return self.head(head, with: "Connection: Upgrade\r\nUpgrade: websocket\r\n")
        }
        // RFC 8441 §5: over HTTP/2 the answer is 200.
        head.setString("200", at: head.readerIndex + "HTTP/1.1 ".utf8.count)
        return head
    }

    /// A complete head with more lines of ours.
    private func head(_ head: ByteBuffer, with lines: String) -> ByteBuffer {
        var head = head
        head.moveWriterIndex(to: head.writerIndex - 2)
        head.writeString(lines)
        head.writeStaticString("\r\n")
        return head
    }
}
