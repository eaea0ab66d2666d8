// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Whether a tunnel may stay open.
enum TunnelDecision {
    /// It may; the next check is due after this time.
    case allowed(TimeAmount)
    /// The session has ended, or the policy denies it now.
    case denied
    /// The session store did not respond.
    case unknown
}

/// Why a tunnel was opened, and whether it may stay open; confined to one event loop.
///
/// It is decided as for any request, so that a session revoked by another gateway and a reloaded configuration count.
final class TunnelAuthorization {
    /// How often a tunnel is checked.
    static let interval = TimeAmount.seconds(60)

    private let request: RequestHead
    private let route: RuntimeRoute
    private let tls: NegotiatedTLS?
    private let client: IPAddress?
    private let session: Session?
    private let loop: LoopState
    private var isCancelled = false
    /// When the token ends that the handshake brought; nil for a session.
    private var tokenEnd: Instant?

    /// The authorization of a request.
    ///
    /// - Parameters:
    ///   - request: The handshake.
    ///   - route: The route it was admitted to.
    ///   - tls: What TLS negotiated; nil for a plain connection.
    ///   - client: The client IP; nil if it is not known.
    ///   - session: The session; nil on public paths.
    ///   - loop: The event loop.
    init(
        request: RequestHead,
        route: RuntimeRoute,
        tls: NegotiatedTLS?,
        client: IPAddress? = nil,
        session: Session?,
        loop: LoopState
    ) {
        self.request = request
        self.route = route
        self.tls = tls
        self.client = client
        self.session = session
        self.loop = loop
        self.tokenEnd = RequestPath(runtime: loop.runtime, loop: loop).tokenEnd(of: request, on: route)
    }

    /// The family of the session; nil on public paths.
    var family: [UInt8]? { self.session?.familyKey }

    /// When to check first: a session that ends earlier ends the tunnel when it ends.
    var firstCheck: TimeAmount { self.nextCheck(for: self.session, on: self.route) }

    /// Nothing is asked or decided any more: the tunnel is closed.
    func cancel() { self.isCancelled = true }

    /// Decides again; calls back at once, or later if the session store has to be asked.
    func decide(then report: @escaping (TunnelDecision) -> Void) {
        self.loop.advance(to: .now())
        self.decide(lookup: nil, then: report)
    }

    private func nextCheck(for session: Session?, on route: RuntimeRoute) -> TimeAmount {
        guard let session else { return TunnelAuthorization.interval }
        let now = self.loop.clock.now
        let runtime = self.loop.runtime
        let whole = runtime.sessions.remaining(session, under: runtime.recheck(on: route), now: now)
        let left = route.sessionLimits.map { min(whole, $0.remaining(session, at: now)) } ?? whole
        let token = self.tokenEnd.map { min(left, $0.since(now)) } ?? left
        return min(TunnelAuthorization.interval, .seconds(max(0, token.components.seconds) + 1))
    }

    private func decide(lookup: SessionLookup?, then report: @escaping (TunnelDecision) -> Void) {
        let path = RequestPath(runtime: self.loop.runtime, loop: self.loop, isFirst: false)
        let verdict = path.verdict(
            for: self.request,
            over: self.tls,
            lookup: lookup,
            admitsNetworks: self.session == nil,
            client: { self.client }
        )
        self.loop.forgetForAccessLine()
        switch verdict {
        case .needsSession(let sought, let route) where lookup == nil:
            self.lookUp(sought, for: route, then: report)
        case .needsVerification(let credential, let issuer, _) where lookup == nil:
            self.verify(credential, at: issuer, then: report)
        case .forwarded(let route, _) where route.name == self.route.name:
            guard let rule = route.webSocket, rule.admits(self.request) else { return report(.denied) }
            let session = self.session == nil ? nil : path.liveSession(of: self.request)
            self.tokenEnd = path.tokenEnd(of: self.request, on: route)
            report(.allowed(self.nextCheck(for: session, on: route)))
        case .refused(let failure) where failure.reason.entry.section == .provider:
            report(self.unverified)
        default:
            report(.denied)
        }
    }

    /// The decision while the issuer of the token does not respond.
    private var unverified: TunnelDecision {
        self.tokenEnd.map { self.loop.clock.now >= $0 } ?? false ? .denied : .unknown
    }

    private func lookUp(
        _ sought: SoughtSession,
        for route: RuntimeRoute,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        let lookUp = SessionLookUp(runtime: self.loop.runtime, route: route)
        let (ticket, host) = (sought.ticket, sought.host)
        let loop = self.loop.loop
        let bound = NIOLoopBound((self, report), eventLoop: loop)
        self.loop.lookUps += 1
        Task(executorPreference: self.loop.executor) {
            let result = await lookUp.result(for: ticket, host: host, mayAskUser: false)
            loop.execute {
                let (authorization, report) = bound.value
                authorization.resume(ticket, result, of: lookUp, then: report)
            }
        }
    }

    private func verify(
        _ credential: MachineCredential,
        at issuer: TokenIssuer,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        guard self.loop.verifications < LoopState.maxVerifications else { return report(self.unverified) }
        let loop = self.loop.loop
        let bound = NIOLoopBound((self, report), eventLoop: loop)
        self.loop.verifications += 1
        Task(executorPreference: self.loop.executor) {
            let result = await MachineVerifier.result(of: credential, at: issuer)
            loop.execute {
                let (authorization, report) = bound.value
                let state = authorization.loop
                state.verifications -= 1
                guard !authorization.isCancelled else { return }
                if case .failure(let failure) = result, failure.reason != .tokenRejected {
                    return report(authorization.unverified)
                }
                state.advance(to: .now())
                state.remember(result, of: credential, at: issuer)
                authorization.decide(lookup: .done, then: report)
            }
        }
    }

    private func resume(
        _ ticket: Ticket,
        _ result: Result<SessionLookUp.Found, Failure>,
        of lookUp: SessionLookUp,
        then report: (TunnelDecision) -> Void
    ) {
        self.loop.lookUps -= 1
        guard !self.isCancelled else { return }
        if case .failure(let failure) = result, failure.reason == .sessionNotConfirmed { return report(.denied) }
        guard case .success(let found) = result else { return report(.unknown) }
        self.loop.advance(to: .now())
        if case .session(let session) = found {
            self.loop.remember(session, of: ticket, in: self.loop.runtime.sessions, foundBy: lookUp)
        }
        withoutActuallyEscaping(report) { self.decide(lookup: .done, then: $0) }
    }
}
