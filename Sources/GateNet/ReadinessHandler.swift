// SPDX-License-Identifier: Apache-2.0

/// Something that a ``SocketLoop`` watches; confined to that loop.
protocol ReadinessHandler: AnyObject {
    /// The kernel has something to say.
    func ready(_ readiness: Readiness)
    /// The loop ends.
    func loopEnds()
}
