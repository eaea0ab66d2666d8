// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateNet
internal import GatePolicy
internal import GateRuntime
internal import GateWire
internal import NIOCore

/// Ends an exchange that lasts when a date in the rules ends the access of its user; confined to one event loop.
///
/// The exchange owns it. A tunnel has its ``TunnelAuthorization`` instead.
final class AccessWatch {
    private let exchange: WatchedExchange
    private let sweep: DeadlineSweep

    /// Begins to watch.
    init(over exchange: UpstreamExchange, _ access: EndingAccess, loop: LoopState) {
        self.exchange = WatchedExchange(exchange, access, loop)
        self.sweep = loop.sweep
        self.sweep.add(self.exchange)
    }

    deinit { self.sweep.remove(self.exchange) }
}

/// An exchange as the sweep knows it, which must not keep it alive.
private final class WatchedExchange: Expiring {
    private weak var exchange: UpstreamExchange?
    private let access: EndingAccess
    private let loop: LoopState
    private(set) var deadline = NIODeadline.distantFuture
    /// When the access was last looked at.
    private var last: Instant

    init(_ exchange: UpstreamExchange, _ access: EndingAccess, _ loop: LoopState) {
        (self.exchange, self.access, self.loop) = (exchange, access, loop)
        self.last = access.facts.time
        self.wait(since: access.facts.time)
    }

    private func wait(since now: Instant) {
        let left = self.access.nextTurn(after: now).map { $0.since(now).wholeSeconds }
        // Not much later, since the clock may be set meanwhile.
        self.deadline = left.map { .now() + .seconds(min(max(1, $0), 60)) } ?? .distantFuture
    }

    func expire() {
        self.deadline = .distantFuture
        guard let exchange else { return }
        let now = self.loop.clock.now
        guard self.access.admits(at: now, since: self.last) else {
            let detail = "\(self.access.user) may not enter \(exchange.route.name) any more: by a date in its rules"
            return exchange.endAccess(Failure(.policyRefused, detail))
        }
        self.last = now
        self.wait(since: now)
    }
}
