// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

// Rules that depend on the request, and those for the networks of clients.
extension Decider {
    /// The decision of the rules that are left for a user, also about the second path of COPY and MOVE.
    ///
    /// - Parameters:
    ///   - rules: The rules.
    ///   - route: The route.
    ///   - facts: What is known of the request, by ``facts(under:_:_:)``.
    /// - Returns: The decision; a denial of one path rather than that the client needs more for the other.
    func decision(by rules: RequestRules, on route: RuntimeRoute, _ facts: RequestFacts) -> Decision {
        let decision = self.head.path.withSpan(of: self.head.message) { path in
            rules.decision(for: facts, path, guardsSpellings: route.guardsSpellings)
        }
        guard decision.mayBeAdmission, let destinations = SpellingCheck.destinations(of: self.head) else {
            return decision
        }
        var result = decision
        for path in destinations {
            // No rule can decide about a path without a single spelling.
            guard let path else { return .denied(.ambiguousPath) }
            let other = rules.decision(for: facts, path.span, guardsSpellings: route.guardsSpellings)
            guard other.mayBeAdmission else { return other }
            if !other.isAdmission { result = other }
        }
        return result
    }

    /// What rules look at in the request.
    func facts(under rules: RequestRules, _ session: Session, _ scopes: [String]?) -> RequestFacts {
        var facts = RequestFacts(
            method: self.head.method.rawValue,
            client: rules.needsClient ? self.request.ruledClient : nil,
            time: self.request.now,
            authenticated: session.authenticated
        )
        facts.passkeyUsed = session.passkeyUsed
        facts.scopes = scopes
        if rules.needsCertificate { facts.certificate = self.request.certificate?.verified?.facts }
        return facts
    }

    /// The access of the caller, if a date in the rules can end it; else nil.
    func endingAccess(on route: RuntimeRoute) -> EndingAccess? {
        guard route.hasDates, let cached = self.request.caller.session,
            case .depends(let rules, _)? = try? cached.authorization(
                on: route,
                runtime: self.runtime,
                now: self.request.now
            ),
            rules.nextTurn(after: self.request.now) != nil
        else { return nil }
        return EndingAccess(
            rules: rules,
            facts: self.facts(under: rules, cached.session, rules.scopes.isEmpty ? nil : []),
            path: self.head.path.withSpan(of: self.head.message) { path in path.indices.map { path[$0] } },
            guardsSpellings: route.guardsSpellings,
            user: cached.session.profile.user
        )
    }

    /// The scopes with which the client would be admitted, those that it has included.
    func neededScopes(by rules: RequestRules, _ facts: RequestFacts) -> [String] {
        var needed = facts.scopes ?? []
        func add(_ path: Span<UInt8>) {
            needed += rules.missingScopes(for: facts, path).filter { !needed.contains($0) }
        }
        self.head.path.withSpan(of: self.head.message) { add($0) }
        for path in (SpellingCheck.destinations(of: self.head) ?? []).compactMap(\.self) { add(path.span) }
        return needed
    }

    /// The decision that admits the client by its network on every path of the request; nil if none does.
    func networkDecision(on route: RuntimeRoute) -> Decision? {
        guard let client = self.request.ruledClient else { return nil }
        func decision(_ path: Span<UInt8>) -> Decision? {
            route.route.networkDecision(
                client,
                method: self.head.method.rawValue,
                path,
                guardsSpellings: route.guardsSpellings
            )
        }
        let found = self.head.path.withSpan(of: self.head.message) { decision($0) }
        guard case .openToNetwork? = found else { return nil }
        let isCovered = (SpellingCheck.destinations(of: self.head) ?? []).allSatisfy { path in
            path.map { decision($0.span)?.isAdmission ?? false } ?? false
        }
        return isCovered ? found : nil
    }
}

// Rules about the messages to an MCP server.
extension Decider {
    /// The decision about a request whose every message must be admitted.
    ///
    /// A decision that is the same whatever the message is not worth reading the body: an admission with the message unknown, and
    /// a denial by an entry that does not ask for it.
    func messageDecision(
        by rules: RequestRules,
        on route: RuntimeRoute,
        user: String,
        _ facts: RequestFacts
    ) -> MessageDecision {
        func decision(_ message: MCPMessage?) -> Decision {
            var facts = facts
            facts.message = message
            return self.decision(by: rules, on: route, facts)
        }
        switch self.messages(on: route) {
        case .read(let body):
            var result: (decision: Decision, message: MCPMessage)?
            for message in body.messages {
                let decision = decision(message)
                // A denial rather than that the client needs more for another message.
                guard decision.mayBeAdmission else { return .decision(decision, message) }
                if result.map({ $0.decision.isAdmission && !decision.isAdmission }) ?? true {
                    result = (decision, message)
                }
            }
            return .decision(result?.decision ?? .denied(.notAllowed), result?.message)
        case .unread:
            let early = decision(nil)
            return early.isIndependentOfFacts ? .decision(early, nil) : .unread
        case .unreadable(let why):
            let early = decision(nil)
            guard case .denied = early, !early.isIndependentOfFacts else { return .decision(early, nil) }
            return .unreadable(Failure(.policyFactUnknown, "\(user) may not enter \(route.name): \(why)"))
        }
    }

    private func messages(on route: RuntimeRoute) -> MessageReading {
        guard case .unread = self.request.messages else { return self.request.messages }
        if let message = MCPBody.message(withoutBody: self.head) { return .read(MCPBody(message)) }
        guard self.head.method == .post, !self.head.isExtendedConnect else {
            return .unreadable(
                "a rule asks for the message, and a \(self.head.method.rawValue) request to an MCP server has none"
            )
        }
        guard route.forwardAuth == nil else {
            return .unreadable("a rule asks for the message, and the proxy of 'forward_auth' asks without the body")
        }
        return .unread
    }
}

extension Decision {
    /// Whether it is an admission, or would be one of a client that was granted more.
    fileprivate var mayBeAdmission: Bool {
        if case .scopesNeeded = self { return true }
        return self.isAdmission
    }

    /// Whether no fact that is unknown can change it.
    fileprivate var isIndependentOfFacts: Bool {
        if case .denied(.denyEntry) = self { return true }
        return self.isAdmission
    }
}
