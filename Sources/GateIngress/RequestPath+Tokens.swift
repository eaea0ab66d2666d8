// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateCore
internal import GateEndpoints
internal import GateHTTP
internal import GateIssuer
internal import GateOpenID
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints
internal import GateWire
internal import NIOCore

/// What an access token of this gateway in a request leads to.
enum FoundToken {
    /// The request has none.
    case none
    /// It is valid, and so is its session.
    case valid(CachedSession, VerifiedToken)
    /// It is not.
    case rejected(Failure)
    /// Its session has to be looked up.
    case unknown(VerifiedToken)
}

// Access tokens of this gateway that clients bring instead of a session.
extension RequestPath {
    /// What the access token of a request leads to on a route; the rules of its client are another matter.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: The route.
    ///   - lookup: The result of an earlier look-up of its session.
    ///   - provesKey: Whether the proof of its key is spent; once for each request.
    /// - Returns: What it leads to.
    func token(
        of request: RequestHead,
        on route: RuntimeRoute,
        lookup: SessionLookup? = nil,
        provesKey: Bool = false
    ) -> FoundToken {
        guard route.takesTokens, self.runtime.issuer != nil, let (text, isBound) = self.bearer(of: request) else {
            return .none
        }
        guard
            let token = self.loop.tokens.token(
                text,
                of: self.runtime,
                keeps: self.runtime === self.loop.runtime,
                now: self.loop.now
            )
        else {
            guard let issuer = self.runtime.issuer else { return .none }
            let isOurs = issuer.signer.begins(text.readableBytesUInt8Span)
            guard isOurs || !route.takesMachines && self.runtime.cookieKey(of: request) == nil else { return .none }
            let reason =
                "it is expired, of a client that 'clients' does not have, or not an access token of this gateway"
            return .rejected(Failure(.tokenRejected, reason))
        }
        guard token.isFor(route) else {
            let help = "ask for one with 'resource=\(route.route.audience)'"
            return .rejected(Failure(.tokenRejected, "the token is not for \(route.name): \(help)"))
        }
        let key = token.token.keyThumbprint
        guard isBound == (key != nil) else {
            let help = isBound ? "bound to no key: send it as Bearer" : "bound to a key: send it as DPoP, with a proof"
            return .rejected(Failure(.tokenRejected, "the token is \(help)"))
        }
        if provesKey, let key, let failure = self.proofFailure(of: request, key, token.token, text) {
            return .rejected(failure)
        }
        let found = self.loop.sessions.session(token.key, host: token.host, now: self.loop.tick)
        if let found, found.isCurrent(on: route, runtime: self.runtime, now: self.loop.now) {
            return .valid(found, token)
        }
        switch lookup {
        case nil: return .unknown(token)
        case .unavailable(let failure): return .rejected(failure)
        case .needsUser: return .rejected(Failure(.tokenRejected, "the user has to sign in again for the client"))
        case .done:
            guard let found else { return .rejected(Failure(.tokenRejected, "the session of the token has ended")) }
            guard route.isCurrent(found.session, now: self.loop.now) else {
                let reason =
                    "the sign-in is older, or was unused for longer, than 'lifetime' or 'idle_timeout' of \(route.name)"
                return .rejected(Failure(.tokenRejected, "\(reason): the user has to sign in again"))
            }
            return .valid(found, token)
        }
    }

    /// Why the rules of the token's client, or of one whose token was exchanged for it, do not admit the user; nil if all do.
    private func rejection(
        of session: CachedSession,
        at token: VerifiedToken,
        from address: () -> IPAddress?
    ) -> Failure? {
        guard !self.isOver(session, after: token.client.lifetime) else { return RequestPath.over(token.client) }
        guard !session.isAdmitted(at: token) else { return nil }
        if let failure = self.rejection(of: session, by: token.client, of: token, from: address) { return failure }
        for id in session.session.client?.subjects ?? [] {
            guard let client = self.runtime.issuer?.clients[id] else {
                let detail =
                    "the token was exchanged for one of the client '\(id)', which 'clients' does not have any more"
                return Failure(.tokenRejected, detail)
            }
            guard !self.isOver(session, after: client.lifetime) else { return RequestPath.over(client) }
            if let failure = self.rejection(of: session, by: client, of: token, from: address) { return failure }
        }
        return nil
    }

    private func isOver(_ session: CachedSession, after lifetime: Duration?) -> Bool {
        lifetime.map { self.loop.now.since(session.session.created) >= $0 } ?? false
    }

    private static func over(_ client: ClientSettings) -> Failure {
        Failure(.tokenRejected, "the sign-in at '\(client.id)' is older than its 'lifetime'")
    }

    /// Why the rules of one client do not admit the user of a session; nil if they do.
    private func rejection(
        of session: CachedSession,
        by client: ClientSettings,
        of token: VerifiedToken,
        from address: () -> IPAddress?
    ) -> Failure? {
        switch session.decision(by: client, of: token, from: address, now: self.loop.now) {
        case .admitted: return nil
        case .denied(let denial): return denial.failure(of: session.session.profile, app: client.id)
        case .signInNeeded, .authenticationNeeded, .openToAll, .openToNetwork, .scopesNeeded:
            return Failure(.tokenRejected, "the user has to sign in again for the client '\(client.id)'")
        case .passkeyNeeded:
            return Failure(.tokenRejected, "\(session.session.profile.user): \(self.passkeyHelp)")
        }
    }

    private var passkeyHelp: String {
        "a rule asks for a passkey; the user has to open \(self.runtime.endpoints.path("passkey")) in a browser"
    }

    /// The verdict on a request by its access token; nil if it has none, so that its session decides.
    func tokenVerdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        lookup: SessionLookup?,
        isRetry: Bool,
        _ client: () -> IPAddress?
    ) -> Verdict? {
        switch self.token(of: request, on: route, lookup: lookup, provesKey: lookup == nil && !isRetry && self.isFirst)
        {
        case .none: return nil
        case .rejected(let failure): return .refused(failure)
        case .unknown(let token):
            return .needsSession(SoughtSession(token.token.ticket, host: token.host), route)
        case .valid(let session, let token):
            if let failure = self.rejection(of: session, at: token, from: client) { return .refused(failure) }
            if self.loop.access != nil { self.loop.found = session }
            if isRetry { session.dropAuthorization(on: route) }
            let verdict = self.verdict(
                for: request,
                on: route,
                session: session,
                isAmbient: false,
                scopes: token.token.scopes,
                client
            )
            if case .scopesNeeded = verdict, session.session.ends != nil {
                let detail = "\(session.session.profile.user) is not admitted: \(RequestPath.scopeHelp)"
                return .refused(Failure(.policyRefused, detail))
            }
            guard case .signInNeeded(_, let step) = verdict else { return verdict }
            let signIn = "the app needs a sign-in with another provider, or a later one"
            let help = step == .passkey ? self.passkeyHelp : signIn
            return .refused(Failure(.tokenRejected, "\(session.session.profile.user): \(help)"))
        }
    }

    /// The session of the access token of a request that was admitted a moment ago.
    func tokenSession(of request: RequestHead, on route: RuntimeRoute) -> CachedSession? {
        guard case .valid(let session, _) = self.token(of: request, on: route, lookup: .done) else { return nil }
        return session
    }

    /// When the access token of a request ends; nil if it has none.
    func accessTokenEnd(of request: RequestHead, on route: RuntimeRoute) -> Instant? {
        guard case .valid(_, let token) = self.token(of: request, on: route, lookup: .done) else { return nil }
        return token.token.expires
    }

    /// Whether a request has an access token of this gateway, which no app must get: it may be for another one.
    func hasOwnToken(_ request: RequestHead) -> Bool {
        guard self.runtime.issuer != nil, let (text, _) = self.bearer(of: request) else { return false }
        guard !self.loop.tokens.isLast(text) else { return true }
        return self.runtime.issuer?.signer.begins(text.readableBytesUInt8Span) ?? false
    }

    /// Spends the proof that the sender of a request has a key; nil if it is valid.
    ///
    /// RFC 9449 §4.3 and §7.1.
    private func proofFailure(
        of request: RequestHead,
        _ key: String,
        _ token: AccessToken,
        _ text: ByteBuffer
    ) -> Failure? {
        let fields = request.message.fields.filter { request.message.spells($0.nameRange, "dpop") }
        guard fields.count == 1, let field = fields.first else {
            return Failure(
                .tokenRejected,
                "the token is bound to a key, and the request has not exactly one header DPoP"
            )
        }
        let origin = self.runtime.origin(of: request)
        let target = DPoPProof.Target(
            method: request.method.rawValue,
            url: "\(origin)\(request.target.prefix { $0 != "?" })",
            accessToken: Array(text.readableBytesView)
        )
        do throws(OAuthError) {
            let proof = try DPoPProof(Array(request.message.slice(field.valueRange)), for: target, now: self.loop.now)
            guard isIdentical(proof.keyThumbprint, key) else {
                return Failure(.tokenRejected, "the token is bound to another key than that of the header DPoP")
            }
            try self.runtime.proofs.spend(proof, beside: token)
            return nil
        } catch {
            return Failure(.tokenRejected, "\(error.code.rawValue): \(error.detail)")
        }
    }

    /// The token of `Authorization: Bearer` or `DPoP`, and whether it is the latter.
    ///
    /// RFC 6750 §2.1, RFC 9449 §7.1: one space or more after the scheme. A request with two such fields is rejected before.
    private func bearer(of request: RequestHead) -> (ByteBuffer, isBound: Bool)? {
        guard let field = request.message.first(.authorization) else { return nil }
        if let text = self.credentials(of: "bearer ", in: field.valueRange, request) { return (text, false) }
        return self.credentials(of: "dpop ", in: field.valueRange, request).map { ($0, true) }
    }

    /// What follows a scheme, which is in lower case with a space after it; nil if the value has another scheme.
    private func credentials(of scheme: String, in range: Range<Int>, _ request: RequestHead) -> ByteBuffer? {
        var start = range.lowerBound + scheme.utf8.count
        guard start < range.upperBound, request.message.spells(range.lowerBound..<start, scheme) else { return nil }
        let bytes = request.message.bytes
        while start < range.upperBound, bytes.getInteger(at: bytes.readerIndex + start, as: UInt8.self) == 0x20 {
            start += 1
        }
        return bytes.getSlice(at: bytes.readerIndex + start, length: range.upperBound - start)
    }
}

/// A session that has to be looked up: of a cookie, or of the client that an access token was issued to.
struct SoughtSession {
    let ticket: Ticket
    /// The host of the session.
    let host: String

    init(_ ticket: Ticket, host: String) {
        self.ticket = ticket
        self.host = host
    }
}
