// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import GateWire
package import NIOCore

/// One request of a client and the answer to it, whatever the protocol; confined to its connection's event loop.
///
/// Over HTTP/1.1 it is the connection itself, over HTTP/2 one stream of it. Heads are handed over as the bytes of
/// HTTP/1.1 in either case, so that one place decides which lines go out. What is asked of an exchange that is over is
/// ignored.
package protocol DownstreamExchange: AnyObject {
    /// When the bytes at hand arrived.
    var arrived: NIODeadline { get }
    /// Whether the answer about to be started has to say `Connection: close`; never over HTTP/2.
    var mustClose: Bool { get }

    /// Tells a client that waits for it to send the body.
    func sendContinue()
    /// Sends an interim head, complete as a `HeadWriter` writes it; only for requests of HTTP/1.1 and later.
    func sendInterim(_ head: ByteBuffer)
    /// Sends an answer of our own and completes the request with it.
    func respond(_ answer: Response)
    /// Starts an answer with a complete head, which says `Connection: close` if ``mustClose`` said so.
    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool)
    /// Takes back a response that was started, as long as nothing of it has been handed to the network.
    ///
    /// - Returns: Whether another response may be sent instead.
    func retract() -> Bool
    /// Sends a part of the body; false when the client should be given time to take it.
    @discardableResult
    func write(_ body: ByteBuffer) -> Bool
    /// Completes the answer.
    func end()
    /// Completes the answer with a trailer section: checked lines as a head has them, and an empty line.
    ///
    /// HTTP/1.1 drops it.
    func end(trailers: ByteBuffer)
    /// Starts a tunnel with a complete head: from now on bytes go both ways as they are, until ``end()``.
    ///
    /// What the client sends goes to the responder's `receive`, until its `cancel` or `tunnelEnded`.
    func startTunnel(_ head: consuming ByteBuffer)
    /// Makes the answer to the request at hand the last of an HTTP/1.1 connection.
    func closeAfterResponse()
    /// Sends what has been written; called when there is no more to write for now.
    func flush()
    /// Breaks the answer off, so that the client sees that it is not complete.
    func cut()

    /// Stops reading the request's body, until ``resumeReading()``.
    func pauseReading()
    /// Reads on.
    func resumeReading()
    /// Room for a head.
    func freshBuffer(capacity: Int) -> ByteBuffer
}

/// A client connection of any protocol, as those see it who end connections; confined to its event loop.
package protocol ClientConnection: Expiring {
    /// Whether bytes of an answer still wait for the client.
    var isSending: Bool { get }
    /// Ends an idle connection now and a busy one after its answers; called when the gateway drains.
    func drain()
    /// Ends the connection at once, in the middle of answers.
    func cut()
}
