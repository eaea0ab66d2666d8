// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
package import NIOCore

/// The HTTP/1.1 connections of one event loop to one target; confined to that loop.
///
/// The most recently used connection is reused first, so that the others can expire. Requests beyond the limit of
/// connections wait in a bounded queue.
package final class HTTP1Pool: UpstreamPool {
    let sweep: DeadlineSweep
    let flushes: FlushBatch?
    let limits: UpstreamLimits
    /// Counts the outcomes of requests; nil if they do not matter.
    let outcomes: TargetOutcomes?

    let connector: UpstreamConnector
    private var idle: [HTTP1UpstreamConnection] = []
    private var waiting: [(sink: any UpstreamSink, until: NIODeadline)] = []
    private var open: Set<ObjectIdentifier> = []
    private var connecting = 0
    private var isShutDown = false

    /// A pool without connections.
    package init(_ connector: UpstreamConnector, limits: UpstreamLimits, outcomes: TargetOutcomes? = nil) {
        self.connector = connector
        self.limits = limits
        self.outcomes = outcomes
        self.sweep = connector.environment.sweep
        self.flushes = connector.environment.flushes
        self.sweep.add(self)
    }

    /// The number of connections, open or being opened.
    package var count: Int { self.open.count + self.connecting }

    package var load: TargetLoad {
        var load = TargetLoad()
        load.connections = self.count
        load.active = self.count - self.idle.count
        load.waiting = self.waiting.count
        return load
    }

    /// Requests a connection for a request; see `UpstreamPool`.
    package func lease(to sink: any UpstreamSink, fresh: Bool = false) {
        if !fresh, self.lendIdle(to: sink) { return }
        // Each open connection without a request is idle, so this bounds the requests in progress as well.
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

    /// Removes a request from the queue; its client has disconnected.
    package func cancel(_ sink: any UpstreamSink) {
        self.waiting.removeAll { $0.sink === sink }
        self.unwatchIfDone()
    }

    /// Closes idle connections; those in use close after their request.
    package func shutDown() {
        self.isShutDown = true
        self.unwatchIfDone()
        let idle = self.idle
        self.idle = []
        for connection in idle {
            connection.shutDown()
        }
    }

    /// Takes a connection back after its request.
    func release(_ connection: HTTP1UpstreamConnection) {
        guard !self.isShutDown, connection.isUsable else {
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

    /// A connection has closed; a waiting request may open a new one.
    func lost(_ connection: HTTP1UpstreamConnection) {
        guard self.open.remove(ObjectIdentifier(connection)) != nil else { return }
        self.idle.removeAll { $0 === connection }
        self.serveNextWaiting()
    }

    /// After shutdown, the pool is watched only while requests wait.
    private func unwatchIfDone() {
        if self.isShutDown, self.waiting.isEmpty { self.sweep.remove(self) }
    }

    private func serveNextWaiting() {
        defer { self.unwatchIfDone() }
        guard !self.waiting.isEmpty, self.count < self.limits.connections else { return }
        self.connect(for: self.waiting.removeFirst().sink)
    }

    private func connect(for sink: any UpstreamSink) {
        self.connecting += 1
        let bound = NIOLoopBound((pool: self, sink: sink), eventLoop: self.connector.environment.loop)
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
            let failure = error as? UpstreamFailure ?? .unreachable("\(error)")
            self.outcomes?.failed(isUnreachable: failure.isUnreachable)
            self.fail(sink, failure)
        }
    }

    /// Reports the failure, then serves the next waiting request in a later turn of the loop.
    private func fail(_ sink: any UpstreamSink, _ failure: UpstreamFailure) {
        sink.upstreamFailed(failure)
        sink.upstreamReadComplete()
        let bound = NIOLoopBound(self, eventLoop: self.connector.environment.loop)
        self.connector.environment.loop.execute { bound.value.serveNextWaiting() }
    }
}

extension HTTP1Pool: Expiring {
    /// When the longest waiting request has waited long enough.
    package var deadline: NIODeadline { self.waiting.first?.until ?? .distantFuture }

    /// Fails requests that have waited too long.
    package func expire() {
        let now = NIODeadline.now()
        while let first = self.waiting.first, first.until <= now {
            self.waiting.removeFirst()
            first.sink.upstreamFailed(.overflow)
            first.sink.upstreamReadComplete()
        }
        self.unwatchIfDone()
    }
}
