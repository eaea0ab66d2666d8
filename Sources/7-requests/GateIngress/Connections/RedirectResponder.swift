// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOperations
internal import GateRuntime
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Redirects each request for a host of ours to the same URL with https; confined to its connection's event loop.
///
/// Nothing else is served on such a listener. Other hosts get 404, so that a forged `Host` leads nowhere.
final class RedirectResponder: Responder {
    private let loop: LoopState
    private let client: String
    private var connection: (any DownstreamExchange)?
    private var request: RequestHead?

    /// A responder.
    ///
    /// - Parameters:
    ///   - loop: The event loop of the connection.
    ///   - client: The client IP, for access lines.
    init(loop: LoopState, client: String) {
        self.loop = loop
        self.client = client
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
        if let status = self.loop.healthStatus(of: rejection) { return Response(status) }
        self.loop.runtime.services.metrics.rejected(rejection.reason.code)
        let response = self.loop.runtime.rendering.response(
            to: rejection,
            for: ClientKind(wantsPage: rejection.wantsPage)
        )
        self.log(response, to: nil, decision: .rejected, began: .now(), id: self.loop.requestIDs.next())
        return response
    }

    private func respond() {
        guard let connection, let request else { return }
        self.connection = nil
        var response = self.redirect(request)
        let id = self.loop.requestIDs.next()
        response.head.headerFields[.requestID] = id.text
        self.loop.telemetry.redirected(status: response.head.status.code)
        self.log(response, to: request, decision: .endpoint, began: connection.arrived, id: id)
        connection.respond(response)
    }

    private func redirect(_ request: RequestHead) -> Response {
        guard let origin = self.loop.runtime.hosts.origin(of: request.authority.host) else {
            if let status = self.loop.healthStatus(of: request) { return Response(status) }
            return .text(404, "No app is configured for this host.\n")
        }
        let target = request.isAsterisk ? "" : request.target
        return Response(308, fields: [.location: "\(origin)\(target)"])
    }

    private func log(
        _ response: Response,
        to request: RequestHead?,
        decision: AccessDecision,
        began: NIODeadline,
        id: RequestID
    ) {
        guard let access = self.loop.access else { return }
        let record = AccessRecord()
        record.decision = decision
        record.bytesOut = response.bodySize
        record.code = response.rejection?.reason.entry.code
        record.incident = response.rejection?.incident
        let status = response.head.status.code
        guard access.takes(record, status: status) else { return }
        access.write(
            record,
            of: request,
            id: id,
            trace: nil,
            client: self.client,
            status: status,
            began: began,
            ended: .now()
        )
    }
}
