// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// A request to a small server, complete with its body.
struct SmallRequest: Sendable {
    /// The largest body, in bytes.
    static let bodyLimit = 16 * 1024

    let method: RequestMethod
    /// The host that the client asked for.
    let host: String
    /// The canonical path.
    let path: String
    /// The query; nil if it is no form.
    let query: Form?
    /// The body as a form; nil if it is none.
    let form: Form?
}

/// Answers requests that few people make and that may take their time; confined to its connection's event loop.
final class OperationsResponder: Responder {
    /// Answers one request.
    typealias Answering = @Sendable (SmallRequest) async -> Response

    private let answering: Answering
    private let loop: any EventLoop
    private var connection: (any DownstreamExchange)?
    private var request: RequestHead?
    private var body: [UInt8] = []

    init(loop: any EventLoop, answering: @escaping Answering) {
        self.answering = answering
        self.loop = loop
    }

    func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.connection = connection
        self.request = request
        self.body = []
        if request.expectsContinue { connection.sendContinue() }
    }

    func receive(_ body: ByteBuffer) {
        guard self.body.count <= SmallRequest.bodyLimit else { return }
        self.body += Array(body.readableBytesView)
    }

    func finishRequest() {
        guard let request, let connection else { return }
        guard self.body.count <= SmallRequest.bodyLimit else {
            self.connection = nil
            return connection.respond(.text(413, "over \(SmallRequest.bodyLimit) bytes\n"))
        }
        let small = SmallRequest(
            method: request.method,
            host: request.authority.host,
            path: request.path.text(in: request.message),
            query: Form(encoded: request.queryText ?? ""),
            form: String(validating: self.body, as: UTF8.self).flatMap { Form(encoded: $0) }
        )
        let bound = NIOLoopBound((responder: self, connection: connection), eventLoop: self.loop)
        let (answering, loop) = (self.answering, self.loop)
        Task {
            let answer = await answering(small)
            loop.execute {
                let (responder, connection) = bound.value
                guard responder.connection === connection else { return }
                responder.connection = nil
                connection.respond(answer)
            }
        }
    }

    func cancel() {
        self.connection = nil
        self.request = nil
    }

    func downstreamWritabilityChanged(isWritable: Bool) {}

    func response(to refusal: WireRejection) -> Response { .text(refusal.status, "\(refusal.reason.code)\n") }
}
