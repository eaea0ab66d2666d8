// SPDX-License-Identifier: Apache-2.0

/// The connections of one event loop to one target; confined to that loop.
package protocol UpstreamPool: AnyObject {
    /// Requests a connection or stream for a request; `sink` is informed, now or later, that it is ready or that there
    /// is no connection.
    ///
    /// - Parameters:
    ///   - sink: Receives the events of the request.
    ///   - fresh: Whether to use a new connection, for a retry.
    func lease(to sink: any UpstreamSink, fresh: Bool)
    /// Removes a request from the queue; its client has disconnected.
    func cancel(_ sink: any UpstreamSink)
    /// Closes idle connections; those in use close after their request.
    func shutDown()
    var load: TargetLoad { get }
}

/// The number of connections and requests at one target.
package struct TargetLoad: Sendable, Hashable {
    /// Connections, open or being opened.
    package var connections = 0
    /// Requests in progress.
    package var active = 0
    /// Requests that wait for a connection.
    package var waiting = 0

    /// Requests in progress or waiting.
    package var requests: Int { self.active + self.waiting }

    /// No load.
    package init() {}

    /// Adds the load of another loop.
    package static func += (left: inout TargetLoad, right: TargetLoad) {
        left.connections += right.connections
        left.active += right.active
        left.waiting += right.waiting
    }
}
