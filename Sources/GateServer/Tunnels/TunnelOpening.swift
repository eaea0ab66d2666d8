// SPDX-License-Identifier: Apache-2.0

internal import GateWire

/// A WebSocket that is to be opened; confined to one event loop.
///
/// An object, because nearly every request has none, and must not carry the room for one from step to step.
final class TunnelOpening {
    /// What the client offers.
    let offer: WebSocketOffer
    /// Why it may.
    let pass: TunnelPass

    init(_ offer: WebSocketOffer, _ pass: TunnelPass) {
        self.offer = offer
        self.pass = pass
    }
}
