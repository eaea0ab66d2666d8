// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
package import GateWire
internal import HTTPTypes
package import NIOCore

/// Responds to requests that are rare and may take their time; confined to its connection's event loop.
package final class OperationsResponder: Responder {
    /// The largest body, in bytes.
    static let maxBody = 16 * 1024

    /// Returns the response to a request with its complete body.
    private let respond: @Sendable (RequestHead, [UInt8]) async -> Response
    private let loop: any EventLoop
    private var connection: (any DownstreamExchange)?
    private var request: RequestHead?
    private var body: [UInt8] = []

    init(loop: any EventLoop, respond: @escaping @Sendable (RequestHead, [UInt8]) async -> Response) {
        self.respond = respond
        self.loop = loop
    }

    /// Implements `Responder`.
    package func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.connection = connection
        self.request = request
        self.body = []
        if request.expectsContinue { connection.sendContinue() }
    }

    /// Implements `Responder`.
    package func receive(_ body: ByteBuffer) {
        guard self.body.count <= OperationsResponder.maxBody else { return }
        self.body += Array(body.readableBytesView)
    }

    /// Implements `Responder`.
    package func finishRequest() {
        guard let request, let connection else { return }
        guard self.body.count <= OperationsResponder.maxBody else {
            self.connection = nil
            return connection.respond(.text(413, "over \(OperationsResponder.maxBody) bytes\n"))
        }
        let bound = NIOLoopBound((responder: self, connection: connection), eventLoop: self.loop)
        let (respond, loop, body) = (self.respond, self.loop, self.body)
        Task {
            let response = await respond(request, body)
            loop.execute {
                let (responder, connection) = bound.value
                guard responder.connection === connection else { return }
                responder.connection = nil
                connection.respond(response)
            }
        }
    }

    /// Implements `Responder`.
    package func cancel() {
        self.connection = nil
        self.request = nil
    }

    /// Implements `Responder`.
    package func downstreamWritabilityChanged(isWritable: Bool) {}

    /// Implements `Responder`.
    package func response(to rejection: WireRejection) -> Response {
        .text(rejection.status, "\(rejection.reason.code)\n")
    }
}
