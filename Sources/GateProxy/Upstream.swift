// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The way of one event loop to an app, over one target or several; confined to that loop.
package final class Upstream {
    /// What the configuration says.
    package let settings: UpstreamSettings
    private let setting: UpstreamEnvironment
    private let pools: [any UpstreamPool]
    /// The only pool, which needs no choice and no look at the clock; nil if there are several.
    private let only: HTTP1Pool?
    private let outcomes: [TargetOutcomes]
    private let health: [TargetHealth]
    private var targets: LoadBalancer
    private var budget: RetryBudget

    /// A way without connections.
    ///
    /// - Parameters:
    ///   - upstream: Where it leads, and how.
    ///   - setting: What it shares with the rest of its loop.
    ///   - health: The word of the health checks on each target; empty if there are none.
    package init(_ upstream: LoadedUpstream, setting: UpstreamEnvironment, health: [TargetHealth] = []) {
        let settings = upstream.settings
        self.settings = settings
        self.setting = setting
        self.health = health.count == settings.targets.count ? health : []
        let outcomes = settings.targets.map { _ in TargetOutcomes() }
        // The last target is never left out, so how its requests go matters to nobody.
        let isWatched = settings.targets.count > 1 && settings.ejection != nil
        self.outcomes = outcomes
        self.pools = zip(settings.targets, outcomes).map { target, outcomes in
            Upstream.pool(for: target, of: upstream, setting: setting, outcomes: isWatched ? outcomes : nil)
        }
        self.only = self.pools.count == 1 ? self.pools.first as? HTTP1Pool : nil
        self.targets = LoadBalancer(settings)
        self.budget = RetryBudget(percent: settings.retry.budget, now: .now())
    }

    /// The connections to one target of a settings.
    static func pool(
        for target: UpstreamTarget,
        of upstream: LoadedUpstream,
        setting: UpstreamEnvironment,
        outcomes: TargetOutcomes?
    ) -> any UpstreamPool {
        let connector = UpstreamConnector(to: target, of: upstream, setting: setting)
        guard !target.isHTTP2 else { return HTTP2Pool(connector, limits: upstream.settings.limits, outcomes: outcomes) }
        return HTTP1Pool(connector, limits: upstream.settings.limits, outcomes: outcomes)
    }

    /// Finds a way for a request; `sink` is told, now or later, that it is ready or that there is none.
    ///
    /// - Parameters:
    ///   - sink: Who wants it.
    ///   - key: The session, or 0 for none; the same goes to the same target if the choice is sticky.
    /// - Returns: The position of the target, to be avoided by a second try.
    package func lease(to sink: any UpstreamSink, key: @autoclosure () -> UInt64) -> Int {
        self.budget.noteRequest()
        if let only {
            only.lease(to: sink)
            return 0
        }
        let index = self.pick(key: self.settings.balance == .sticky ? key() : 0, avoiding: nil)
        self.pools[index].lease(to: sink, fresh: false)
        return index
    }

    /// Whether a request may be sent a second time now; takes it out of the budget.
    ///
    /// - Parameters:
    ///   - problem: How the first try ended.
    ///   - call: The request.
    ///   - wasReused: Whether its connection had carried a request before.
    ///   - bodyBegan: Whether a byte of its body has been sent.
    /// - Returns: Whether ``leaseForRetry(to:key:avoiding:)`` may be called.
    package func mayRetry(
        after problem: UpstreamFailure,
        _ call: UpstreamRequest,
        wasReused: Bool,
        bodyBegan: Bool
    ) -> Bool {
        guard self.settings.retry.allows(problem, method: call.method, wasReused: wasReused, bodyBegan: bodyBegan)
        else {
            return false
        }
        // A request that no app has seen adds nothing to the load of the other targets, so it needs no budget.
        return self.mayTryOtherTarget(after: problem) || self.budget.take(at: .now())
    }

    /// Whether a request that found nothing at its target may go to another.
    package func mayTryOtherTarget(after problem: UpstreamFailure) -> Bool {
        self.pools.count > 1 && problem.isUnreachable
    }

    /// Finds a way for the second try: on a new connection, to another target if there is one.
    ///
    /// - Parameters:
    ///   - sink: Who wants it.
    ///   - key: The session, or 0 for none.
    ///   - target: The target that was asked before.
    ///   - problem: How that ended; a target that was not there is asked again only if it is the only one.
    /// - Returns: The position of the target.
    package func leaseForRetry(
        to sink: any UpstreamSink,
        key: @autoclosure () -> UInt64,
        avoiding target: Int,
        after problem: UpstreamFailure
    ) -> Int {
        let session = self.settings.balance == .sticky ? key() : 0
        let index = self.pick(key: session, avoiding: target, isGone: problem.isUnreachable)
        self.pools[index].lease(to: sink, fresh: true)
        return index
    }

    /// Takes a request out of the line; its client is gone.
    package func cancel(_ sink: any UpstreamSink) {
        for pool in self.pools {
            pool.cancel(sink)
        }
    }

    /// Keeps no more connections; those in use end with their request.
    ///
    /// Called when no route leads here any more.
    package func shutDown() {
        for pool in self.pools {
            pool.shutDown()
        }
    }

    private func pick(key: UInt64, avoiding avoided: Int?, isGone: Bool = false) -> Int {
        let now = NIODeadline.now()
        self.look(at: now)
        let pools = self.pools
        return self.targets.pick(key: key, at: now, avoiding: avoided, isGone: isGone) { pools[$0].load.requests }
    }

    /// Takes note of the health checks and of failures.
    private func look(at now: NIODeadline) {
        for index in self.pools.indices {
            if !self.health.isEmpty { self.targets.setHealth(index, isUp: self.health[index].isUp, at: now) }
            let outcomes = self.outcomes[index]
            let failures = outcomes.failures
            guard failures > 0,
                let span = self.targets.eject(index, after: failures, isBrief: outcomes.isOnlyUnreachable, at: now)
            else { continue }
            self.outcomes[index].forget()
            self.setting.report(.ejected(self.settings.targets[index], failures: failures, span: span))
        }
    }
}

// MARK: Report

/// How one target of an upstream is.
package struct TargetStatus: Sendable, Hashable {
    /// The target.
    package var target: UpstreamTarget
    /// Whether the health checks say that it is there; true if there are none.
    package var isUp: Bool
    /// On how many event loops it is left out because it failed.
    package var ejections: Int
    /// On how many event loops it is known.
    package var loops: Int
    /// Connections and requests.
    package var load: TargetLoad

    /// What one loop says of a target.
    package init(_ target: UpstreamTarget, isUp: Bool, isEjected: Bool = false, load: TargetLoad = TargetLoad()) {
        self.target = target
        self.isUp = isUp
        self.ejections = isEjected ? 1 : 0
        self.loops = 1
        self.load = load
    }

    /// Whether some event loop uses it.
    package var isHealthy: Bool { self.isUp && self.ejections < self.loops }

    /// Adds what another loop says of the same target.
    package mutating func merge(_ other: TargetStatus) {
        self.isUp = self.isUp && other.isUp
        self.ejections += other.ejections
        self.loops += other.loops
        self.load += other.load
    }
}

extension Upstream {
    /// How the targets are, for this loop.
    package var status: [TargetStatus] {
        let now = NIODeadline.now()
        if self.pools.count > 1 { self.look(at: now) }
        return self.settings.targets.indices.map { index in
            TargetStatus(
                self.settings.targets[index],
                isUp: self.health.isEmpty || self.health[index].isUp,
                isEjected: self.targets.ejectedUntil(index, at: now) != nil,
                load: self.pools[index].load
            )
        }
    }
}
