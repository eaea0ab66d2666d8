// SPDX-License-Identifier: Apache-2.0

/// How short of memory or descriptors the gateway is, and what it does about it; each level does what those before it do.
package enum OverloadLevel: Int, Sendable, Comparable, CaseIterable {
    /// Nothing is short.
    case normal
    /// From 80 %: idle connections are kept for a shorter time.
    case shorterIdle
    /// From 85 %: new sign-ins are rejected; users who are signed in are not affected.
    case noSignIns
    /// From 90 %: connections close after their next response, and HTTP/2 has fewer streams.
    case closing
    /// From 95 %: no connection is accepted, and the gateway is not ready.
    case noAccept
    /// From 98 %: every request is rejected.
    case noRequests

    /// The share of a limit from which the level applies.
    package var threshold: Double {
        switch self {
        case .normal: 0
        case .shorterIdle: 0.80
        case .noSignIns: 0.85
        case .closing: 0.90
        case .noAccept: 0.95
        case .noRequests: 0.98
        }
    }

    /// The highest level whose threshold a share reaches.
    package init(at share: Double) {
        self = OverloadLevel.allCases.last { share >= $0.threshold } ?? .normal
    }

    /// The name in `/status` and in the log.
    package var name: String {
        switch self {
        case .normal: "normal"
        case .shorterIdle: "shorter_idle"
        case .noSignIns: "no_sign_ins"
        case .closing: "closing"
        case .noAccept: "no_accept"
        case .noRequests: "no_requests"
        }
    }

    /// Whether new sign-ins are rejected.
    package var rejectsSignIns: Bool { self >= .noSignIns }
    /// Whether connections close after their next response.
    package var closesConnections: Bool { self >= .closing }
    /// Whether no connection is accepted.
    package var pausesAccepting: Bool { self >= .noAccept }
    /// Whether every request is rejected.
    package var rejectsRequests: Bool { self >= .noRequests }
    /// How many streams an HTTP/2 connection may have at most; nil for as many as are configured.
    package var maxStreams: Int? { self >= .closing ? 10 : nil }

    /// Whether a level is less severe than another.
    package static func < (left: OverloadLevel, right: OverloadLevel) -> Bool { left.rawValue < right.rawValue }
}
