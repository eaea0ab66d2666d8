// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateWire
internal import HTTPTypes
internal import NIOCore

/// Answers on the operations address: health, metrics, status; confined to its connection's event loop.
final class OperationsResponder: Responder {
    private let report: any OperationsReport
    private let loop: any EventLoop
    private var connection: DownstreamConnection?
    private var request: RequestHead?

    init(report: any OperationsReport, loop: any EventLoop) {
        self.report = report
        self.loop = loop
    }

    func begin(_ request: RequestHead, on connection: DownstreamConnection) {
        self.connection = connection
        self.request = request
    }

    func receive(_ body: ByteBuffer) {}

    func finishRequest() {
        guard let request, let connection else { return }
        guard request.method == .get || request.method == .head else {
            self.connection = nil
            connection.respond(.text(405, "only GET works here\n"))
            return
        }
        let path = request.path.text(in: request.message)
        let report = self.report
        let bound = NIOLoopBound((responder: self, connection: connection), eventLoop: self.loop)
        let loop = self.loop
        Task {
            let answer = await report.answer(path)
            loop.execute {
                let (responder, connection) = bound.value
                guard responder.connection === connection else { return }
                responder.connection = nil
                connection.respond(answer)
            }
        }
    }

    func abandon() {
        self.connection = nil
        self.request = nil
    }

    func downstreamWritabilityChanged(isWritable: Bool) {}

    func answer(to refusal: WireRefusal) -> Answer { .text(refusal.status, "\(refusal.reason)\n") }
}

/// What the operations address tells.
protocol OperationsReport: AnyObject, Sendable {
    /// The answer to a path.
    func answer(_ path: String) async -> Answer
}
