// SPDX-License-Identifier: Apache-2.0

/// How short of memory or descriptors the gateway is, and what it does about it; each stage does what those before it do.
package enum OverloadStage: Int, Sendable, Comparable, CaseIterable {
    /// Nothing is short.
    case calm
    /// From 80 %: idle connections are kept for a shorter time.
    case hurried
    /// From 85 %: new sign-ins are rejected; users who are signed in are not affected.
    case guarded
    /// From 90 %: connections close after their next response, and HTTP/2 has fewer streams.
    case closing
    /// From 95 %: no connection is accepted, and the gateway is not ready.
    case holding
    /// From 98 %: every request is rejected.
    case shedding

    /// The share of a limit from which the stage applies.
    package var threshold: Double {
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
    package init(at share: Double) {
        self = OverloadStage.allCases.last { share >= $0.threshold } ?? .calm
    }

    /// What metrics, `/status` and the log call it.
    package var name: String { "\(self)" }

    /// Whether new sign-ins are rejected.
    package var refusesSignIns: Bool { self >= .guarded }
    /// Whether connections close after their next response.
    var closesConnections: Bool { self >= .closing }
    /// Whether no connection is accepted.
    package var holdsAccepting: Bool { self >= .holding }
    /// Whether every request is rejected.
    var refusesRequests: Bool { self >= .shedding }
    /// How many streams an HTTP/2 connection may have at most; nil for as many as are configured.
    var maxStreams: Int? { self >= .closing ? 10 : nil }

    /// Whether a stage is less severe than another.
    package static func < (left: OverloadStage, right: OverloadStage) -> Bool { left.rawValue < right.rawValue }
}
