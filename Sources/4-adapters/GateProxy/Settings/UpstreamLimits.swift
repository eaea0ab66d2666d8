// SPDX-License-Identifier: Apache-2.0

package import GateWire
package import NIOCore

/// Limits and time-outs of the traffic with one target of an upstream, for each event loop.
package struct UpstreamLimits: Sendable, Hashable {
    package var head = HeadLimits.response
    /// Until a connection is open, TLS included.
    package var connect = TimeAmount.seconds(5)
    /// From the end of the request to the head of the response.
    package var responseHead = TimeAmount.seconds(30)
    /// Between two reads of a response, or two writes of a request.
    package var inactivity = TimeAmount.seconds(60)
    /// Silence in a tunnel, in both directions.
    package var tunnel = TimeAmount.hours(1)
    /// How long a closed tunnel waits for the app to close its side.
    package var tunnelEnd = TimeAmount.seconds(2)
    /// How long a connection is kept for later requests.
    ///
    /// Shorter than the five seconds after which common app servers close theirs: a request that meets the close cannot
    /// always be retried.
    package var idle = TimeAmount.seconds(4)
    /// Open connections.
    package var connections = 512
    /// Requests that wait for a connection; 0 for none.
    package var pending = 256
    /// Requests in flight and pending together.
    package var requests = 1024
    /// Interim responses before the final one.
    package var interim = 8

    package init() {}
}
