// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateHTTP
internal import GateWire
package import NIOCore
internal import NIOPosix

/// The connections of one event loop to one upstream; confined to that loop.
///
/// The connection used last is lent first, so that the others can run out. Who finds none free and may make none waits
/// in a line of bounded length.
package final class UpstreamPool {
    /// Where the connections lead.
    package let address: UpstreamAddress
    let sweep: DeadlineSweep
    let flushes: FlushBatch?

    private let limits: UpstreamLimits
    private let loop: any EventLoop
    private var idle: [UpstreamConnection] = []
    private var waiting: [(sink: any UpstreamSink, until: NIODeadline)] = []
    private var open: Set<ObjectIdentifier> = []
    private var connecting = 0
    private var isRetired = false

    /// A pool without connections.
    package init(
        address: UpstreamAddress,
        limits: UpstreamLimits,
        sweep: DeadlineSweep,
        loop: any EventLoop,
        flushes: FlushBatch? = nil
    ) {
        self.address = address
        self.limits = limits
        self.sweep = sweep
        self.loop = loop
        self.flushes = flushes
        sweep.add(self)
    }

    /// How many connections are open or being made.
    package var count: Int { self.open.count + self.connecting }

    /// Finds a connection for a request; `sink` is told, now or later, that it is ready or that there is none.
    ///
    /// - Parameters:
    ///   - sink: Who wants it.
    ///   - fresh: Never one that was used before; for the second try of a request.
    package func lease(to sink: any UpstreamSink, fresh: Bool = false) {
        while !fresh, let connection = self.idle.popLast() {
            guard connection.isUsable else { continue }
            connection.lend(to: sink)
            sink.upstreamReady(connection)
            return
        }
        guard self.count >= self.limits.connections else {
            self.connect(for: sink)
            return
        }
        guard self.waiting.count < self.limits.pending else {
            sink.upstreamFailed(.overflow)
            return
        }
        self.waiting.append((sink, .now() + self.limits.connect))
    }

    /// Takes a request out of the line; its client is gone.
    package func cancel(_ sink: any UpstreamSink) {
        self.waiting.removeAll { $0.sink === sink }
        self.leaveIfDone()
    }

    /// Keeps no more connections; those in use end with their request.
    ///
    /// Called when no route leads here any more.
    package func retire() {
        self.isRetired = true
        self.leaveIfDone()
        let idle = self.idle
        self.idle = []
        for connection in idle {
            connection.retire()
        }
    }

    /// A connection is free again.
    func takeBack(_ connection: UpstreamConnection) {
        guard !self.isRetired, connection.isUsable else {
            connection.retire()
            return
        }
        guard !self.waiting.isEmpty else {
            self.idle.append(connection)
            return
        }
        let next = self.waiting.removeFirst().sink
        connection.lend(to: next)
        next.upstreamReady(connection)
    }

    /// A connection is no more; somebody in the line may make a new one.
    func lost(_ connection: UpstreamConnection) {
        guard self.open.remove(ObjectIdentifier(connection)) != nil else { return }
        self.idle.removeAll { $0 === connection }
        self.serveLine()
    }

    /// A pool that is given up is watched only as long as somebody waits in its line.
    private func leaveIfDone() {
        if self.isRetired, self.waiting.isEmpty { self.sweep.remove(self) }
    }

    private func serveLine() {
        defer { self.leaveIfDone() }
        guard !self.waiting.isEmpty, self.count < self.limits.connections else { return }
        self.connect(for: self.waiting.removeFirst().sink)
    }

    private func connect(for sink: any UpstreamSink) {
        self.connecting += 1
        let bound = NIOLoopBound((pool: self, sink: sink), eventLoop: self.loop)
        let bootstrap = ClientBootstrap(group: self.loop)
            .connectTimeout(self.limits.connect)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: 32 * 1024, high: 128 * 1024))
            .channelInitializer { channel in
                // A name with several addresses is tried with a channel for each, so each has a handler of its own.
                channel.eventLoop.makeCompletedFuture {
                    let pool = bound.value.pool
                    let connection = UpstreamConnection(pool: pool, limits: pool.limits)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
        self.connect(bootstrap).whenComplete { result in
            bound.value.pool.connected(result, for: bound.value.sink)
        }
    }

    private func connect(_ bootstrap: ClientBootstrap) -> EventLoopFuture<any Channel> {
        switch self.address {
        case .unix(let path):
            return bootstrap.connect(unixDomainSocketPath: path)
        case .http(let origin):
            let host = origin.host.hasPrefix("[") ? String(origin.host.dropFirst().dropLast()) : origin.host
            return bootstrap.connect(host: host, port: origin.port)
        }
    }

    private func connected(_ result: Result<any Channel, any Error>, for sink: any UpstreamSink) {
        self.connecting -= 1
        do {
            let channel = try result.get()
            let connection = try channel.pipeline.syncOperations.handler(type: UpstreamConnection.self)
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            self.open.insert(ObjectIdentifier(connection))
            connection.lend(to: sink)
            sink.upstreamReady(connection)
        } catch ChannelError.connectTimeout {
            self.tell(.connectTimedOut, to: sink)
        } catch {
            self.tell(.unreachable("\(error)"), to: sink)
        }
    }

    /// Tells that there is no connection, then lets the line move on, each in its own turn of the loop.
    private func tell(_ problem: UpstreamProblem, to sink: any UpstreamSink) {
        sink.upstreamFailed(problem)
        sink.upstreamPaused()
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.execute { bound.value.serveLine() }
    }
}

extension UpstreamPool: Expiring {
    /// When whoever waits longest in the line has waited long enough.
    package var deadline: NIODeadline { self.waiting.first?.until ?? .distantFuture }

    /// Turns away those who have waited too long.
    package func expire() {
        let now = NIODeadline.now()
        while let first = self.waiting.first, first.until <= now {
            self.waiting.removeFirst()
            first.sink.upstreamFailed(.overflow)
            first.sink.upstreamPaused()
        }
        self.leaveIfDone()
    }
}
