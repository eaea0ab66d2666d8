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
extension RequestPath {
    /// The decision of the rules that are left for a user about a request, and about the second path of COPY and MOVE.
    ///
    /// - Parameters:
    ///   - rules: The rules.
    ///   - request: The request.
    ///   - route: Its route.
    ///   - facts: What is known of it, by ``facts(about:under:session:_:_:)``.
    /// - Returns: The decision; a denial of one path rather than that the client needs more for the other.
    func decision(
        by rules: RequestRules,
        about request: RequestHead,
        on route: RuntimeRoute,
        _ facts: RequestFacts
    ) -> Decision {
        let decision = request.path.withSpan(of: request.message) { path in
            rules.decision(for: facts, path, guardsSpellings: route.guardsSpellings)
        }
        guard decision.mayBeAdmission, let destinations = SpellingCheck.destinations(of: request) else {
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

    /// What rules look at in a request.
    func facts(
        about request: RequestHead,
        under rules: RequestRules,
        session: Session,
        _ scopes: [String]?,
        _ client: () -> IPAddress?
    ) -> RequestFacts {
        var facts = RequestFacts(
            method: request.method.rawValue,
            client: rules.needsClient ? client() : nil,
            time: self.loop.now,
            authenticated: session.authenticated
        )
        facts.passkeyUsed = session.passkeyUsed
        facts.scopes = scopes
        if rules.needsCertificate { facts.certificate = self.certificate?.verified?.facts }
        return facts
    }

    /// The access of a request that was admitted, if a date in the rules can end it; else nil.
    func endingAccess(
        of request: RequestHead,
        on route: RuntimeRoute,
        _ client: () -> IPAddress?
    ) -> EndingAccess? {
        guard route.hasDates, let cached = self.cachedSession(of: request),
            case .depends(let rules, _)? = try? cached.authorization(
                on: route,
                runtime: self.runtime,
                now: self.loop.now
            ),
            rules.nextTurn(after: self.loop.now) != nil
        else { return nil }
        let scopes: [String]? = rules.scopes.isEmpty ? nil : []
        let facts = self.facts(about: request, under: rules, session: cached.session, scopes, client)
        let path = request.path.withSpan(of: request.message) { path in path.indices.map { path[$0] } }
        return EndingAccess(
            rules: rules,
            facts: facts,
            path: path,
            guardsSpellings: route.guardsSpellings,
            user: cached.session.profile.user
        )
    }

    /// The scopes with which the client of a request would be admitted, those that it has included.
    func neededScopes(by rules: RequestRules, about request: RequestHead, _ facts: RequestFacts) -> [String] {
        var needed = facts.scopes ?? []
        func add(_ path: Span<UInt8>) {
            needed += rules.missingScopes(for: facts, path).filter { !needed.contains($0) }
        }
        request.path.withSpan(of: request.message) { add($0) }
        for path in (SpellingCheck.destinations(of: request) ?? []).compactMap(\.self) { add(path.span) }
        return needed
    }

    /// The verdict on a request without a session that the client's network may admit; nil if it does not.
    func networkVerdict(for request: RequestHead, on route: RuntimeRoute, _ client: IPAddress?) -> Verdict? {
        guard let client else { return nil }
        let method = request.method.rawValue
        let found = request.path.withSpan(of: request.message) { path in
            route.route.networkDecision(client, method: method, path, guardsSpellings: route.guardsSpellings)
        }
        guard case .openToNetwork(let place)? = found else { return nil }
        let isCovered = (SpellingCheck.destinations(of: request) ?? []).allSatisfy { path in
            guard let path else { return false }
            let decision = route.route.networkDecision(
                client,
                method: method,
                path.span,
                guardsSpellings: route.guardsSpellings
            )
            return decision?.isAdmission ?? false
        }
        guard isCovered else { return nil }
        do throws(Failure) {
            let identity = try self.loop.networkIdentities.lines(on: route, runtime: self.runtime, now: self.loop.now)
            if self.loop.access != nil { self.loop.networkRule = place }
            return self.verdict(for: request, on: route, admittedAs: identity)
        } catch {
            return .refused(error)
        }
    }
}

// Rules about the messages to an MCP server.
extension RequestPath {
    /// The decision about a request whose every message must be admitted.
    ///
    /// A decision that is the same whatever the message is not worth reading the body: an admission with the message unknown, and
    /// a denial by an entry that does not ask for it.
    func messageDecision(
        by rules: RequestRules,
        about request: RequestHead,
        on route: RuntimeRoute,
        user: String,
        _ facts: RequestFacts
    ) -> MessageDecision {
        func decision(_ message: MCPMessage?) -> Decision {
            var facts = facts
            facts.message = message
            return self.decision(by: rules, about: request, on: route, facts)
        }
        switch self.messages(of: request, on: route) {
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

    private func messages(of request: RequestHead, on route: RuntimeRoute) -> MessageReading {
        guard case .unread = self.messages else { return self.messages }
        if let message = MCPBody.message(withoutBody: request) { return .read(MCPBody(message)) }
        guard request.method == .post, !request.isExtendedConnect else {
            return .unreadable(
                "a rule asks for the message, and a \(request.method.rawValue) request to an MCP server has none"
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
