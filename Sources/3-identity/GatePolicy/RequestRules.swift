// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateWire

/// What is left of the rules of an app for one user: the conditions on the request.
///
/// It is made once for a session and an app; a decision looks at the request only.
package struct RequestRules: Sendable, Hashable {
    /// An entry and what is left of it.
    struct Rule: Sendable, Hashable {
        let condition: RuleCondition
        let place: RulePlace?
    }

    /// The entries of `deny` that may match.
    let denied: [Rule]
    /// The entries of `allow` that may match; nil for `signed_in`.
    let allowed: [Rule]?
    /// Whether a condition asks for the client IP.
    package let needsClient: Bool
    /// Whether a condition asks for the message to an MCP server.
    package let needsMessage: Bool
    /// Whether a condition asks for the certificate of the client.
    package let needsCertificate: Bool
    /// Whether a condition asks for the path.
    private let needsPath: Bool
    /// Whether letter case decides about some path.
    private let hasCapitals: Bool
    /// Whether a condition asks for the time of the authentication.
    private let needsAuthentication: Bool
    /// Whether a condition asks for a passkey.
    private let needsPasskey: Bool
    /// The scopes that conditions ask for, each once.
    package let scopes: [String]
    /// The times from which on a condition on the date is met, or is not any more; in order, each once.
    let turns: [Instant]

    /// The rules of a route for a user of a provider that it accepts.
    init(of route: Route, for profile: Profile) {
        let denied = RequestRules.rules(route.denied, profile, endingWith: { $0 != .no })
        switch route.access {
        case .signedIn: self.allowed = nil
        case .entries(let entries): self.allowed = RequestRules.rules(entries, profile, endingWith: { $0 == .yes })
        }
        self.denied = denied
        let conditions = (denied + (self.allowed ?? [])).flatMap(\.condition.requestConditions)
        var (client, path, capitals, authentication, passkey, message) = (false, false, false, false, false, false)
        var scopes: [String] = []
        var certificate = false
        for condition in conditions {
            switch condition {
            case .network: client = true
            case .path(let patterns):
                path = true
                capitals = capitals || patterns.contains(where: \.hasCapitals)
            case .authenticated: authentication = true
            case .passkey: passkey = true
            case .mcpMethod, .mcpTool: message = true
            case .scope(let names): scopes += names.filter { !scopes.contains($0) }
            case .certificate: certificate = true
            case .method, .time, .from, .until: break
            }
        }
        (self.needsClient, self.needsPath, self.hasCapitals) = (client, path, capitals)
        (self.needsAuthentication, self.needsPasskey, self.needsMessage) = (authentication, passkey, message)
        self.scopes = scopes
        self.turns = Set(conditions.compactMap(\.turn)).sorted()
        self.needsCertificate = certificate
    }

    /// What is left of entries: those that cannot match are dropped, and those after one that decides in any case.
    private static func rules(
        _ entries: [AccessEntry],
        _ profile: Profile,
        endingWith isLast: (MatchResult) -> Bool
    ) -> [Rule] {
        var rules: [Rule] = []
        for entry in entries {
            let condition = entry.condition(for: profile)
            guard condition != .decided(.no) else { continue }
            rules.append(Rule(condition: condition, place: entry.place))
            if let result = condition.decided, isLast(result) { break }
        }
        return rules
    }

    /// The decision if it is the same for every request; else nil.
    var final: Decision? {
        let isDenied = self.denied.first.map { $0.condition.decided != nil } ?? false
        guard isDenied || self.denied.isEmpty else { return nil }
        if !isDenied, let allowed {
            let isAdmitted = allowed.first.map { $0.condition.decided == .yes } ?? false
            guard isAdmitted || allowed.allSatisfy({ $0.condition.decided != nil }) else { return nil }
        }
        let request = RequestFacts(method: "", client: nil, time: Instant(seconds: 0), authenticated: nil)
        let path: [UInt8] = []
        return self.decided(for: request, path.span, as: .canonical)
    }
}

// MARK: Requests

extension RequestRules {
    /// The decision about a request.
    ///
    /// A request is admitted only if it is in every reading of its path that some server is known to have, letter case left
    /// aside. RFC 3986 §6.2.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - path: The canonical path.
    ///   - guardsSpellings: Whether other readings of the path are considered.
    /// - Returns: The decision.
    package func decision(for request: RequestFacts, _ path: Span<UInt8>, guardsSpellings: Bool) -> Decision {
        let decision = self.renewable(for: request, path, as: .canonical)
        guard self.needsPath, guardsSpellings, decision.isAdmission else { return decision }
        let folds = self.hasCapitals || RequestRules.hasCapitals(path)
        guard folds || !PathReadings.isPlain(path) else { return decision }
        guard let views = PathView.all(of: path, guardsSpellings: true, folds: true) else {
            return .denied(.ambiguousPath)
        }
        let isSame = views.allSatisfy {
            self.decided(for: request, $0.path.span, as: $0.spelling).isAdmission
        }
        return isSame ? decision : .denied(.ambiguousPath)
    }

    /// The decision, which is to use a passkey, to authenticate again or to grant the client more where that would admit the user.
    ///
    /// Where several are needed, the sign-in comes first: it begins a session, in which the passkey then counts. The client asks for more
    /// at the end.
    private func renewable(
        for request: RequestFacts,
        _ path: Span<UInt8>,
        as spelling: PathPattern.Spelling
    ) -> Decision {
        let decision = self.decided(for: request, path, as: spelling)
        guard self.needsAuthentication || self.needsPasskey || request.scopes != nil, case .denied = decision else {
            return decision
        }
        var renewed = request
        renewed.scopes = nil
        if request.scopes != nil, !self.scopes.isEmpty {
            let later = self.decided(for: renewed, path, as: spelling)
            if later.isAdmission {
                return .scopesNeeded(at: decision.place ?? later.place)
            }
        }
        if self.needsPasskey {
            renewed.passkeyUsed = request.time
            let later = self.decided(for: renewed, path, as: spelling)
            if later.isAdmission { return .passkeyNeeded(at: decision.place ?? later.place) }
        }
        guard self.needsAuthentication else { return decision }
        for passkeyUsed in self.needsPasskey ? [request.passkeyUsed, request.time] : [request.passkeyUsed] {
            (renewed.authenticated, renewed.passkeyUsed) = (request.time, passkeyUsed)
            let later = self.decided(for: renewed, path, as: spelling)
            if later.isAdmission { return .authenticationNeeded(at: decision.place ?? later.place) }
        }
        return decision
    }

    /// The scopes that a request lacks, with which it would be admitted: none of them can be left out.
    ///
    /// - Parameters:
    ///   - request: A request about which the decision is ``Decision/scopesNeeded(at:)``.
    ///   - path: The canonical path.
    /// - Returns: The scopes, in the order in which the rules name them; none for any other request.
    package func missingScopes(for request: RequestFacts, _ path: Span<UInt8>) -> [String] {
        let granted = request.scopes ?? []
        var missing = self.scopes.filter { name in !granted.contains { isIdentical($0, name) } }
        var wider = request
        for name in missing.reversed() {
            let fewer = missing.filter { !isIdentical($0, name) }
            wider.scopes = granted + fewer
            if self.decided(for: wider, path, as: .canonical).isAdmission { missing = fewer }
        }
        return missing
    }

    private func decided(for request: RequestFacts, _ path: Span<UInt8>, as spelling: PathPattern.Spelling) -> Decision
    {
        // Indices, since a loop over the elements would copy each.
        for index in self.denied.indices {
            switch self.denied[index].condition.result(for: request, path, as: spelling) {
            case .yes, .unknown(.emailAuthority): return .denied(.denyEntry(at: self.denied[index].place))
            case .unknown(.keptGroups): return .signInNeeded
            case .unknown(let fact): return .denied(.unknown(fact, at: self.denied[index].place))
            case .no: continue
            }
        }
        guard let allowed else { return .admitted(at: nil) }
        var isRenewable = false
        var unproven: Rule?
        var uncertified: Rule?
        for index in allowed.indices {
            switch allowed[index].condition.result(for: request, path, as: spelling) {
            case .yes: return .admitted(at: allowed[index].place)
            case .unknown(.keptGroups): isRenewable = true
            case .unknown(.emailAuthority): unproven = unproven ?? allowed[index]
            case .unknown(.certificate): uncertified = uncertified ?? allowed[index]
            case .unknown, .no: continue
            }
        }
        if isRenewable { return .signInNeeded }
        if let unproven { return .denied(.emailNotAuthoritative(at: unproven.place)) }
        return .denied(uncertified.map { .certificateNeeded(at: $0.place) } ?? .notAllowed)
    }

    private static func hasCapitals(_ path: Span<UInt8>) -> Bool {
        path.indices.contains { path[$0] >= 0x41 && path[$0] <= 0x5A || path[$0] >= 0x80 }
    }

    /// How recent the authentication of a user must be for a path, by the rules that may apply to it; nil if that does not
    /// matter.
    package static func maxAuthenticationAge(on route: Route, path: [UInt8]) -> Duration? {
        let entries = (route.denied + route.access.entries).filter { entry in
            // Whatever the user is: only the path decides.
            entry.withNested.contains { $0.request.contains { $0.isAuthentication } } && entry.mayApply(to: path)
        }
        return entries.flatMap(\.withNested).flatMap(\.request).compactMap { condition -> Duration? in
            guard case .authenticated(let limit) = condition else { return nil }
            return limit
        }.min()
    }
}

extension RequestCondition {
    /// Whether it is about the time of the authentication.
    fileprivate var isAuthentication: Bool {
        guard case .authenticated = self else { return false }
        return true
    }
}

extension AccessEntry {
    /// Whether it, or an entry inside of it, asks for a scope.
    var asksForScope: Bool {
        self.withNested.contains { entry in
            entry.request.contains { condition in
                guard case .scope = condition else { return false }
                return true
            }
        }
    }

    /// Whether the entry's own patterns cover a path; entries inside it are left aside.
    fileprivate func mayApply(to path: [UInt8]) -> Bool {
        self.request.allSatisfy { condition in
            guard case .path(let patterns) = condition else { return true }
            return patterns.contains { $0.covers(path.span) }
        }
    }
}
