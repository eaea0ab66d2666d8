// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOperations

/// What the gateway has decided about a request of an app with `forward_auth: shadow`, and what the proxy in front reports
/// that it has decided itself.
package struct ShadowComparison: Sendable {
    /// The field in which the proxy reports the status of its decision.
    package static let fieldName = "x-gatehouse-shadow-status"

    /// Whether the request needs no sign-in.
    package var isOpen = false
    /// Why the gateway would not let it pass; nil if it would.
    let failure: Failure?
    /// The status of the other decision; nil if it is not known.
    let other: Int?

    /// A comparison.
    ///
    /// - Parameters:
    ///   - failure: Why the gateway would not let the request pass; nil if it would.
    ///   - other: The status of the other decision; what has not three digits, as none of HTTP has, is not known.
    package init(_ failure: Failure?, other: String?) {
        self.failure = failure
        let digits = other?.utf8.prefix(4).map { $0 } ?? []
        let isStatus = digits.count == 3 && digits.allSatisfy { (0x30...0x39).contains($0) }
        let status = isStatus ? other.flatMap { Int($0) } : nil
        self.other = status.flatMap { (100...599).contains($0) ? $0 : nil }
    }

    /// The decision of the gateway.
    package var decision: AccessDecision {
        switch self.failure?.kind {
        case nil: self.isOpen ? .open : .allowed
        case .signInRequired?: .signIn
        case .forbidden?: .denied
        default: .rejected
        }
    }

    /// What both decisions can have in common.
    enum Outcome: String {
        case allowed
        case signIn = "sign_in"
        case denied
    }

    /// What the decision of the gateway comes to.
    var outcome: Outcome {
        switch self.decision {
        case .allowed, .open, .endpoint: .allowed
        case .signIn: .signIn
        case .denied, .rejected: .denied
        }
    }

    /// What the other decision comes to; nil if it is not known.
    var otherOutcome: Outcome? {
        switch self.other {
        case nil: nil
        case (200..<300)?: .allowed
        // A redirect leads to a sign-in.
        case 401?, (300..<400)?: .signIn
        default: .denied
        }
    }

    /// Whether there is something to note: the two differ, or the gateway would not let the request pass.
    package var isNoted: Bool { self.failure != nil || self.outcome != self.otherOutcome ?? self.outcome }
}

extension RuntimeConfiguration {
    /// Counts and logs a comparison; where the two agree, it is only counted.
    package func note(_ comparison: ShadowComparison, of request: IncidentRequest, on route: RuntimeRoute) {
        let decision = comparison.decision
        if let failure = comparison.failure {
            self.services.metrics.shadowed(app: route.name, decision: decision, reason: failure.code)
        }
        guard let status = comparison.other, let outcome = comparison.otherOutcome else {
            guard let failure = comparison.failure else { return }
            return self.services.log.shadowed(
                failure,
                decision,
                incident: self.services.random.identifier(9),
                of: request
            )
        }
        guard outcome != comparison.outcome else { return }
        self.services.metrics.shadowDiffers(app: route.name, decision: decision, other: outcome.rawValue)
        let detail = "the proxy in front responded \(status) to a request that may pass"
        let failure = comparison.failure ?? Failure(.forwardAuthAdmitted, detail)
        let incident = self.services.random.identifier(9)
        self.services.log.shadowed(failure, decision, incident: incident, of: request, other: status)
    }
}
