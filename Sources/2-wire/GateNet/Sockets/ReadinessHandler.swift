// SPDX-License-Identifier: Apache-2.0

/// Handles the events of a descriptor that a ``SocketLoop`` watches; confined to that loop.
protocol ReadinessHandler: AnyObject {
    /// The kernel has reported events.
    func ready(_ readiness: Readiness)
    /// The loop is shutting down.
    func loopWillClose()
}
