// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Decides which traces are exported, by the rules of the samplers of OpenTelemetry.
package struct Sampler: Sendable, Hashable {
    /// What decides about a trace that begins here.
    package enum Rule: Sendable, Hashable {
        /// Every trace.
        case all
        /// No trace.
        case none
        /// This share of the traces, 0 to 1.
        case ratio(Double)
    }

    /// What decides about a trace that begins here.
    package let rule: Rule
    /// Whether the flag of a valid `traceparent` decides instead, where there is one.
    package let followsParent: Bool

    /// Puts the parts together.
    package init(_ rule: Rule, followsParent: Bool) {
        self.rule = rule
        self.followsParent = followsParent
    }

    /// The samplers by the names that `OTEL_TRACES_SAMPLER` takes.
    package static let names = [
        "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
        "parentbased_traceidratio",
    ]

    /// The sampler of a name; nil if no sampler has it.
    package init?(name: String, ratio: Double) {
        let prefix = "parentbased_"
        self.followsParent = name.hasPrefix(prefix)
        switch self.followsParent ? String(name.dropFirst(prefix.count)) : name {
        case "always_on": self.rule = .all
        case "always_off": self.rule = .none
        case "traceidratio": self.rule = .ratio(ratio)
        default: return nil
        }
    }

    /// Whether a trace is exported.
    ///
    /// - Parameters:
    ///   - trace: Its id.
    ///   - parent: The span of the client; nil if the trace begins here.
    ///   - isTrusted: Whether a trusted proxy has sent the id. The ratio compares the id, which another client could choose
    ///     so that all its requests are exported; for that one it is a random number.
    /// - Returns: Whether it is.
    package func samples(_ trace: TraceID, parent: TraceParent?, isTrusted: Bool) -> Bool {
        if self.followsParent, let parent { return parent.isSampled }
        switch self.rule {
        case .all: return true
        case .none: return false
        case .ratio(let ratio):
            let isOwn = parent == nil || isTrusted
            let number = (isOwn ? trace.low : UInt64.random(in: .min ... .max)) >> 1
            // The same comparison as in other implementations, so that all choose the same traces.
            return number < UInt64(saturating: ratio * 9_223_372_036_854_775_808)
        }
    }
}
