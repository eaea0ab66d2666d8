// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateProxy
internal import GateWire
internal import NIOCore

extension UpstreamExchange {
    /// The app has answered `101`: the tunnel begins, if that is the answer to this handshake.
    func openTunnel(_ head: ResponseHead, _ offer: WebSocketHandshake) {
        guard let tunnel, let link else { return }
        if let objection = offer.rejectionReason(for: head) {
            let place = "\(self.route.name) at \(self.targetText)"
            self.refuseTunnel(
                Failure(.upstreamWebSocket, "\(place) broke the handshake: \(objection)")
            )
            return
        }
        guard !tunnel.isRefused else {
            self.refuseTunnel(Failure(.sessionNone, "the session ended during the handshake"))
            return
        }
        tunnel.open(over: link)
        self.hasSwitched = true
        self.responder.tunnelBegan(on: self.route)
        self.connection.startTunnel(self.responder.tunnelHead(head, for: self.request, on: self.route))
        self.passHeld()
        self.connection.resumeReading()
    }

    /// The handshake has led to nothing: both sides are told.
    func refuseTunnel(_ failure: Failure) {
        let link = self.link
        self.tunnel?.leave()
        self.end()
        link?.cancel()
        self.responder.site.log.upstreamFailed(
            failure,
            app: self.route.name,
            requestID: self.responder.requestID.text
        )
        self.responder.answer(self.responder.site.rendering.answer(to: failure, for: self.responder.visitor))
    }

    /// The tunnel is over, and so is the request.
    func tunnelEnded() {
        self.end()
        self.responder.finish(status: 101)
    }
}
