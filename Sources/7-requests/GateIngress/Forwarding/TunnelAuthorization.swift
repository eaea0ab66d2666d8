// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GatePolicy
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

    private let request: IngressRequest
    private let route: RuntimeRoute
    private let session: Session?
    private let loop: LoopState
    private var isCancelled = false
    /// Whether the session store or an issuer is being asked, or will be when its turn comes.
    private var isAsking = false
    /// When the token ends that the handshake brought; nil for a session.
    private var tokenEnd: Instant?
    /// The access if a date in the rules can end it; known even while the session store does not respond.
    private var access: EndingAccess?

    /// The authorization of a handshake that was admitted.
    ///
    /// - Parameters:
    ///   - request: The handshake.
    ///   - route: The route it was admitted to.
    ///   - session: The session; nil on public paths.
    ///   - loop: The event loop.
    init(of request: IngressRequest, on route: RuntimeRoute, session: Session?, loop: LoopState) {
        self.request = request
        self.route = route
        self.session = session
        self.loop = loop
        self.note(request, on: route)
    }

    /// Notes when the access of the caller can end.
    private func note(_ request: IngressRequest, on route: RuntimeRoute) {
        self.tokenEnd = request.caller.tokenEnd
        self.access = self.session == nil ? nil : Decider(request, self.loop).endingAccess(on: route)
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
        self.decide(lookedUp: nil, then: report)
    }

    private func nextCheck(for session: Session?, on route: RuntimeRoute) -> TimeAmount {
        guard let session else { return TunnelAuthorization.interval }
        let now = self.loop.clock.now
        let runtime = self.loop.runtime
        let whole = runtime.sessions.remaining(session, under: runtime.recheck(on: route), now: now)
        let left = route.sessionLimits.map { min(whole, $0.remaining(session, at: now)) } ?? whole
        let token = self.tokenEnd.map { min(left, $0.since(now)) } ?? left
        let check = min(TunnelAuthorization.interval, .seconds(max(0, token.wholeSeconds) + 1))
        guard let turn = self.access?.nextTurn(after: now) else { return check }
        return min(check, .seconds(max(1, turn.since(now).wholeSeconds)))
    }

    private func decide(lookedUp: LookedUp?, then report: @escaping (TunnelDecision) -> Void) {
        // As it is under the configuration in force: with its proxies, and with the certificate as it is verified now.
        let request = IngressRequest(again: self.request, on: self.loop, admitsNetworks: self.session == nil)
        if let lookedUp { request.resume(on: self.loop, after: lookedUp) }
        switch request.decide(self.loop) {
        case .need(.session(let sought)) where lookedUp == nil:
            self.lookUp(sought, for: request, then: report)
        case .need(.verification(let credential, let issuer)) where lookedUp == nil:
            self.verify(credential, at: issuer, then: report)
        case .forward(let route, _) where route.name == self.route.name:
            guard let rule = route.webSocket, rule.admits(request.head) else { return report(.denied) }
            let session = self.session == nil ? nil : request.caller.session?.session
            self.note(request, on: route)
            report(.allowed(self.nextCheck(for: session, on: route)))
        case .reject(let failure, _) where failure.reason.entry.section == .provider:
            report(self.undecided)
        default:
            report(.denied)
        }
    }

    /// The decision while the store, or the issuer of the token, does not respond.
    private var undecided: TunnelDecision {
        let now = self.loop.clock.now
        let hasEnded = self.tokenEnd.map { now >= $0 } ?? false
        return hasEnded || !(self.access.map { $0.admits(at: now, since: $0.facts.time) } ?? true) ? .denied : .unknown
    }

    private func lookUp(
        _ sought: SoughtSession,
        for request: IngressRequest,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        let (ticket, host) = (sought.ticket, sought.host)
        let route = request.route
        self.ask(report) { authorization in
            let lookUp = SessionLookUp(runtime: authorization.loop.runtime, route: route)
            return {
                let result = await lookUp.result(for: ticket, host: host, mayAskUser: false)
                return { $0.resume(ticket, result, of: lookUp, then: $1) }
            }
        }
    }

    private func verify(
        _ credential: MachineCredential,
        at issuer: TokenIssuer,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        self.ask(report) { _ in
            {
                let result = await MachineVerifier.result(of: credential, at: issuer)
                return { $0.resume(credential, result, at: issuer, then: $1) }
            }
        }
    }

    /// What is done with a result on the loop.
    private typealias Resumption = @Sendable (TunnelAuthorization, @escaping (TunnelDecision) -> Void) -> Void

    /// Asks something outside the loop when it is this tunnel's turn, and goes on with the result.
    ///
    /// - Parameters:
    ///   - report: Called with the decision.
    ///   - work: Makes what asks, when its turn has come: the configuration may be another by then.
    private func ask(
        _ report: @escaping (TunnelDecision) -> Void,
        _ work: @escaping (TunnelAuthorization) -> @Sendable () async -> Resumption
    ) {
        // The check before has no result yet: the store or the issuer does not respond.
        guard !self.isAsking else { return report(self.undecided) }
        self.isAsking = true
        let checks = self.loop.tunnelChecks
        checks.begin {
            guard !self.isCancelled else { return false }
            let loop = self.loop.loop
            let bound = NIOLoopBound((self, report), eventLoop: loop)
            let result = work(self)
            Task(executorPreference: self.loop.executor) {
                let resume = await result()
                loop.execute {
                    let (authorization, report) = bound.value
                    authorization.isAsking = false
                    authorization.loop.tunnelChecks.finished()
                    guard !authorization.isCancelled else { return }
                    resume(authorization, report)
                }
            }
            return true
        }
    }

    private func resume(
        _ credential: MachineCredential,
        _ result: Result<TokenIssuer.Verified, Failure>,
        at issuer: TokenIssuer,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        if case .failure(let failure) = result, failure.reason != .tokenRejected { return report(self.undecided) }
        self.loop.advance(to: .now())
        self.loop.remember(result, of: credential, at: issuer)
        self.decide(lookedUp: .done, then: report)
    }

    private func resume(
        _ ticket: Ticket,
        _ result: Result<SessionLookUp.Found, Failure>,
        of lookUp: SessionLookUp,
        then report: @escaping (TunnelDecision) -> Void
    ) {
        if case .failure(let failure) = result, failure.reason == .sessionNotConfirmed { return report(.denied) }
        guard case .success(let found) = result else { return report(self.undecided) }
        self.loop.advance(to: .now())
        if case .session(let session) = found {
            self.loop.remember(session, of: ticket, in: self.loop.runtime.sessions, foundBy: lookUp)
        }
        self.decide(lookedUp: .done, then: report)
    }
}
