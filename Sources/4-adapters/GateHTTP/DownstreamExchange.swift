// SPDX-License-Identifier: Apache-2.0

internal import GateNet
package import GateWire
package import NIOCore

/// One request of a client and the response to it, over any protocol; confined to its connection's event loop.
///
/// Over HTTP/1.1 it is the connection itself, over HTTP/2 one stream. Heads are passed as HTTP/1.1 bytes in both cases,
/// so that one place decides which lines are sent. Calls on a completed exchange are ignored.
package protocol DownstreamExchange: AnyObject {
    /// When the current bytes arrived.
    var arrived: NIODeadline { get }
    /// Whether the next response must carry `Connection: close`; never over HTTP/2.
    var mustClose: Bool { get }

    /// Sends `100 Continue` to a client that waits for it.
    func sendContinue()
    /// Sends an interim head, complete as written by `HeadWriter`; only for requests of HTTP/1.1 and later.
    func sendInterim(_ head: ByteBuffer)
    /// Sends a response of the gateway and completes the request.
    func respond(_ response: Response)
    /// Starts a response with a complete head, which carries `Connection: close` if ``mustClose`` is true.
    func start(_ head: consuming ByteBuffer, framing: BodyFraming, closes: Bool)
    /// Takes back a started response, as long as no byte of it has been handed to the network.
    ///
    /// - Returns: Whether another response may be sent instead.
    func retract() -> Bool
    /// Sends a part of the body; false when the caller should wait until the client has taken more.
    @discardableResult
    func write(_ body: ByteBuffer) -> Bool
    /// Completes the response.
    func end()
    /// Completes the response with a trailer section: validated lines as in a head, and an empty line.
    ///
    /// HTTP/1.1 drops it.
    func end(trailers: ByteBuffer)
    /// Starts a tunnel with a complete head: bytes then pass unchanged in both directions, until ``end()``.
    ///
    /// Bytes of the client go to the responder's `receive`, until its `cancel` or `tunnelEnded`.
    func startTunnel(_ head: consuming ByteBuffer)
    /// Makes the current response the last of an HTTP/1.1 connection.
    func closeAfterResponse()
    /// Lets the client make a new connection for its next request: this response is the last of an HTTP/1.1 connection, and over HTTP/2
    /// a graceful shutdown begins.
    func replaceConnection()
    /// Sends what has been written; called when there is no more to write for now.
    func flush()
    /// Closes the connection or resets the stream in the middle of the response, so that the client detects the
    /// truncation.
    func close()

    /// Stops reading the request's body, until ``resumeReading()``.
    func pauseReading()
    /// Resumes reading the request's body.
    func resumeReading()
    /// An empty buffer for a head.
    func freshBuffer(capacity: Int) -> ByteBuffer
}
