// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import HTTPTypes

// What of a request that may enter is for a WebSocket.
extension IngressRequest {
    /// How many tunnels one session may have on an event loop: each takes a connection to the app.
    private static let maxTunnelsPerSession = 64

    /// What it asks for.
    func webSocketUpgrade(on route: RuntimeRoute, isProtected: Bool, loop: LoopState) -> WebSocketUpgrade {
        guard let rule = route.webSocket, WebSocketHandshake.isRequested(by: self.head) else { return .none }
        let offer: WebSocketHandshake
        do throws(WebSocketHandshake.Rejection) {
            offer = try WebSocketHandshake(of: self.head)
        } catch {
            return .refused(self.rejection(error))
        }
        guard rule.admits(self.head) else {
            let origin = self.head.message.value(.origin) ?? "no origin"
            return .refused(self.rejection(.requestCrossSiteWebSocket, "opened by \(origin)"))
        }
        let session = isProtected ? self.caller.session?.session : nil
        if let session, loop.tunnels.count(of: session.familyKey) >= IngressRequest.maxTunnelsPerSession {
            let detail = "the session has \(IngressRequest.maxTunnelsPerSession) open"
            return .refused(self.rejection(.requestTooManyWebSockets, detail))
        }
        let authorization = TunnelAuthorization(of: self, on: route, session: session, loop: loop)
        return .opening(PendingTunnel(offer, authorization))
    }

    private func rejection(_ rejection: WebSocketHandshake.Rejection) -> Response {
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

    private func rejection(_ reason: Failure.Reason, _ detail: String) -> Response {
        self.runtime.rendering.response(to: Failure(reason, detail), for: self.clientKind)
    }
}

/// Whether a request asks for a WebSocket.
enum WebSocketUpgrade {
    /// It does not, or the app accepts none, and it is forwarded as any other.
    case none
    case opening(PendingTunnel)
    case refused(Response)
}
