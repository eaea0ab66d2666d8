// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateNet
internal import GateWire
package import NIOCore

/// One client connection that speaks HTTP/1.1; confined to its channel's event loop.
///
/// It reads one request after the other, hands each to the ``Responder`` and writes what the responder answers. The next
/// request is not looked at before the answer to this one is complete. Everything that has a duration has an absolute
/// deadline.
package final class HTTP1Connection: ChannelDuplexHandler, SocketReader, DownstreamExchange, ClientConnection,
    Flushable
{
    /// What the channel hands in.
    package typealias InboundIn = ByteBuffer
    /// What the channel is handed.
    package typealias OutboundIn = ByteBuffer
    /// What goes to the channel.
    package typealias OutboundOut = ByteBuffer

    /// Where the connection stands with the current request.
    enum Phase {
        case handshake
        case idle
        case head
        case body(BodyReader)
        case answering
        /// Bytes go both ways as they are.
        case tunnel
        case lingering
        case closed
    }

    /// Where the answer stands.
    enum ResponsePhase {
        case none
        case started(BodyFraming)
        case complete
    }

    /// The address of the peer, nil when it has none.
    package let peer: IPAddress?
    /// What the client named in its TLS handshake.
    package let tls: NegotiatedTLS?
    /// When to give up, see ``Expiring``: on the client's next move, or on its taking what waits for it.
    package var deadline: NIODeadline { min(self.phaseDeadline, self.stallDeadline) }

    /// When the bytes at hand arrived.
    package internal(set) var arrived = NIODeadline.now()

    let setting: DownstreamEnvironment
    let responder: any Responder
    let created = NIODeadline.now()
    let ageLimit: TimeAmount
    var context: ChannelHandlerContext?
    /// The way to the channel, as long as there is one.
    var line: ChannelIO?
    /// What the channel last said of itself, which is cheaper than asking it.
    var isWritable = true
    var parser: RequestParser
    var inbound = ByteBuffer()
    var outbound = ByteBuffer()
    /// The memory of the head of the request at hand, used again when that is done.
    var requestMemory: ByteBuffer?
    var phase = Phase.idle
    var answer = ResponsePhase.none
    var served = 0
    var closes = false
    var isHeadRequest = false
    /// Whether a request is under way to which no answer has been completed.
    var owesAnswer = false
    var isPumping = false
    var isPaused = false
    var wantsRead = false
    var needsFlush = false
    var isFlushPending = false
    var phaseDeadline = NIODeadline.distantFuture
    var stallDeadline = NIODeadline.distantFuture
    var pausedAt = NIODeadline.distantFuture
    var bodyBegan = NIODeadline.distantFuture
    var bodyBytes: Int64 = 0
    /// Whether bytes of the response at hand have been handed to the network.
    var hasHandedOver = false
    /// Bytes that have been handed to the network, over all responses.
    var written: Int64 = 0
    /// How fast the client takes what waits for it.
    var download = DownloadRate()
    /// Bytes that waited for the client at the last look, and since when that has not changed.
    var unsent = (bytes: 0, since: NIODeadline.now())

    /// A connection that is about to be added to its channel's pipeline.
    ///
    /// - Parameters:
    ///   - setting: Its surroundings.
    ///   - peer: The address of the client.
    ///   - tls: What was agreed by TLS, nil on a plain listener.
    ///   - responder: Decides on its requests.
    package init(setting: DownstreamEnvironment, peer: IPAddress?, tls: NegotiatedTLS?, responder: any Responder) {
        self.setting = setting
        self.peer = peer
        self.tls = tls
        self.responder = responder
        self.parser = RequestParser(names: setting.names(), limits: setting.limits.head, isSecure: tls != nil)
        let jitter = setting.limits.age.nanoseconds / 10
        self.ageLimit = .nanoseconds(setting.limits.age.nanoseconds + Int64.random(in: -jitter...jitter))
    }

    /// Room for a head, from the channel's allocator.
    package func freshBuffer(capacity: Int) -> ByteBuffer {
        self.context?.channel.allocator.buffer(capacity: capacity) ?? ByteBuffer()
    }
}
