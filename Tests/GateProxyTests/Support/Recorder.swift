// SPDX-License-Identifier: Apache-2.0

import GateProxy
import GateWire
import NIOCore

/// Writes down what becomes of its request; confined to the test's own loop.
final class Recorder: UpstreamSink {
    /// What happened, in order; the parts of one body are joined, pauses left out.
    private(set) var events: [String] = []
    private(set) var failure: UpstreamFailure?
    private(set) var connection: (any UpstreamStream)?
    private(set) var pauses = 0
    /// The statuses of interim responses that were passed on.
    private(set) var hints: [Int] = []
    /// What to do with a part of a body.
    var whenSent: ((any UpstreamStream) -> Void)?
    /// What to do when the connection is there.
    var whenReady: ((any UpstreamStream) -> Void)?

    func upstreamReady(_ connection: any UpstreamStream) {
        self.events.append("ready")
        self.connection = connection
        self.whenReady?(connection)
    }

    func upstreamReceivedEarlyHints(_ head: ResponseHead) { self.hints.append(head.status) }

    func upstreamReceivedHead(_ head: ResponseHead) { self.events.append("head \(head.status)") }

    func upstreamReceivedBody(_ body: ByteBuffer) {
        let text = String(buffer: body)
        if let last = self.events.last, last.hasPrefix("body ") {
            self.events[self.events.count - 1] = last + text
        } else {
            self.events.append("body \(text)")
        }
        if let connection { self.whenSent?(connection) }
    }

    func upstreamFinished() { self.events.append("finished") }

    func upstreamFailed(_ failure: UpstreamFailure) {
        self.events.append("failed")
        self.failure = failure
    }

    func upstreamReadComplete() { self.pauses += 1 }

    func upstreamWritabilityChanged(isWritable: Bool) { self.events.append("writable \(isWritable)") }
}
