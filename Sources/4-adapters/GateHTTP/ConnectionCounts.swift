// SPDX-License-Identifier: Apache-2.0

package import GateNet

/// The client connections of one event loop and one protocol, for metrics; counted on the loop, read by any thread.
package struct ConnectionCounts: Sendable {
    package let open = LoopNumber()
    /// Those with a request in progress.
    package let active = LoopNumber()

    package init() {}
}
