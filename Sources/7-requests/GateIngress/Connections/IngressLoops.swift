// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
package import GateHTTP
package import GateNet
package import GateProxy
package import GateRuntime
package import GateTracing
package import NIOCore

/// The event loops that serve clients, with the state of each; what concerns all of them goes through here.
package final class IngressLoops: Sendable {
    private let states: [NIOLoopBound<LoopState>]
    private let byLoop: [ObjectIdentifier: NIOLoopBound<LoopState>]
    /// Measures how late each loop is.
    package let lagProbes: [LoopLagProbe]
    private let counts: [LoopCounts]

    private init(
        _ states: [NIOLoopBound<LoopState>],
        lagProbes: [LoopLagProbe],
        counts: [LoopCounts]
    ) {
        self.counts = counts
        self.states = states
        self.byLoop = Dictionary(uniqueKeysWithValues: states.map { (ObjectIdentifier($0.eventLoop), $0) })
        self.lagProbes = lagProbes
    }

    /// Makes the state of each event loop of a group.
    ///
    /// - Parameters:
    ///   - group: The event loops, running.
    ///   - runtime: The configuration in force.
    ///   - upstreams: Makes the upstreams of each loop.
    ///   - tracer: Takes the spans of requests; nil while tracing is off.
    ///   - blocked: Called with the number of a loop and the lag when a turn took too long.
    /// - Returns: The loops.
    package static func start(
        on group: SocketLoopGroup,
        runtime: RuntimeConfiguration,
        upstreams: UpstreamFactory,
        tracer: Tracer?,
        blocked: @escaping @Sendable (Int, TimeAmount) -> Void
    ) async -> IngressLoops {
        var states: [NIOLoopBound<LoopState>] = []
        var lagProbes: [LoopLagProbe] = []
        var counts: [LoopCounts] = []
        let count = group.loops.count
        for (index, loop) in group.loops.enumerated() {
            let made = try? await loop.submit {
                let state = LoopState(
                    loop: loop,
                    runtime: runtime,
                    clock: .system,
                    upstreams: upstreams,
                    tracer: tracer,
                    index: index,
                    sharedBy: count
                )
                state.start { blocked(index, $0) }
                return (NIOLoopBound(state, eventLoop: loop), state.lagProbe, state.counts)
            }.get()
            guard let made else { continue }
            states.append(made.0)
            lagProbes.append(made.1)
            counts.append(made.2)
        }
        return IngressLoops(states, lagProbes: lagProbes, counts: counts)
    }

    /// The handler of a client connection that was accepted on a loop; called on that loop.
    ///
    /// - Parameters:
    ///   - loop: The event loop.
    ///   - client: The client.
    ///   - negotiation: What TLS negotiated.
    ///   - listener: The address of the listener, as the configuration has it.
    ///   - redirects: Whether every request is redirected to https.
    /// - Returns: The handler, the only one of its channel.
    /// - Throws: `ioOnClosedChannel` if the loop does not belong to the group.
    package func connection(
        on loop: any EventLoop,
        of client: ClientIP,
        over negotiation: DownstreamNegotiation,
        at listener: BindAddress,
        redirects: Bool
    ) throws -> any ChannelHandler & IdleClosable {
        guard let state = self.byLoop[ObjectIdentifier(loop)]?.value else { throw ChannelError.ioOnClosedChannel }
        let makeResponder: () -> any Responder = {
            redirects
                ? RedirectResponder(loop: state, client: client.text)
                : GatewayResponder(
                    loop: state,
                    source: RequestSource(
                        peer: client.ip,
                        peerText: client.text,
                        isTrustedPeer: client.isTrusted,
                        tls: negotiation.tls,
                        listener: listener,
                        accepting: negotiation.clientCertificates,
                        under: state.runtime
                    )
                )
        }
        var limits = state.runtime.limits.downstream
        limits.streams = min(limits.streams, state.level.maxStreams ?? .max)
        let setting = DownstreamEnvironment(
            limits: limits,
            names: { state.runtime.fieldNames },
            sweep: state.sweep,
            isDraining: { state.endsConnections },
            flushes: state.flushes,
            buffers: state.memory,
            heads: state.heads,
            date: state.date,
            takesWebSockets: state.runtime.routes.takesWebSockets,
            counts: negotiation.isHTTP2 ? state.counts.http2 : state.counts.http1
        )
        guard !negotiation.isHTTP2 else {
            return HTTP2Connection(environment: setting, peer: client.ip, makeResponder: makeResponder)
        }
        return HTTP1Connection(
            environment: setting,
            peer: client.ip,
            tls: negotiation.tls,
            responder: makeResponder()
        )
    }
}

// MARK: What happens to all loops

extension IngressLoops {
    /// Puts another configuration in force; requests in flight keep theirs.
    package func replace(with runtime: RuntimeConfiguration) async {
        for bound in self.states {
            try? await bound.eventLoop.submit { bound.value.replace(with: runtime) }.get()
        }
    }

    /// Drops a session and its family from the caches and ends their tunnels.
    package func sessionEnded(_ family: [UInt8]) {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.sessionEnded(family) }
        }
    }

    /// Drops the sessions of a family from the caches, since they have changed.
    package func sessionChanged(_ family: [UInt8]) {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.sessionChanged(family) }
        }
    }

    /// Puts an overload level into effect.
    package func enter(_ level: OverloadLevel) {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.enter(level) }
        }
    }

    /// Gives back memory of the loops' caches; what they had is read again when it is needed.
    package func shrink(_ caches: CacheShrinking) {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.shrink(caches) }
        }
    }

    /// Closes connections that have been idle for this long.
    package func closeIdle(for time: TimeAmount) {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.endIdle(for: time) }
        }
    }

    /// Closes idle connections of each loop, only some of them.
    ///
    /// - Parameters:
    ///   - time: How long a connection has been idle.
    ///   - quota: How many to close of the loop with this number.
    /// - Returns: How many idle connections each loop has left.
    package func closeIdle(for time: TimeAmount, quota: (Int) -> Int) async -> [Int] {
        var idle: [Int] = []
        for (index, bound) in self.states.enumerated() {
            let max = quota(index)
            idle.append((try? await bound.eventLoop.submit { bound.value.endIdle(for: time, max: max) }.get()) ?? 0)
        }
        return idle
    }

    /// How many loops there are.
    package var count: Int { self.states.count }

    /// Lets health checks of load balancers fail, before connections are closed.
    package func announceStop() {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.announceStop() }
        }
    }

    /// Closes each connection after its next response.
    package func drain() async {
        for bound in self.states {
            try? await bound.eventLoop.submit { bound.value.drain() }.get()
        }
    }

    /// Ends all tunnels with a close frame.
    package func endTunnels() {
        for bound in self.states {
            bound.eventLoop.execute { bound.value.endTunnels() }
        }
    }

    /// Closes everything at once.
    package func close() async {
        for bound in self.states {
            try? await bound.eventLoop.submit { bound.value.closeAll() }.get()
        }
    }

    /// Requests in flight and responses that clients still have to read.
    package func unfinished() async -> Int { await self.sum { $0.unfinished } }

    /// Tunnels, open or being opened.
    package var tunnels: Int64 { self.counts.reduce(0) { $0 + $1.tunnels.value } }

    /// Requests between their head and the end of their response; tunnels are among them.
    package var requestsInFlight: Int64 { self.counts.reduce(0) { $0 + $1.requests.value } }

    /// The client connections by protocol: all, and those with a request in progress.
    ///
    /// They are counted as they change, so that this costs the same for any number of them.
    package var openConnections: [(name: String, open: Int64, active: Int64)] {
        let protocols = [("http1", self.counts.map(\.http1)), ("http2", self.counts.map(\.http2))]
        return protocols.map { name, counts in
            (name, counts.reduce(0) { $0 + $1.open.value }, counts.reduce(0) { $0 + $1.active.value })
        }
    }

    private func sum(_ number: @escaping @Sendable (LoopState) -> Int) async -> Int {
        var total = 0
        for bound in self.states {
            total += (try? await bound.eventLoop.submit { number(bound.value) }.get()) ?? 0
        }
        return total
    }

    /// The targets of the upstreams that the loops have used.
    package func upstreamStatus() async -> [LoadedUpstream: [TargetStatus]] {
        var known: [LoadedUpstream: [TargetStatus]] = [:]
        for bound in self.states {
            let statuses = (try? await bound.eventLoop.submit { bound.value.upstreamStatus }.get()) ?? [:]
            for (plan, targets) in statuses {
                guard var sum = known[plan] else {
                    known[plan] = targets
                    continue
                }
                for index in sum.indices {
                    sum[index].merge(targets[index])
                }
                known[plan] = sum
            }
        }
        return known
    }

    /// Whether each loop runs what it is given within a time.
    ///
    /// - Parameters:
    ///   - time: The time.
    ///   - timer: An event loop outside the group.
    /// - Returns: Whether all did.
    package func respond(within time: TimeAmount, timer: any EventLoop) async -> Bool {
        for bound in self.states {
            let tick = bound.eventLoop.submit {}
            let timeout = timer.makePromise(of: Void.self)
            let alarm = timer.scheduleTask(in: time) { timeout.fail(ChannelError.connectTimeout(time)) }
            tick.cascade(to: timeout)
            guard (try? await timeout.futureResult.get()) != nil else { return false }
            alarm.cancel()
        }
        return true
    }
}
