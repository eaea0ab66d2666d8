// SPDX-License-Identifier: Apache-2.0

internal import GateHTTP
internal import NIOCore

/// How short of memory or descriptors the gateway is, and what it does about it; each stage does what those before it do.
enum OverloadStage: Int, Sendable, Comparable, CaseIterable {
    /// Nothing is short.
    case calm
    /// From 80 %: idle connections are kept for a shorter time.
    case hurried
    /// From 85 %: nobody new signs in, while those who are signed in go on.
    case guarded
    /// From 90 %: connections end with their next answer, and HTTP/2 has fewer streams.
    case closing
    /// From 95 %: no connection is accepted, and readiness is gone.
    case holding
    /// From 98 %: every request is refused.
    case shedding

    /// The share of a bound from which the stage holds.
    var threshold: Double {
        switch self {
        case .calm: 0
        case .hurried: 0.80
        case .guarded: 0.85
        case .closing: 0.90
        case .holding: 0.95
        case .shedding: 0.98
        }
    }

    /// The highest stage whose threshold a share reaches.
    init(at share: Double) {
        self = OverloadStage.allCases.last { share >= $0.threshold } ?? .calm
    }

    /// What metrics, `/status` and the log call it.
    var name: String { "\(self)" }

    var refusesSignIns: Bool { self >= .guarded }
    var closesConnections: Bool { self >= .closing }
    var holdsAccepting: Bool { self >= .holding }
    var refusesRequests: Bool { self >= .shedding }
    /// How many streams an HTTP/2 connection may have at most; nil for as many as are configured.
    var maxStreams: Int? { self >= .closing ? 10 : nil }

    static func < (left: OverloadStage, right: OverloadStage) -> Bool { left.rawValue < right.rawValue }
}

/// Decides which stage holds: up at once, down when the share is five points below the threshold and a second has passed.
struct OverloadMachine: Sendable {
    /// How far below its threshold the share has to be before a stage ends.
    static let hysteresis = 0.05
    /// How long a stage lasts at least.
    static let shortest = Duration.seconds(1)

    private(set) var stage = OverloadStage.calm
    private var since = Duration.zero

    /// The stage after a look.
    ///
    /// - Parameters:
    ///   - share: How much of the scarcest bound is used, 1 for all of it.
    ///   - now: The time since any fixed moment, which never runs backwards.
    /// - Returns: The stage that holds from now on.
    mutating func advance(to share: Double, at now: Duration) -> OverloadStage {
        let wanted = OverloadStage(at: share)
        if wanted > self.stage {
            self.enter(wanted, now)
        } else if wanted < self.stage, now - self.since >= OverloadMachine.shortest {
            let kept = OverloadStage(at: share + OverloadMachine.hysteresis)
            if kept < self.stage { self.enter(kept, now) }
        }
        return self.stage
    }

    private mutating func enter(_ stage: OverloadStage, _ now: Duration) {
        self.stage = stage
        self.since = now
    }

    /// How long idle connections are kept at a share: as configured below 80 %, 5 seconds from 95 %, linear between.
    static func idleTime(at share: Double, configured: TimeAmount) -> TimeAmount {
        let shortest = TimeAmount.seconds(5)
        guard configured > shortest, share > OverloadStage.hurried.threshold else { return configured }
        let span = OverloadStage.holding.threshold - OverloadStage.hurried.threshold
        let part = min(1, (share - OverloadStage.hurried.threshold) / span)
        let range = Double(configured.nanoseconds - shortest.nanoseconds)
        return .nanoseconds(configured.nanoseconds - Int64(range * part))
    }
}
