// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The decision about a request to an app.
package enum Decision: Sendable, Hashable {
    /// A public rule covers it; no sign-in is needed.
    case openToAll
    /// A public rule for the client's network covers it; no sign-in is needed, and the app gets `anonymous@network`.
    case openToNetwork(at: RulePlace?)
    /// The user may access the app: the entry of `allow` there admits them, nil for `signed_in`.
    case admitted(at: RulePlace?)
    /// The user must first sign in with a provider that the app accepts.
    case signInNeeded
    /// The user must authenticate again, since the rule there asks for a later authentication.
    case authenticationNeeded(at: RulePlace?)
    /// The user must use a passkey, since the rule there asks for one.
    case passkeyNeeded(at: RulePlace?)
    /// The user must grant the client more, since the rule there asks for a scope; ``RequestRules/missingScopes(for:_:)`` names them.
    case scopesNeeded(at: RulePlace?)
    /// The user is signed in and may not access the app.
    case denied(Denial)

    /// Why a user may not access an app.
    package enum Denial: Sendable, Hashable {
        /// No entry of `allow` matches.
        case notAllowed
        /// The entry of `allow` there matches, but the provider is not the authority for the email address.
        case emailNotAuthoritative(at: RulePlace?)
        /// The entry of `allow` there may match with a certificate of the client, and none was verified.
        case certificateNeeded(at: RulePlace?)
        /// The entry of `deny` there matches.
        case denyEntry(at: RulePlace?)
        /// Whether the entry of `deny` there matches depends on a fact that is unknown.
        case unknown(UnknownFact, at: RulePlace?)
        /// A server could read the path as one for which another decision holds.
        case ambiguousPath
    }
}

extension Decision {
    /// Where the rule is that has decided.
    package var place: RulePlace? {
        switch self {
        case .admitted(let place), .openToNetwork(let place), .authenticationNeeded(let place),
            .passkeyNeeded(let place), .scopesNeeded(let place), .denied(.emailNotAuthoritative(let place)),
            .denied(.certificateNeeded(let place)),
            .denied(.denyEntry(let place)),
            .denied(.unknown(_, let place)):
            place
        case .openToAll, .signInNeeded, .denied(.notAllowed), .denied(.ambiguousPath): nil
        }
    }

    /// Whether the request may be forwarded.
    package var isAdmission: Bool {
        switch self {
        case .openToAll, .openToNetwork, .admitted: true
        case .signInNeeded, .authenticationNeeded, .passkeyNeeded, .scopesNeeded, .denied: false
        }
    }
}

/// What the rules of an app decide about a user, whatever the request.
package enum UserDecision: Sendable, Hashable {
    /// The decision about every request.
    case final(Decision)
    case depends(RequestRules)
}

extension Route {
    /// The decision about a user, as far as it depends on the user only.
    ///
    /// A session of a provider that the app does not accept leads to a new sign-in, never to a denial; so does a
    /// session from before a rule named a group that was not kept then.
    package func userDecision(for profile: Profile?) -> UserDecision {
        guard let profile, self.accepts(profile) else { return .final(.signInNeeded) }
        let rules = RequestRules(of: self, for: profile)
        return rules.final.map(UserDecision.final) ?? .depends(rules)
    }

    /// The decision about a user if it is the same for all requests; nil if it depends on the request.
    package func decision(for profile: Profile?) -> Decision? {
        guard case .final(let decision) = self.userDecision(for: profile) else { return nil }
        return decision
    }

    /// The decision about a request; the same for proxying and for forward-auth.
    ///
    /// - Parameters:
    ///   - request: The request; `authenticated` counts for the user.
    ///   - path: The canonical path.
    ///   - profile: The user; nil without a session.
    ///   - guardsSpellings: Whether other spellings of the path that some server treats as the same are considered.
    /// - Returns: The decision.
    package func decision(
        for request: RequestFacts,
        path: [UInt8],
        profile: Profile?,
        guardsSpellings: Bool = true
    ) -> Decision {
        self.decision(
            for: request,
            path: path,
            after: self.userDecision(for: profile),
            guardsSpellings: guardsSpellings
        )
    }

    /// The decision about a request of a user about whom as much as possible is decided already.
    func decision(
        for request: RequestFacts,
        path: [UInt8],
        after user: @autoclosure () -> UserDecision,
        guardsSpellings: Bool
    ) -> Decision {
        let readings = PathView.all(of: path.span, guardsSpellings: guardsSpellings)
        let isOpen = readings?.allSatisfy { self.isOpen(method: request.method, path: $0.path.span, as: $0.spelling) }
        if isOpen ?? false { return .openToAll }
        let decision: Decision
        switch user() {
        case .final(let known): decision = known
        case .depends(let rules):
            decision = rules.decision(for: request, path.span, guardsSpellings: guardsSpellings)
        }
        switch decision {
        case .signInNeeded, .authenticationNeeded: break
        case .openToAll, .openToNetwork, .admitted, .passkeyNeeded, .scopesNeeded, .denied: return decision
        }
        guard let client = request.client else { return decision }
        return self.networkDecision(client, method: request.method, path.span, guardsSpellings: guardsSpellings)
            ?? decision
    }

    /// Whether a public rule for all clients covers the request.
    package func isOpen(
        method: String,
        path: Span<UInt8>,
        as spelling: PathPattern.Spelling = .canonical
    ) -> Bool {
        for rule in self.publicRules where rule.networks.isEmpty {
            if rule.covers(method: method, path: path, as: spelling) { return true }
        }
        return false
    }

    /// Whether some requests need no sign-in because of the network of the client.
    package var opensToNetworks: Bool { self.publicRules.contains { !$0.networks.isEmpty } }

    /// The decision about a request without a session by a public rule for the client's network; nil if no rule covers it.
    package func networkDecision(
        _ client: IPAddress,
        method: String,
        _ path: Span<UInt8>,
        guardsSpellings: Bool
    ) -> Decision? {
        let rules = self.publicRules.filter { rule in rule.networks.contains { $0.contains(client) } }
        guard let first = rules.first(where: { $0.covers(method: method, path: path) }),
            let views = PathView.all(of: path, guardsSpellings: guardsSpellings)
        else { return nil }
        let isCovered = views.allSatisfy { view in
            rules.contains { $0.covers(method: method, path: view.path.span, as: view.spelling) }
        }
        return isCovered ? .openToNetwork(at: first.place) : nil
    }
}

extension Route {
    /// Whether an entry of `deny` that names no user matches a request, in some reading of its path.
    ///
    /// For requests that are admitted without a user. An entry with entries inside it counts as if those matched.
    package func deniesEveryUser(
        method: String,
        _ path: Span<UInt8>,
        at now: Instant,
        guardsSpellings: Bool
    ) -> Bool {
        // A preflight has no token; the request after it is decided by its own.
        let entries = self.denied.filter { $0.isAboutRequestsOnly && !$0.asksForScope }
        guard !entries.isEmpty else { return false }
        guard let views = PathView.all(of: path, guardsSpellings: guardsSpellings, folds: true) else { return true }
        let facts = RequestFacts(method: method, client: nil, time: now, authenticated: nil)
        return entries.contains { entry in
            views.contains { view in
                entry.request.allSatisfy { condition in
                    switch condition {
                    // The hours and the client are left aside: a preflight is not worth more.
                    case .time, .network, .authenticated, .passkey, .scope, .certificate: true
                    // A preflight has no message; the request after it is decided by its own.
                    case .mcpMethod, .mcpTool: false
                    case .path, .method, .from, .until:
                        RuleCondition.request([condition]).result(for: facts, view.path.span, as: view.spelling) != .no
                    }
                }
            }
        }
    }
}
