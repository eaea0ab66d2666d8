// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
package import NIOCore

/// The connections of one event loop to one target; confined to that loop.
package protocol UpstreamPool: AnyObject {
    /// Finds a way for a request; `sink` is told, now or later, that it is ready or that there is none.
    ///
    /// - Parameters:
    ///   - sink: Who wants it.
    ///   - fresh: Never a connection that was used before; for the second try of a request.
    func lease(to sink: any UpstreamSink, fresh: Bool)
    /// Takes a request out of the line; its client is gone.
    func cancel(_ sink: any UpstreamSink)
    /// Keeps no more connections; those in use end with their request.
    func shutDown()
    /// How it is loaded.
    var load: TargetLoad { get }
}

/// How many connections and requests there are at one target.
package struct TargetLoad: Sendable, Hashable {
    /// Connections, open or being made.
    package var connections = 0
    /// Requests under way.
    package var active = 0
    /// Requests that wait for a connection.
    package var waiting = 0

    /// Requests under way and waiting.
    package var requests: Int { self.active + self.waiting }

    /// Nothing.
    package init() {}

    /// Adds what another loop has.
    package static func += (left: inout TargetLoad, right: TargetLoad) {
        left.connections += right.connections
        left.active += right.active
        left.waiting += right.waiting
    }
}

/// The HTTP/1.1 connections of one event loop to one target; confined to that loop.
///
/// The connection used last is lent first, so that the others can run out. Who finds none free and may make none waits
/// in a line of bounded length.
package final class HTTP1Pool: UpstreamPool {
    let sweep: DeadlineSweep
    let flushes: FlushBatch?
    let limits: UpstreamLimits
    /// How the requests went; nil if nobody asks.
    let outcomes: TargetOutcomes?

    let connector: UpstreamConnector
    private var idle: [HTTP1UpstreamConnection] = []
    private var waiting: [(sink: any UpstreamSink, until: NIODeadline)] = []
    private var open: Set<ObjectIdentifier> = []
    private var connecting = 0
    private var isRetired = false

    /// A pool without connections.
    package init(_ connector: UpstreamConnector, limits: UpstreamLimits, outcomes: TargetOutcomes? = nil) {
        self.connector = connector
        self.limits = limits
        self.outcomes = outcomes
        self.sweep = connector.setting.sweep
        self.flushes = connector.setting.flushes
        self.sweep.add(self)
    }

    /// How many connections are open or being made.
    package var count: Int { self.open.count + self.connecting }

    /// How it is loaded.
    package var load: TargetLoad {
        var load = TargetLoad()
        load.connections = self.count
        load.active = self.count - self.idle.count
        load.waiting = self.waiting.count
        return load
    }

    /// Finds a connection for a request; see `UpstreamPool`.
    package func lease(to sink: any UpstreamSink, fresh: Bool = false) {
        if !fresh, self.lendIdle(to: sink) { return }
        // Each open connection without a request is idle, so this bounds the requests under way as well.
        guard self.count >= min(self.limits.connections, self.limits.requests) else {
            self.connect(for: sink)
            return
        }
        guard self.waiting.count < min(self.limits.pending, self.limits.requests - self.count) else {
            sink.upstreamFailed(.overflow)
            return
        }
        self.waiting.append((sink, .now() + self.limits.connect))
    }

    private func lendIdle(to sink: any UpstreamSink) -> Bool {
        while let connection = self.idle.popLast() {
            guard connection.isUsable else { continue }
            connection.lend(to: sink)
            sink.upstreamReady(connection)
            return true
        }
        return false
    }

    /// Takes a request out of the line; its client is gone.
    package func cancel(_ sink: any UpstreamSink) {
        self.waiting.removeAll { $0.sink === sink }
        self.leaveIfDone()
    }

    /// Keeps no more connections; those in use end with their request.
    package func shutDown() {
        self.isRetired = true
        self.leaveIfDone()
        let idle = self.idle
        self.idle = []
        for connection in idle {
            connection.shutDown()
        }
    }

    /// A connection is free again.
    func takeBack(_ connection: HTTP1UpstreamConnection) {
        guard !self.isRetired, connection.isUsable else {
            connection.shutDown()
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
    func lost(_ connection: HTTP1UpstreamConnection) {
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
        let bound = NIOLoopBound((pool: self, sink: sink), eventLoop: self.connector.setting.loop)
        self.connector.connect().whenComplete { result in
            bound.value.pool.connected(result, for: bound.value.sink)
        }
    }

    private func connected(_ result: Result<any Channel, any Error>, for sink: any UpstreamSink) {
        self.connecting -= 1
        do {
            let channel = try result.get()
            let connection = HTTP1UpstreamConnection(pool: self, limits: self.limits)
            try channel.pipeline.syncOperations.addHandler(connection)
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            self.open.insert(ObjectIdentifier(connection))
            connection.lend(to: sink)
            sink.upstreamReady(connection)
        } catch {
            let problem = (error as? ConnectFailure)?.problem ?? .unreachable("\(error)")
            self.outcomes?.failed(isUnreachable: problem.isUnreachable)
            self.tell(problem, to: sink)
        }
    }

    /// Tells that there is no connection, then lets the line move on, each in its own turn of the loop.
    private func tell(_ problem: UpstreamFailure, to sink: any UpstreamSink) {
        sink.upstreamFailed(problem)
        sink.upstreamReadComplete()
        let bound = NIOLoopBound(self, eventLoop: self.connector.setting.loop)
        self.connector.setting.loop.execute { bound.value.serveLine() }
    }
}

extension HTTP1Pool: Expiring {
    /// When whoever waits longest in the line has waited long enough.
    package var deadline: NIODeadline { self.waiting.first?.until ?? .distantFuture }

    /// Turns away those who have waited too long.
    package func expire() {
        let now = NIODeadline.now()
        while let first = self.waiting.first, first.until <= now {
            self.waiting.removeFirst()
            first.sink.upstreamFailed(.overflow)
            first.sink.upstreamReadComplete()
        }
        self.leaveIfDone()
    }
}
