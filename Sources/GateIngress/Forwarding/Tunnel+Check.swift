// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateSessions
internal import GateWire
internal import NIOCore

/// Why a tunnel was opened: what is looked at again as long as it lasts.
struct TunnelAuthorization {
    let request: RequestHead
    let route: RuntimeRoute
    let tls: NegotiatedTLS?
    /// Nil on paths that are open to all.
    let session: Session?
}

// Whether the one who opened a tunnel may still enter: asked again now and then, in the same way as for any request, so
// that what other gateways and other configurations say is heard.
extension Tunnel {
    /// How often it is asked.
    static let checkInterval = TimeAmount.seconds(60)
    /// After so many checks in a row without an answer of the store the tunnel ends.
    private static let mostUnanswered = 5

    /// Asks in the next turn or two.
    func checkSoon() {
        if self.isOpen { self.checkAt = .now() }
    }

    /// When to ask again: a session that ends before that ends the tunnel when it ends.
    func nextCheck(for session: Session?) -> TimeAmount {
        guard let session else { return Tunnel.checkInterval }
        let left = self.loop.site.sessions.remaining(session, now: self.loop.clock.now)
        return min(Tunnel.checkInterval, .seconds(max(0, left.components.seconds) + 1))
    }

    /// Asks.
    func check() {
        self.checkAt = .now() + Tunnel.checkInterval
        self.loop.advance(to: .now())
        self.decide(lookup: nil)
    }

    private func decide(lookup: SessionLookup?) {
        let path = RequestPath(site: self.loop.site, loop: self.loop)
        switch path.verdict(for: self.pass.request, over: self.pass.tls, lookup: lookup) {
        case .needsSession(let ticket) where lookup == nil:
            self.lookUp(ticket)
        case .forwarded(let route, _) where route.name == self.pass.route.name:
            guard let rule = route.webSocket, rule.admits(self.pass.request) else { return self.end(.policy) }
            self.unanswered = 0
            let session = self.family == nil ? nil : path.liveSession(of: self.pass.request)
            self.checkAt = .now() + self.nextCheck(for: session)
        default:
            self.end(.policy)
        }
    }

    private func lookUp(_ ticket: Ticket) {
        let manager = self.loop.site.sessions
        let host = self.pass.request.authority.host
        let now = self.loop.clock.now
        let loop = self.loop.loop
        let bound = NIOLoopBound(self, eventLoop: loop)
        self.loop.lookUps += 1
        Task(executorPreference: self.loop.executor) {
            let result: Result<Session?, Failure>
            do throws(Failure) {
                result = .success(try await manager.session(for: ticket, host: host, now: now))
            } catch {
                result = .failure(error)
            }
            loop.execute { bound.value.resume(ticket, result) }
        }
    }

    private func resume(_ ticket: Ticket, _ result: Result<Session?, Failure>) {
        self.loop.lookUps -= 1
        guard self.isOpen else { return }
        switch result {
        case .failure:
            self.unanswered += 1
            if self.unanswered >= Tunnel.mostUnanswered { self.end(.policy) }
        case .success(let session):
            self.loop.advance(to: .now())
            if let session { self.loop.remember(session, of: ticket, in: self.loop.site.sessions) }
            self.decide(lookup: .done)
        }
    }
}
