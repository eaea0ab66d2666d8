// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// A WebSocket that is to be opened; confined to one event loop.
///
/// An object, because nearly every request has none, and must not carry the space for one from step to step.
final class PendingTunnel {
    /// What the client offers.
    let offer: WebSocketHandshake
    /// Why it may be opened.
    let authorization: TunnelAuthorization

    init(_ offer: WebSocketHandshake, _ authorization: TunnelAuthorization) {
        self.offer = offer
        self.authorization = authorization
    }
}
