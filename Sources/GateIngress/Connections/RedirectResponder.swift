// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateRuntime
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Redirects each request for a host of ours to the same URL with https; confined to its connection's event loop.
///
/// Nothing else is served on such a listener. Other hosts get 404, so that a forged `Host` leads nowhere.
final class RedirectResponder: Responder {
    private let loop: LoopState
    private var connection: (any DownstreamExchange)?
    private var request: RequestHead?

    init(loop: LoopState) {
        self.loop = loop
    }

    func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.connection = connection
        self.request = request
        // A client that waits before it sends its body learns the new URL first.
        if request.framing == .none || request.expectsContinue { self.respond() }
    }

    func receive(_ body: ByteBuffer) { self.respond() }

    func finishRequest() { self.respond() }

    func cancel() { self.connection = nil }

    func downstreamWritabilityChanged(isWritable: Bool) {}

    func response(to rejection: WireRejection) -> Response {
        self.loop.runtime.metrics.rejected(rejection.reason.code)
        return self.loop.runtime.rendering.response(to: rejection, for: ClientKind(wantsPage: rejection.wantsPage))
    }

    private func respond() {
        guard let connection, let request else { return }
        self.connection = nil
        guard let origin = self.loop.runtime.origin(of: request.authority.host) else {
            return connection.respond(.text(404, "No app is configured for this host.\n"))
        }
        let target = request.isAsterisk ? "" : request.target
        connection.respond(Response(308, fields: [.location: "\(origin)\(target)"]))
    }
}
