// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateIssuer
internal import GateOpenID
internal import GateRuntime
internal import GateSessions
internal import NIOCore

/// Who sends a request.
enum Caller {
    /// It was not asked: the request was decided without it.
    case unasked
    /// The request has nothing that the app accepts.
    case anonymous
    /// The user of the browser's session.
    case session(CachedSession)
    /// The user for whom a client has an access token of this gateway.
    case token(CachedSession, VerifiedToken)
    /// A machine, by a token of another issuer or of `service_tokens`.
    case machine(CachedSession, isAmbient: Bool, ends: Instant?)
    /// A client of a network that a rule admits.
    case network(RulePlace?)

    /// The session of the user or of the machine.
    var session: CachedSession? {
        switch self {
        case .session(let session), .token(let session, _), .machine(let session, _, _): session
        case .unasked, .anonymous, .network: nil
        }
    }

    /// When the token ends; nil if the caller has none, or if that is not known.
    var tokenEnd: Instant? {
        switch self {
        case .token(_, let token): token.token.expires
        case .machine(_, _, let ends): ends
        case .unasked, .anonymous, .session, .network: nil
        }
    }
}

/// What is known of callers without waiting: the caches of an event loop, which may forget anything at any time.
protocol KnownCallers: AnyObject {
    /// The status for health checks of load balancers.
    var healthStatus: Int { get }

    /// The session of a cookie that was set on a host.
    func session(_ key: CookieKey, on host: String, at tick: NIODeadline) -> CachedSession?
    /// The access token of this gateway that a text is; nil if it is not valid, or not one of this gateway.
    func accessToken(_ text: ByteBuffer, under runtime: RuntimeConfiguration, at now: Instant) -> VerifiedToken?
    /// Whether a text is the access token that was found last.
    func isLastAccessToken(_ text: ByteBuffer) -> Bool
    /// What became of a token at an issuer.
    func machine(_ credential: MachineCredential, at issuer: TokenIssuer, at tick: NIODeadline) -> MachineCache.Entry?
    /// The session of a service token, which needs no look-up.
    func session(of profile: Profile, _ credential: MachineCredential, ends: Instant?) -> CachedSession
    /// The identity lines on a route for clients that a network admits.
    func networkLines(
        on route: RuntimeRoute,
        under runtime: RuntimeConfiguration,
        at now: Instant
    ) throws(Failure) -> ByteBuffer
}

extension LoopState: KnownCallers {
    @inline(__always)
    func session(_ key: CookieKey, on host: String, at tick: NIODeadline) -> CachedSession? {
        self.sessions.session(key, host: host, now: tick)
    }

    func accessToken(_ text: ByteBuffer, under runtime: RuntimeConfiguration, at now: Instant) -> VerifiedToken? {
        self.tokens.token(text, of: runtime, keeps: runtime === self.runtime, now: now)
    }

    func isLastAccessToken(_ text: ByteBuffer) -> Bool { self.tokens.isLast(text) }

    func machine(_ credential: MachineCredential, at issuer: TokenIssuer, at tick: NIODeadline) -> MachineCache.Entry? {
        self.machines.entry(credential, at: issuer, now: tick)
    }

    func networkLines(
        on route: RuntimeRoute,
        under runtime: RuntimeConfiguration,
        at now: Instant
    ) throws(Failure) -> ByteBuffer {
        try self.networkIdentities.lines(on: route, runtime: runtime, now: now)
    }
}
