// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
internal import NIOCore

/// The HTTP/2 connections of one event loop to one target; confined to that loop.
///
/// A request uses the first connection with a free stream. Without one, requests wait in a bounded queue for a new
/// connection.
final class HTTP2Pool: UpstreamPool {
    let sweep: DeadlineSweep
    let flushes: FlushBatch?
    /// Counts the outcomes of requests; nil if they do not matter.
    let outcomes: TargetOutcomes?

    private let connector: UpstreamConnector
    private let limits: UpstreamLimits
    private var connections: [HTTP2UpstreamConnection] = []
    private var waiting: [(sink: any UpstreamSink, until: NIODeadline)] = []
    private var connecting = 0
    private var isShutDown = false

    init(_ connector: UpstreamConnector, limits: UpstreamLimits, outcomes: TargetOutcomes?) {
        self.connector = connector
        self.limits = limits
        self.outcomes = outcomes
        self.sweep = connector.environment.sweep
        self.flushes = connector.environment.flushes
        self.sweep.add(self)
    }

    var load: TargetLoad {
        var load = TargetLoad()
        load.connections = self.connections.count + self.connecting
        load.active = self.connections.reduce(0) { $0 + $1.active }
        load.waiting = self.waiting.count
        return load
    }

    func lease(to sink: any UpstreamSink, fresh: Bool) {
        guard self.load.requests < self.limits.requests else { return sink.upstreamFailed(.overflow) }
        if self.waiting.isEmpty, let connection = self.connections.first(where: \.isUsable) {
            connection.lend(to: sink)
            return
        }
        // The time limit is that of a request that opens its own connection.
        guard self.waiting.count < self.limits.pending else { return sink.upstreamFailed(.overflow) }
        self.waiting.append((sink, .now() + self.limits.connect))
        self.connectIfNeeded()
    }

    func cancel(_ sink: any UpstreamSink) {
        self.waiting.removeAll { $0.sink === sink }
        self.unwatchIfDone()
    }

    func shutDown() {
        self.isShutDown = true
        self.unwatchIfDone()
        for connection in self.connections {
            connection.shutDown()
        }
    }

    func hasFreeStream(_ connection: HTTP2UpstreamConnection) {
        while !self.waiting.isEmpty, connection.isUsable {
            connection.lend(to: self.waiting.removeFirst().sink)
        }
        self.connectIfNeeded()
        self.unwatchIfDone()
    }

    /// A connection has closed.
    func lost(_ connection: HTTP2UpstreamConnection) {
        self.connections.removeAll { $0 === connection }
        self.connectIfNeeded()
    }

    private func unwatchIfDone() {
        if self.isShutDown, self.waiting.isEmpty { self.sweep.remove(self) }
    }

    /// Opens one connection at a time, while requests wait and no connection has a free stream.
    private func connectIfNeeded() {
        guard !self.waiting.isEmpty, self.connecting == 0, self.connections.count < self.limits.connections else {
            return
        }
        // A new connection may take them all, once its settings have arrived.
        guard self.connections.allSatisfy(\.hasSettings) else { return }
        self.connecting += 1
        let bound = NIOLoopBound(self, eventLoop: self.connector.environment.loop)
        self.connector.connect().whenComplete { bound.value.connected($0) }
    }

    private func connected(_ result: Result<any Channel, any Error>) {
        self.connecting -= 1
        do {
            let channel = try result.get()
            let connection = HTTP2UpstreamConnection(
                pool: self,
                limits: self.limits,
                isSecure: self.connector.address.isSecure
            )
            try channel.pipeline.syncOperations.addHandler(connection)
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            self.connections.append(connection)
            self.hasFreeStream(connection)
            if self.isShutDown { connection.shutDown() }
            self.connectIfNeeded()
        } catch {
            let failure = error as? UpstreamFailure ?? .unreachable("\(error)")
            self.outcomes?.failed(isUnreachable: failure.isUnreachable)
            self.failAll(failure)
        }
    }

    /// Fails all waiting requests.
    private func failAll(_ failure: UpstreamFailure) {
        let waiting = self.waiting
        self.waiting = []
        for one in waiting {
            one.sink.upstreamFailed(failure)
            one.sink.upstreamReadComplete()
        }
        self.unwatchIfDone()
    }
}

extension HTTP2Pool: Expiring {
    /// When the longest waiting request has waited long enough.
    var deadline: NIODeadline { self.connecting > 0 ? .distantFuture : self.waiting.first?.until ?? .distantFuture }

    /// Fails requests that have waited too long.
    func expire() {
        let now = NIODeadline.now()
        while let first = self.waiting.first, first.until <= now {
            self.waiting.removeFirst()
            first.sink.upstreamFailed(.overflow)
            first.sink.upstreamReadComplete()
        }
        self.unwatchIfDone()
    }
}
