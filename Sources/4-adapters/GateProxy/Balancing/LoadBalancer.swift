// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Chooses among the targets of an upstream; pure, without connections and clocks.
package struct LoadBalancer {
    private struct Target {
        /// The seed of its rendezvous hash.
        let seed: UInt64
        var isUp = true
        var ejection: Ejection
        /// Since when it has been back, during slow start.
        var backSince: NIODeadline?
        /// The accumulated share, below one.
        var credit = 0.0
    }

    private let balance: LoadBalancing
    private let slowStart: TimeAmount
    private let jitter: () -> Double
    private var targets: [Target]
    private var next = 0

    /// All targets are available.
    ///
    /// - Parameters:
    ///   - settings: The targets and how to choose.
    ///   - jitter: Numbers from -1 to 1.
    package init(_ settings: UpstreamSettings, jitter: @escaping () -> Double = { Double.random(in: -1...1) }) {
        self.balance = settings.balance
        self.slowStart = settings.slowStart
        self.jitter = jitter
        self.targets = settings.targets.map {
            Target(seed: StableHash.seed(of: "\($0)"), ejection: Ejection(settings.ejection))
        }
    }

    /// Whether a target is healthy and not ejected.
    package func isAvailable(_ index: Int, at now: NIODeadline) -> Bool {
        self.targets[index].isUp && !self.targets[index].ejection.isOut(at: now)
    }

    /// Until when a target is ejected; nil if it is not.
    package func ejectedUntil(_ index: Int, at now: NIODeadline) -> NIODeadline? {
        let ejection = self.targets[index].ejection
        return ejection.isOut(at: now) ? ejection.until : nil
    }

    /// Applies the result of health checks.
    package mutating func setHealth(_ index: Int, isUp: Bool, at now: NIODeadline) {
        guard self.targets[index].isUp != isUp else { return }
        self.targets[index].isUp = isUp
        if isUp { self.targets[index].backSince = now }
    }

    /// Ejects a target that has failed often enough, unless it is the last.
    ///
    /// - Parameters:
    ///   - index: The target.
    ///   - failures: Its consecutive failures.
    ///   - isBrief: Whether all of these were refused connections.
    ///   - now: The time.
    /// - Returns: For how long it is ejected; nil if it is not.
    package mutating func eject(
        _ index: Int,
        after failures: Int,
        isBrief: Bool = false,
        at now: NIODeadline
    ) -> TimeAmount? {
        guard self.targets[index].ejection.isDue(after: failures), self.isAvailable(index, at: now) else { return nil }
        guard self.targets.indices.contains(where: { $0 != index && self.isAvailable($0, at: now) }) else { return nil }
        let span = self.targets[index].ejection.begin(at: now, jitter: self.jitter(), isBrief: isBrief)
        self.targets[index].backSince = self.targets[index].ejection.until
        return span
    }

    /// The target for a request.
    ///
    /// If no target is available, all are used: an app that is wrongly considered unhealthy still gets its requests.
    ///
    /// - Parameters:
    ///   - key: The session, or 0; used for sticky balancing only.
    ///   - now: The time.
    ///   - avoided: A target that has just failed the same request; used only if no other is available.
    ///   - isGone: Whether nothing listens at that target, so that an ejected one is the better choice.
    ///   - load: The number of requests at a target.
    /// - Returns: Its index.
    package mutating func pick(
        key: UInt64,
        at now: NIODeadline,
        avoiding avoided: Int?,
        isGone: Bool = false,
        load: (Int) -> Int
    ) -> Int {
        let isOnly = self.targets.count == 1
        guard !isOnly else { return 0 }
        let others = self.targets.indices.contains { $0 != avoided && self.isAvailable($0, at: now) }
        if !others, !isGone, let avoided, self.isAvailable(avoided, at: now) { return avoided }
        let mayUse: (LoadBalancer, Int) -> Bool = { set, index in
            index != avoided && (!others || set.isAvailable(index, at: now))
        }
        switch self.balance {
        case .leastRequests: return self.leastLoaded(at: now, load, where: mayUse)
        case .sticky where key != 0: return self.highest(of: key, where: mayUse)
        case .roundRobin, .sticky: return self.nextInTurn(at: now, where: mayUse)
        }
    }
}

extension LoadBalancer {
    private mutating func nextInTurn(at now: NIODeadline, where mayUse: (LoadBalancer, Int) -> Bool) -> Int {
        var fallback: Int?
        for step in self.targets.indices {
            let index = (self.next + step) % self.targets.count
            guard mayUse(self, index) else { continue }
            fallback = fallback ?? index
            self.targets[index].credit += self.share(of: index, at: now)
            guard self.targets[index].credit >= 1 else { continue }
            self.targets[index].credit -= 1
            self.next = index + 1
            return index
        }
        let chosen = fallback ?? self.next % self.targets.count
        self.next = chosen + 1
        return chosen
    }

    /// Scans all targets: there are at most 64, and the best of two random choices would be worse with few.
    private mutating func leastLoaded(
        at now: NIODeadline,
        _ load: (Int) -> Int,
        where mayUse: (LoadBalancer, Int) -> Bool
    ) -> Int {
        var best: (index: Int, score: Double)?
        for step in self.targets.indices {
            let index = (self.next + step) % self.targets.count
            guard mayUse(self, index) else { continue }
            let score = Double(load(index) + 1) / self.share(of: index, at: now)
            if best.map({ score < $0.score }) ?? true { best = (index, score) }
        }
        // The start moves on, so that the requests of an idle app go round robin.
        self.next = (self.next + 1) % self.targets.count
        return best?.index ?? 0
    }

    /// Rendezvous hashing: each session has its own order of targets and uses the first available one.
    private func highest(of key: UInt64, where mayUse: (LoadBalancer, Int) -> Bool) -> Int {
        var best: (index: Int, score: UInt64)?
        for index in self.targets.indices where mayUse(self, index) {
            let score = StableHash.mix(key ^ self.targets[index].seed)
            if best.map({ score > $0.score }) ?? true { best = (index, score) }
        }
        return best?.index ?? 0
    }

    /// The share of a target during slow start, from 0.1 to 1.
    private mutating func share(of index: Int, at now: NIODeadline) -> Double {
        guard self.slowStart > .zero, let since = self.targets[index].backSince, now >= since else { return 1 }
        let part = Double((now - since).nanoseconds) / Double(self.slowStart.nanoseconds)
        if part >= 1 { self.targets[index].backSince = nil }
        return max(0.1, min(1, part))
    }
}
