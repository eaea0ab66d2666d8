// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateOpenID
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// What an access token of this gateway in a request leads to.
enum FoundToken {
    /// The request has none.
    case none
    /// It is valid, and so is its session.
    case valid(CachedSession, AccessToken)
    /// It is not.
    case rejected(Failure)
    /// Its session has to be looked up.
    case unknown(AccessToken)
}

// Access tokens of this gateway that clients bring instead of a session.
extension RequestPath {
    /// What the access token of a request leads to on a route.
    func token(of request: RequestHead, on route: RuntimeRoute, lookup: SessionLookup? = nil) -> FoundToken {
        guard route.takesTokens, let issuer = self.runtime.issuer, let text = self.bearer(of: request) else {
            return .none
        }
        guard let entry = self.loop.tokens.entry(text, of: issuer, now: self.loop.now) else {
            guard self.isOurs(text, issuer) || !route.takesMachines && self.runtime.cookieKey(of: request) == nil else {
                return .none
            }
            return .rejected(Failure(.tokenRejected, "it is expired, or not an access token of this gateway"))
        }
        let token = entry.token
        guard token.isFor(route.route.audience) else {
            let help = "ask for one with 'resource=\(route.route.audience)'"
            return .rejected(Failure(.tokenRejected, "the token is not for \(route.name): \(help)"))
        }
        guard let client = issuer.client(issuedTo: token.client), !client.isOpen || route.maxMCPBody != nil else {
            let shown = PrintableText.escaped(token.client, limit: 100)
            return .rejected(Failure(.tokenRejected, "no client '\(shown)' is configured in 'clients'"))
        }
        guard token.keyThumbprint == nil else {
            return .rejected(Failure(.tokenRejected, "the token is bound to a key, and the request has no proof"))
        }
        let found = self.loop.sessions.session(entry.key, host: ClientGrant.host(of: token.client), now: self.loop.tick)
        guard let found, found.isCurrent(on: route, runtime: self.runtime, now: self.loop.now) else {
            switch lookup {
            case nil: return .unknown(token)
            case .unavailable(let failure): return .rejected(failure)
            case .needsUser: return .rejected(Failure(.tokenRejected, "the user has to sign in again for the client"))
            case .done:
                guard let found else { return .rejected(Failure(.tokenRejected, "the session of the token has ended")) }
                return self.checked(found, token, client)
            }
        }
        return self.checked(found, token, client)
    }

    /// A session whose user the client's own rules admit.
    private func checked(_ session: CachedSession, _ token: AccessToken, _ client: ClientSettings) -> FoundToken {
        let age = self.loop.now.since(session.session.created)
        guard client.lifetime.map({ age < $0 }) ?? true else {
            return .rejected(Failure(.tokenRejected, "the sign-in at '\(client.id)' is older than its 'lifetime'"))
        }
        switch session.decision(at: client, now: self.loop.now) {
        case .admitted: return .valid(session, token)
        case .denied(let denial): return .rejected(denial.failure(of: session.session.profile, app: client.id))
        case .signInNeeded, .authenticationNeeded, .openToAll, .openToNetwork:
            return .rejected(Failure(.tokenRejected, "the user has to sign in again for the client '\(client.id)'"))
        }
    }

    /// The verdict on a request by its access token; nil if it has none, so that its session decides.
    func tokenVerdict(
        for request: RequestHead,
        on route: RuntimeRoute,
        lookup: SessionLookup?,
        isRetry: Bool,
        _ client: () -> IPAddress?
    ) -> Verdict? {
        switch self.token(of: request, on: route, lookup: lookup) {
        case .none: return nil
        case .rejected(let failure): return .refused(failure)
        case .unknown(let token):
            return .needsSession(SoughtSession(token.ticket, host: ClientGrant.host(of: token.client)), route)
        case .valid(let session, _):
            if self.loop.access != nil { self.loop.found = session }
            if isRetry { session.dropAuthorization(on: route) }
            let verdict = self.verdict(for: request, on: route, session: session, isAmbient: false, client)
            guard case .signInNeeded = verdict else { return verdict }
            let help = "the app needs a sign-in with another provider, or a later one"
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
        return token.expires
    }

    /// Whether a request has an access token of this gateway, which no app must get: it may be for another one.
    func hasOwnToken(_ request: RequestHead) -> Bool {
        guard let issuer = self.runtime.issuer, let text = self.bearer(of: request) else { return false }
        return self.loop.tokens.entry(text, of: issuer, now: self.loop.now) != nil || self.isOurs(text, issuer)
    }

    private func isOurs(_ text: ByteBuffer, _ issuer: Issuer) -> Bool {
        TokenIssuer.claimedIssuer(of: String(buffer: text)).map { isIdentical($0, issuer.url) } ?? false
    }

    /// The token of `Authorization: Bearer`; nil without exactly one.
    ///
    /// RFC 6750 §2.1.
    private func bearer(of request: RequestHead) -> ByteBuffer? {
        guard let field = request.message.first(.authorization), request.message.count(.authorization) == 1 else {
            return nil
        }
        let range = field.valueRange
        let bytes = request.message.bytes
        let scheme = "bearer ".utf8
        guard range.count > scheme.count else { return nil }
        for (offset, letter) in scheme.enumerated() {
            guard let byte: UInt8 = bytes.getInteger(at: bytes.readerIndex + range.lowerBound + offset),
                byte | 0x20 == letter
            else { return nil }
        }
        let start = bytes.readerIndex + range.lowerBound + scheme.count
        return bytes.getSlice(at: start, length: range.count - scheme.count)
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
