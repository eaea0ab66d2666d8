// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The decision of one of two configurations about a request, with the rule to blame.
package struct Verdict: Sendable, Hashable {
    /// The decision; nil if the configuration has no such app.
    package let decision: Decision?
    /// The rule that decides; where no entry of `allow` matches, the first one.
    package let place: RulePlace?

    /// The decision in one word; nil if there is no such app.
    package var word: PolicyWord? { self.decision.map { PolicyWord($0) } }

    /// Whether the user can send the request, at most after another authentication.
    var grantsAccess: Bool {
        switch self.decision {
        case .authenticationNeeded, .passkeyNeeded: true
        case .openToAll, .openToNetwork, .admitted, .signInNeeded, .scopesNeeded, .denied, nil:
            self.decision?.isAdmission ?? false
        }
    }

    /// Whether the user, not every client, can send the request.
    var admitsUser: Bool {
        switch self.decision {
        case .admitted, .authenticationNeeded, .passkeyNeeded: true
        case .openToAll, .openToNetwork, .signInNeeded, .scopesNeeded, .denied, nil: false
        }
    }
}

/// Decides about sample requests of one user by one version of an app's rules.
struct VerdictSource {
    private let rules: AppRules?
    private let user: UserDecision
    private let now: Instant
    private let authenticated: Instant?

    /// - Parameters:
    ///   - rules: The rules; nil if there is no such app.
    ///   - profile: The user; nil for a client without a session.
    ///   - now: The time.
    init(_ rules: AppRules?, profile: Profile?, now: Instant) {
        self.rules = rules
        self.user = rules?.route.userDecision(for: profile) ?? .final(.signInNeeded)
        self.now = now
        self.authenticated = profile?.authTime
    }

    /// Whether all requests have the same decision.
    var isFinal: Bool {
        guard case .final = self.user else { return false }
        return self.rules?.route.publicRules.isEmpty ?? true
    }

    /// The decision about a request; a user authenticated as long before it as before now.
    func verdict(on sample: RequestSample, path text: String) -> Verdict {
        guard let rules else { return Verdict(decision: nil, place: nil) }
        let time = sample.time ?? self.now
        var facts = RequestFacts(
            method: sample.method,
            client: sample.client,
            time: time,
            authenticated: self.authenticated.map { time.advanced(by: $0.since(self.now)) }
        )
        facts.message = sample.message
        facts.scopes = sample.scopes
        facts.certificate = sample.certificate?.facts
        let path = Array(text.utf8)
        let decision = rules.route.decision(
            for: facts,
            path: path,
            after: self.user,
            guardsSpellings: rules.guardsSpellings
        )
        return Verdict(decision: decision, place: decision.place ?? self.fallback(decision, facts, path, of: rules))
    }

    private func fallback(
        _ decision: Decision,
        _ facts: RequestFacts,
        _ path: [UInt8],
        of rules: AppRules
    ) -> RulePlace? {
        switch decision {
        case .openToAll:
            rules.route.publicRules.first {
                $0.networks.isEmpty && $0.covers(method: facts.method, path: path.span)
            }?.place
        case .denied(.notAllowed): rules.route.access.entries.first?.place
        case .openToNetwork, .admitted, .signInNeeded, .authenticationNeeded, .passkeyNeeded, .scopesNeeded, .denied:
            nil
        }
    }
}
