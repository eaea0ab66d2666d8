// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateSessions
internal import GateWire
internal import NIOCore

// What takes longer than a turn of the event loop: the session store, and the gateway's own addresses.
extension GatewayResponder {
    /// How many requests of one loop may wait for the store.
    private static let mostLookUps = 2000
    /// How many may wait at the gateway's own addresses, mostly for a provider; fewer, so that a provider that hangs
    /// leaves room for everybody who is signed in.
    private static let mostOwn = 1000

    /// Does something that takes time, then goes on with its result on this loop, unless the client has gone.
    private func wait<Value: Sendable>(
        counting count: ReferenceWritableKeyPath<LoopState, Int>,
        upTo limit: Int,
        for work: @escaping @Sendable () async -> Value,
        then next: @escaping (GatewayResponder, Value) -> Void
    ) {
        guard self.loop[keyPath: count] < limit else {
            let failure = Failure(.gatewayTooManyWaiting, "\(limit) requests wait already")
            self.answer(self.site.rendering.answer(to: failure, for: self.visitor))
            return
        }
        let turn = self.turn
        let loop = self.loop.loop
        self.loop[keyPath: count] += 1
        let bound = NIOLoopBound((responder: self, count: count, next: next), eventLoop: loop)
        self.task = Task(executorPreference: self.loop.executor) {
            let value = await work()
            loop.execute {
                let (responder, count, next) = bound.value
                responder.loop[keyPath: count] -= 1
                guard responder.turn == turn else { return }
                next(responder, value)
                responder.connection?.flush()
            }
        }
    }

    func lookUp(_ ticket: Ticket) {
        guard let host = self.request?.authority.host else { return }
        let manager = self.site.sessions
        let now = self.loop.clock.now
        self.wait(counting: \.lookUps, upTo: GatewayResponder.mostLookUps) {
            do throws(Failure) {
                return Result<Session?, Failure>.success(try await manager.session(for: ticket, host: host, now: now))
            } catch {
                return .failure(error)
            }
        } then: { responder, result in
            responder.resume(ticket, result)
        }
    }

    /// The store has answered: the path is walked again, with what it said.
    private func resume(_ ticket: Ticket, _ result: Result<Session?, Failure>) {
        guard let request else { return }
        let path = RequestPath(site: self.site, loop: self.loop)
        switch result {
        case .failure(let failure):
            self.carryOut(path.verdict(for: request, over: self.tls, lookup: .unavailable(failure)))
        case .success(let session):
            if let session { self.loop.remember(session, of: ticket, in: self.site.sessions) }
            self.carryOut(path.verdict(for: request, over: self.tls, lookup: .done))
        }
    }

    func answerOwnEndpoint() {
        guard let request else { return }
        let body = self.held.flatMap { Array($0.readableBytesView) }
        let own = EndpointRequest(request, body: body, way: self.way, site: self.site, now: self.loop.clock.now)
        let loop = self.loop.loop
        let bound = NIOLoopBound((state: self.loop, sessions: self.site.sessions), eventLoop: loop)
        // Most browsers come back at once and on the same connection: the store need not be asked what it was just told.
        let endpoints = Endpoints(site: self.site) { issued in
            loop.execute { bound.value.state.remember(issued.session, of: issued.ticket, in: bound.value.sessions) }
        }
        let limit = endpoints.isImmediate(own) ? Int.max : GatewayResponder.mostOwn
        self.wait(counting: \.ownRequests, upTo: limit) {
            await endpoints.answer(to: own)
        } then: { responder, answer in
            responder.answer(answer)
        }
    }
}
