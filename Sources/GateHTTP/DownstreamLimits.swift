// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Limits and time-outs of a client connection.
package struct DownstreamLimits: Sendable, Hashable {
    /// Bounds on request heads.
    package var head = HeadLimits.request
    /// From accept to the end of the TLS handshake, whatever arrives.
    package var handshake = TimeAmount.seconds(10)
    /// From accept to the first byte of a request.
    package var firstByte = TimeAmount.seconds(10)
    /// From the first byte of a head to its last, whatever arrives between.
    package var requestHead = TimeAmount.seconds(10)
    /// Between two reads of a body.
    package var bodyInactivity = TimeAmount.seconds(30)
    /// The slowest average a body may arrive at, in bytes a second, measured after ``bodyGrace``.
    package var bodyRate: Int64 = 1024
    /// How long a body may be slower.
    package var bodyGrace = TimeAmount.seconds(10)
    /// How long a client may take no byte of an answer that waits for it.
    package var writeStall = TimeAmount.seconds(60)
    /// The slowest average at which a client may take a response that waits for it, in bytes a second, measured over
    /// ``writeStall``.
    package var downloadRate: Int64 = 128
    /// How long a connection may be idle between requests.
    package var idle = TimeAmount.seconds(75)
    /// How many requests one connection may carry.
    package var requests = 1000
    /// How old a connection may become; ten per cent more or less, so that many do not end at once.
    package var age = TimeAmount.hours(1)
    /// How long a closing connection waits for the client to finish sending.
    package var linger = TimeAmount.seconds(2)
    /// How many bytes of a request are still taken over HTTP/2 when its answer has gone out.
    package var lingerBytes = 1 << 20
    /// How many bytes of later requests are kept while one is being answered.
    package var pipelinedBytes = 64 * 1024
    /// How many requests one HTTP/2 connection may carry, on all its streams.
    ///
    /// More than over HTTP/1.1, where a new connection is made between two requests: here others are under way.
    package var maxRequestsPerConnection = 100_000
    /// HTTP/2 streams of one connection at a time.
    package var streams = 100
    /// How many bytes of a request's body may wait on an HTTP/2 stream.
    package var streamWindow = 64 * 1024
    /// How many may wait on all streams of a connection.
    package var connectionWindow = 1024 * 1024
    /// How many bytes of an answer may wait on an HTTP/2 stream before its upstream is made to wait.
    package var streamBacklog = 64 * 1024
    /// How many may wait on all streams of a connection.
    package var connectionBacklog = 1024 * 1024
    /// How often the open streams of an HTTP/2 connection are looked at.
    package var look = TimeAmount.seconds(1)
    /// How long the client is given to hear that an HTTP/2 connection ends, before the last stream is named.
    package var farewell = TimeAmount.seconds(1)

    /// The defaults.
    package init() {}
}
