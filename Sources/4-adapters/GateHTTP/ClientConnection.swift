// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import NIOCore

/// A client connection of any protocol, as seen by code that closes connections; confined to its event loop.
package protocol ClientConnection: Expiring {
    /// Whether bytes of a response are still queued for the client.
    var isSending: Bool { get }
    /// Closes an idle connection now and a busy one after its responses; called when the gateway drains.
    func drain()
    /// Closes the connection immediately, in the middle of responses.
    func close()
}

/// A client connection that can be closed between requests, to free a slot or to drain; confined to its event loop.
package protocol IdleClosable: Expiring {
    /// Whether it is open and no request is in progress, although one may be arriving.
    var isIdle: Bool { get }
    /// Since when it waits for its client; nil while a request is in progress or bytes of a response are queued.
    var idleSince: NIODeadline? { get }
    /// Closes the connection if no request is in progress and nothing has arrived for that long.
    ///
    /// - Returns: Whether it was closed.
    func closeIfIdle(for time: TimeAmount) -> Bool
}
