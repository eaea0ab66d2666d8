// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateHTTP
import GateWire
import NIOCore

/// Records its calls and responds as the test configures; confined to the test's loop.
final class Recorder: Responder {
    /// What happened, in order; the parts of one body are joined.
    private(set) var events: [String] = []
    /// The connection of the latest request.
    private(set) var connection: (any DownstreamExchange)?
    /// What to do with a head.
    var whenBegun: ((RequestHead, any DownstreamExchange) -> Void)?
    /// What to do with a complete request.
    var whenFinished: ((RequestHead, any DownstreamExchange) -> Void)?
    /// What to do with a part of a body.
    var whenReceived: ((any DownstreamExchange) -> Void)?
    private var request: RequestHead?

    /// How often a request was cancelled.
    var cancellations: Int { self.events.count { $0 == "cancel" } }

    func begin(_ request: RequestHead, on connection: any DownstreamExchange) {
        self.events.append("begin \(request.method.rawValue) \(request.target)")
        self.request = request
        self.connection = connection
        self.whenBegun?(request, connection)
    }

    func receive(_ body: ByteBuffer) {
        let text = String(buffer: body)
        if let last = self.events.last, last.hasPrefix("body ") {
            self.events[self.events.count - 1] = last + text
        } else {
            self.events.append("body \(text)")
        }
        if let connection { self.whenReceived?(connection) }
    }

    func finishRequest() {
        self.events.append("finish")
        if let request, let connection { self.whenFinished?(request, connection) }
    }

    func cancel() { self.events.append("cancel") }

    func downstreamWritabilityChanged(isWritable: Bool) { self.events.append("writable \(isWritable)") }

    func response(to rejection: WireRejection) -> Response {
        self.events.append("rejected \(rejection.reason.code)")
        return .text(rejection.status, rejection.reason.code)
    }

    /// Responds to each complete request with its target in angle brackets.
    func respondsToAll() {
        self.whenFinished = { request, connection in connection.respond(.text(200, "<\(request.target)>")) }
    }
}
