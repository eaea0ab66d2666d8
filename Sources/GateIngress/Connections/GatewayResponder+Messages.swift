// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GatePolicy
internal import GateRuntime
internal import GateWire
internal import HTTPTypes
internal import NIOCore

// The body of a request to an MCP server, which is read before a decision that depends on it and forwarded as it came.
extension GatewayResponder {
    /// Waits for the whole body.
    func readMessages(of request: RequestHead, on route: RuntimeRoute) {
        guard let connection, let limit = route.maxMCPBody else { return }
        if case .length(let length) = request.framing, length > limit { return self.messagesAreTooLong(limit) }
        guard self.heldBytes <= limit else { return self.messagesAreTooLong(limit) }
        self.maxMessages = limit
        guard !self.isRequestComplete else { return self.decideAboutMessages() }
        if request.expectsContinue { connection.sendContinue() }
        connection.resumeReading()
    }

    /// Decides about a body that is not read to its end.
    func messagesAreTooLong(_ limit: Int) {
        self.decide(
            .unreadable("the body has over \(limit) bytes ('mcp_max_body'), and a rule asks for the message in it")
        )
    }

    /// Decides about the messages of a body that is complete.
    func decideAboutMessages() {
        guard let request else { return }
        do throws(MCPFailure) {
            self.decide(.read(try MCPBody(self.held.flatMap { Array($0.readableBytesView) }, of: request)))
        } catch {
            self.decide(.unreadable("a rule asks for the message, and the body \(error.message)"))
        }
    }

    private func decide(_ reading: MessageReading) {
        guard let request else { return }
        self.maxMessages = nil
        self.messages = reading
        // The session may have left the cache while the body arrived.
        self.loop.advance(to: .now())
        self.decideAgain(about: request, lookup: nil)
    }

    /// A denial as the response to a request of JSON-RPC, so that the client shows it as the error of that request.
    ///
    /// JSON-RPC 2.0 §5.1: -32000 to -32099 are the server's own.
    func jsonRPC(_ response: Response, to request: RequestHead) -> Response {
        guard request.method == .post, response.head.status.code == 403, let rejection = response.rejection,
            let route = RequestPath(runtime: self.runtime, loop: self.loop).route(of: request), route.maxMCPBody != nil
        else { return response }
        var id = JSON.null
        if case .read(let body) = self.messages { id = body.id }
        var data: [String: JSON] = ["error": .string(rejection.reason.entry.code)]
        data["incident"] = rejection.incident.map(JSON.string)
        let message = "denied by the rules of the gateway; ask its operator, with the incident id"
        let error: JSON = ["code": -32_043, "message": .string(message), "data": .object(data)]
        var response = response
        response.body = JSON.object(["jsonrpc": "2.0", "id": id, "error": error]).encoded + [0x0A]
        response.head.headerFields[.contentType] = "application/json"
        return response
    }
}
