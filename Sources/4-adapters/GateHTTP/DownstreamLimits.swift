// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Limits and time-outs of a client connection.
package struct DownstreamLimits: Sendable, Hashable {
    package var head = HeadLimits.request
    /// From accept to the end of the TLS handshake, whatever arrives.
    package var handshake = TimeAmount.seconds(10)
    /// From accept to the first byte of a request.
    package var firstByte = TimeAmount.seconds(10)
    /// From the first byte of a head to its last.
    package var requestHead = TimeAmount.seconds(10)
    /// Between two reads of a body.
    package var bodyInactivity = TimeAmount.seconds(30)
    /// The minimum average rate of a request body in bytes per second, measured after ``bodyGrace``.
    package var bodyRate: Int64 = 1024
    /// How long a body may be slower at its start.
    package var bodyGrace = TimeAmount.seconds(10)
    /// How long a client may stop reading a pending response before it is disconnected.
    package var writeStall = TimeAmount.seconds(60)
    /// The minimum average rate at which a client must take a pending response in bytes per second, measured over
    /// ``writeStall``.
    package var downloadRate: Int64 = 128
    /// How long a connection may be idle between requests.
    package var idle = TimeAmount.seconds(75)
    /// How many requests one connection may carry.
    package var requests = 1000
    /// How old a connection may become; with 10 % jitter, so that many do not close at once.
    package var age = TimeAmount.hours(1)
    /// How long a closing connection waits for the client to close.
    package var linger = TimeAmount.seconds(2)
    /// How many bytes of a request are still accepted over HTTP/2 after its response is complete.
    package var lingerBytes = 1 << 20
    /// How many bytes of pipelined requests are buffered during a response.
    package var pipelinedBytes = 64 * 1024
    /// How many requests one HTTP/2 connection may carry, on all its streams.
    ///
    /// More than over HTTP/1.1, because closing an HTTP/2 connection affects other requests in progress.
    package var maxRequestsPerConnection = 100_000
    /// Concurrent HTTP/2 streams per connection.
    package var streams = 100
    /// The flow-control window of an HTTP/2 stream for request bodies, in bytes.
    package var streamWindow = 64 * 1024
    /// The flow-control window of an HTTP/2 connection.
    package var connectionWindow = 1024 * 1024
    /// How many bytes of a response may be queued on an HTTP/2 stream before its upstream is paused.
    package var streamBacklog = 64 * 1024
    /// How many bytes may be queued on all streams of a connection.
    package var connectionBacklog = 1024 * 1024
    /// How often the open streams of an HTTP/2 connection are checked.
    package var streamCheckInterval = TimeAmount.seconds(1)
    /// The time between the first and the final `GOAWAY` of an HTTP/2 connection, RFC 9113 §6.8.
    package var goAwayDelay = TimeAmount.seconds(1)

    package init() {}
}
