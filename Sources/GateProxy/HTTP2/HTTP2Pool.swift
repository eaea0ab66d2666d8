// SPDX-License-Identifier: Apache-2.0

internal import GateNet
internal import GateWire
internal import NIOCore

/// The HTTP/2 connections of one event loop to one target; confined to that loop.
///
/// A request goes over the first connection that has room. Only when none has is another one made, and requests wait in
/// a line of bounded length meanwhile.
final class HTTP2Pool: UpstreamPool {
    let sweep: DeadlineSweep
    let flushes: FlushBatch?
    /// How the requests went; nil if nobody asks.
    let outcomes: TargetOutcomes?

    private let connector: UpstreamConnector
    private let limits: UpstreamLimits
    private var connections: [HTTP2UpstreamConnection] = []
    private var waiting: [(sink: any UpstreamSink, until: NIODeadline)] = []
    private var connecting = 0
    private var isRetired = false

    init(_ connector: UpstreamConnector, limits: UpstreamLimits, outcomes: TargetOutcomes?) {
        self.connector = connector
        self.limits = limits
        self.outcomes = outcomes
        self.sweep = connector.setting.sweep
        self.flushes = connector.setting.flushes
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
        // What waits for the first connection of all waits as briefly as a request that makes one of its own.
        guard self.waiting.count < self.limits.pending else { return sink.upstreamFailed(.overflow) }
        self.waiting.append((sink, .now() + self.limits.connect))
        self.connectIfNeeded()
    }

    func cancel(_ sink: any UpstreamSink) {
        self.waiting.removeAll { $0.sink === sink }
        self.leaveIfDone()
    }

    func shutDown() {
        self.isRetired = true
        self.leaveIfDone()
        for connection in self.connections {
            connection.shutDown()
        }
    }

    /// A connection has ended a stream, or may have more.
    func hasRoom(_ connection: HTTP2UpstreamConnection) {
        while !self.waiting.isEmpty, connection.isUsable {
            connection.lend(to: self.waiting.removeFirst().sink)
        }
        self.connectIfNeeded()
        self.leaveIfDone()
    }

    /// A connection is no more.
    func lost(_ connection: HTTP2UpstreamConnection) {
        self.connections.removeAll { $0 === connection }
        self.connectIfNeeded()
    }

    private func leaveIfDone() {
        if self.isRetired, self.waiting.isEmpty { self.sweep.remove(self) }
    }

    /// Makes one connection at a time, as long as somebody waits and none has room.
    private func connectIfNeeded() {
        guard !self.waiting.isEmpty, self.connecting == 0, self.connections.count < self.limits.connections else {
            return
        }
        // One that has just been made may take them all, once it has said how many it takes.
        guard self.connections.allSatisfy(\.hasSettings) else { return }
        self.connecting += 1
        let bound = NIOLoopBound(self, eventLoop: self.connector.setting.loop)
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
            self.hasRoom(connection)
            if self.isRetired { connection.shutDown() }
            self.connectIfNeeded()
        } catch {
            let problem = (error as? ConnectFailure)?.problem ?? .unreachable("\(error)")
            self.outcomes?.failed(isUnreachable: problem.isUnreachable)
            self.tellAll(problem)
        }
    }

    /// Tells all who wait that there is no connection.
    private func tellAll(_ problem: UpstreamFailure) {
        let waiting = self.waiting
        self.waiting = []
        for one in waiting {
            one.sink.upstreamFailed(problem)
            one.sink.upstreamReadComplete()
        }
        self.leaveIfDone()
    }
}

extension HTTP2Pool: Expiring {
    /// When whoever waits longest in the line has waited long enough.
    var deadline: NIODeadline { self.connecting > 0 ? .distantFuture : self.waiting.first?.until ?? .distantFuture }

    /// Turns away those who have waited too long.
    func expire() {
        let now = NIODeadline.now()
        while let first = self.waiting.first, first.until <= now {
            self.waiting.removeFirst()
            first.sink.upstreamFailed(.overflow)
            first.sink.upstreamReadComplete()
        }
        self.leaveIfDone()
    }
}
