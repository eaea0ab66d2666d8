// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The connections of one event loop to an app with one or several targets; confined to that loop.
package final class Upstream {
    /// The configuration.
    package let settings: UpstreamSettings
    private let environment: UpstreamEnvironment
    private let pools: [any UpstreamPool]
    /// The only pool, which needs no load balancing; nil if there are several.
    private let only: HTTP1Pool?
    private let outcomes: [TargetOutcomes]
    private let health: [TargetHealth]
    private var targets: LoadBalancer
    private var budget: RetryBudget

    /// An upstream without connections.
    ///
    /// - Parameters:
    ///   - upstream: The settings and TLS files.
    ///   - environment: Services of its loop.
    ///   - health: The result of the health checks for each target; empty without health checks.
    package init(_ upstream: LoadedUpstream, environment: UpstreamEnvironment, health: [TargetHealth] = []) {
        let settings = upstream.settings
        self.settings = settings
        self.environment = environment
        self.health = health.count == settings.targets.count ? health : []
        let outcomes = settings.targets.map { _ in TargetOutcomes() }
        // The last target is never ejected, so its outcomes need not be counted.
        let isWatched = settings.targets.count > 1 && settings.ejection != nil
        self.outcomes = outcomes
        self.pools = zip(settings.targets, outcomes).map { target, outcomes in
            Upstream.pool(for: target, of: upstream, environment: environment, outcomes: isWatched ? outcomes : nil)
        }
        self.only = self.pools.count == 1 ? self.pools.first as? HTTP1Pool : nil
        self.targets = LoadBalancer(settings)
        self.budget = RetryBudget(percent: settings.retry.budget, now: .now())
    }

    static func pool(
        for target: UpstreamTarget,
        of upstream: LoadedUpstream,
        environment: UpstreamEnvironment,
        outcomes: TargetOutcomes?
    ) -> any UpstreamPool {
        let connector = UpstreamConnector(to: target, of: upstream, environment: environment)
        guard !target.isHTTP2 else { return HTTP2Pool(connector, limits: upstream.settings.limits, outcomes: outcomes) }
        return HTTP1Pool(connector, limits: upstream.settings.limits, outcomes: outcomes)
    }

    /// Requests a connection or stream for a request; `sink` is informed, now or later, that it is ready or that there
    /// is no connection.
    ///
    /// - Parameters:
    ///   - sink: Receives the events of the request.
    ///   - key: The session, or 0; with sticky balancing the same key leads to the same target.
    /// - Returns: The index of the target, which a retry avoids.
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

    /// Whether a request may be retried now; uses the retry budget.
    ///
    /// - Parameters:
    ///   - failure: How the first attempt failed.
    ///   - call: The request.
    ///   - wasReused: Whether its connection had carried a request before.
    ///   - bodyBegan: Whether a byte of its body has been sent.
    /// - Returns: Whether ``leaseForRetry(to:key:avoiding:after:)`` may be called.
    package func mayRetry(
        after failure: UpstreamFailure,
        _ call: UpstreamRequest,
        wasReused: Bool,
        bodyBegan: Bool
    ) -> Bool {
        guard self.settings.retry.allows(failure, method: call.method, wasReused: wasReused, bodyBegan: bodyBegan)
        else {
            return false
        }
        // A request that no app has seen adds no load to the other targets, so it needs no budget.
        return self.mayTryOtherTarget(after: failure) || self.budget.take(at: .now())
    }

    /// Whether a request that found nothing listening at its target may go to another one.
    package func mayTryOtherTarget(after failure: UpstreamFailure) -> Bool {
        self.pools.count > 1 && failure.isUnreachable
    }

    /// Requests a new connection for a retry, to another target if there is one.
    ///
    /// - Parameters:
    ///   - sink: Receives the events of the request.
    ///   - key: The session, or 0.
    ///   - target: The target of the first attempt.
    ///   - failure: How that failed; an unreachable target is retried only if it is the only one.
    /// - Returns: The index of the target.
    package func leaseForRetry(
        to sink: any UpstreamSink,
        key: @autoclosure () -> UInt64,
        avoiding target: Int,
        after failure: UpstreamFailure
    ) -> Int {
        let session = self.settings.balance == .sticky ? key() : 0
        let index = self.pick(key: session, avoiding: target, isGone: failure.isUnreachable)
        self.pools[index].lease(to: sink, fresh: true)
        return index
    }

    /// Removes a request from the queue; its client has disconnected.
    package func cancel(_ sink: any UpstreamSink) {
        for pool in self.pools {
            pool.cancel(sink)
        }
    }

    /// Closes idle connections; those in use close after their request.
    ///
    /// Called when no route uses this upstream any more.
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

    /// Applies health checks and failures to the load balancer.
    private func look(at now: NIODeadline) {
        for index in self.pools.indices {
            if !self.health.isEmpty { self.targets.setHealth(index, isUp: self.health[index].isUp, at: now) }
            let outcomes = self.outcomes[index]
            let failures = outcomes.failures
            guard failures > 0,
                let span = self.targets.eject(index, after: failures, isBrief: outcomes.isOnlyUnreachable, at: now)
            else { continue }
            self.outcomes[index].reset()
            self.environment.report(.ejected(self.settings.targets[index], failures: failures, span: span))
        }
    }
}

// MARK: Report

/// The status of one target of an upstream.
package struct TargetStatus: Sendable, Hashable {
    package var target: UpstreamTarget
    /// Whether the health checks pass; true without checks.
    package var isUp: Bool
    /// On how many event loops it is ejected.
    package var ejections: Int
    /// How many event loops have reported it.
    package var loops: Int
    /// Connections and requests.
    package var load: TargetLoad

    /// The status on one loop.
    package init(_ target: UpstreamTarget, isUp: Bool, isEjected: Bool = false, load: TargetLoad = TargetLoad()) {
        self.target = target
        self.isUp = isUp
        self.ejections = isEjected ? 1 : 0
        self.loops = 1
        self.load = load
    }

    /// Whether at least one event loop uses it.
    package var isHealthy: Bool { self.isUp && self.ejections < self.loops }

    /// Adds the status of the same target on another loop.
    package mutating func merge(_ other: TargetStatus) {
        self.isUp = self.isUp && other.isUp
        self.ejections += other.ejections
        self.loops += other.loops
        self.load += other.load
    }
}

extension Upstream {
    /// The status of the targets on this loop.
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
