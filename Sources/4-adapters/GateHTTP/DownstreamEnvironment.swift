// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import GateWire

/// What a connection needs from its event loop and its listener; created once per connection.
package struct DownstreamEnvironment {
    package let limits: DownstreamLimits
    /// The field names with a meaning, read again for each head because a reload may change them.
    package let names: () -> FieldNames
    /// The sweep of the connection's loop.
    package let sweep: DeadlineSweep
    /// Whether the gateway is draining, so that connections close after their responses.
    package let isDraining: () -> Bool
    /// Flushes the connections of the loop together; nil flushes each immediately.
    package let flushes: FlushBatch?
    /// Buffers for heads and other small output.
    package let buffers: BufferPool
    /// Bounds the heads of the loop that have arrived in part.
    package let heads: UnfinishedHeads
    /// The `Date` of the gateway's own responses.
    package let date: DateLine
    /// Whether WebSockets over HTTP/2 are enabled, RFC 8441.
    package let takesWebSockets: Bool
    /// Where the connection is counted.
    package let counts: ConnectionCounts

    /// Bundles the dependencies.
    package init(
        limits: DownstreamLimits,
        names: @escaping () -> FieldNames,
        sweep: DeadlineSweep,
        isDraining: @escaping () -> Bool,
        flushes: FlushBatch? = nil,
        buffers: BufferPool = BufferPool(maxSpare: 0),
        heads: UnfinishedHeads = UnfinishedHeads(),
        date: DateLine = DateLine(),
        takesWebSockets: Bool = false,
        counts: ConnectionCounts = ConnectionCounts()
    ) {
        self.limits = limits
        self.names = names
        self.sweep = sweep
        self.isDraining = isDraining
        self.flushes = flushes
        self.buffers = buffers
        self.heads = heads
        self.date = date
        self.takesWebSockets = takesWebSockets
        self.counts = counts
    }
}
