// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Bounds on the traffic with one target of an upstream, for each event loop; the defaults are those of the
/// documentation.
package struct UpstreamLimits: Sendable, Hashable {
    /// Bounds on the heads of answers.
    package var head = HeadLimits.response
    /// Until a connection is made, TLS included.
    package var connect = TimeAmount.seconds(5)
    /// From the end of the request to the head of the answer.
    package var responseHead = TimeAmount.seconds(30)
    /// Between two reads of an answer, or two writes of a request.
    package var inactivity = TimeAmount.seconds(60)
    /// Silence in a tunnel, both ways.
    package var tunnel = TimeAmount.hours(1)
    /// How long the end of a tunnel waits for the app to end it as well.
    package var tunnelEnd = TimeAmount.seconds(2)
    /// How long a connection is kept for later requests: shorter than the five seconds after which common app servers
    /// close theirs, since a request that meets the close cannot always be repeated.
    package var idle = TimeAmount.seconds(4)
    /// Open connections.
    package var connections = 512
    /// Requests waiting for a connection.
    package var pending = 256
    /// Requests under way and waiting together.
    package var requests = 1024
    /// Interim answers before the final one.
    package var interim = 8

    /// The defaults.
    package init() {}
}
