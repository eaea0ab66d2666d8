// SPDX-License-Identifier: Apache-2.0

package import GateNet
package import NIOCore

/// The services that the connections of one event loop share.
package struct UpstreamEnvironment {
    package let loop: any EventLoop
    /// Watches deadlines.
    package let sweep: DeadlineSweep
    /// Flushes the writes of one turn together; nil flushes each immediately.
    package let flushes: FlushBatch?
    /// Resolves names.
    package let names: DNSCache
    /// Reports events to the operator.
    package let report: @Sendable (UpstreamEvent) -> Void

    /// Bundles the services.
    package init(
        loop: any EventLoop,
        sweep: DeadlineSweep,
        flushes: FlushBatch? = nil,
        names: DNSCache = DNSCache(),
        report: @escaping @Sendable (UpstreamEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.sweep = sweep
        self.flushes = flushes
        self.names = names
        self.report = report
    }
}

/// An event about a target that matters to the operator.
package enum UpstreamEvent: Sendable {
    /// A target failed too often and is ejected for a while, on one event loop.
    case ejected(UpstreamTarget, failures: Int, span: TimeAmount)
    /// The health checks have changed the state of a target, and why.
    case health(UpstreamTarget, isUp: Bool, String)
    /// A trusted certificate has none of the pinned keys; the keys are those of the built chain.
    case pinMismatch(UpstreamTarget, isEnforced: Bool, presented: VerifiedChain?)
}
