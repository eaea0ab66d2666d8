// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateHTTP
internal import Logging
internal import NIOCore
internal import Synchronization

/// How many idle connections a drain ends at each step, so that their clients do not all come to the next gateway at once.
struct DrainPace: Equatable, Sendable {
    /// How long a step takes.
    static let step = Duration.milliseconds(50)
    /// How long a connection has been silent before it counts as idle: a request that is on its way is answered.
    static let quiet = TimeAmount.milliseconds(250)
    /// So long before the end of the drain tunnels are ended, which know no end of their own.
    static let tunnelTime = Duration.seconds(5)
    /// How many of one loop a step ends at least, since so few make no storm.
    static let least = 20

    /// How long the ends are spread over.
    let spread: Duration

    /// How many of one loop to end at this step.
    ///
    /// - Parameters:
    ///   - idle: How many of the loop are idle.
    ///   - passed: How much of the spread is over.
    /// - Returns: The number; all when the spread is over.
    func quota(idle: Int, passed: Duration) -> Int {
        let left = Int((self.spread - passed) / DrainPace.step)
        return left > 0 ? max(DrainPace.least, (idle + left - 1) / left) : .max
    }
}

extension Gateway {
    /// Ends gracefully: not ready at once; no new connections after the delay; requests under way may end, idle connections
    /// are ended little by little.
    ///
    /// - Returns: Whether every request came to its end.
    func drain() async -> Bool {
        let settings = self.state.withLock { state in
            state.isDraining = true
            return state.configuration.gateway.drain
        }
        self.notice.send(.stopping)
        let delay = self.options.drainDelay ?? settings.delay
        self.logger.info("draining", metadata: ["delay": "\(delay)", "timeout": "\(settings.timeout)"])
        let began = ContinuousClock.now
        // A delay that was asked for on the command line may leave no time; requests under way get some in any case.
        let end = began + max(settings.timeout, delay == .zero ? .zero : delay + .seconds(1))
        try? await Task.sleep(for: delay)
        async let finished: Void = self.finishListeners()
        for bound in self.loops {
            try? await bound.eventLoop.submit { bound.value.drain() }.get()
        }
        await finished
        return await self.emptied(until: end, pace: DrainPace(spread: settings.timeout / 2))
    }

    /// Takes who is about to connect, and nobody more; on all listeners at the same time, since each takes a while.
    private func finishListeners() async {
        await withTaskGroup { group in
            for listener in self.listeners.withLock({ $0 }) {
                group.addTask { await listener.drain() }
            }
        }
    }

    private func emptied(until end: ContinuousClock.Instant, pace: DrainPace) async -> Bool {
        let began = ContinuousClock.now
        var idle = [Int](repeating: 0, count: self.loops.count)
        var hasEndedTunnels = false
        while ContinuousClock.now < end, !Task.isCancelled {
            let passed = began.duration(to: .now)
            if !hasEndedTunnels, ContinuousClock.now >= end - DrainPace.tunnelTime {
                hasEndedTunnels = true
                for bound in self.loops {
                    bound.eventLoop.execute { bound.value.endTunnels() }
                }
            }
            for (index, bound) in self.loops.enumerated() {
                let most = pace.quota(idle: idle[index], passed: passed)
                let quiet = passed >= pace.spread ? TimeAmount.zero : DrainPace.quiet
                let left = try? await bound.eventLoop.submit { bound.value.endIdle(for: quiet, atMost: most) }.get()
                idle[index] = left ?? 0
            }
            if idle.allSatisfy({ $0 == 0 }), await self.unfinished() == 0 { return true }
            try? await Task.sleep(for: DrainPace.step)
        }
        return await self.unfinished() == 0
    }
}
