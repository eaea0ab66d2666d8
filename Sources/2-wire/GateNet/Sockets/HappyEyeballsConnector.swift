// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Connects to the first of several addresses that accepts; confined to its loop.
///
/// RFC 8305 §5: the next address is tried when the previous one has failed, or after 250 ms.
package final class HappyEyeballsConnector {
    /// How long an address is tried before the next one starts.
    package static let headStart = TimeAmount.milliseconds(250)

    private let loop: SocketLoop
    private let deadline: NIODeadline
    private let promise: EventLoopPromise<SocketChannel>
    private var left: ArraySlice<SocketAddress>
    private var running: [SocketConnector] = []
    private var isOver = false
    private var turn: Scheduled<Void>?
    private var failure: any Error = ChannelError.operationUnsupported

    private init(_ addresses: [SocketAddress], by deadline: NIODeadline, on loop: SocketLoop) {
        self.loop = loop
        self.deadline = deadline
        self.promise = loop.makePromise()
        self.left = addresses[...]
    }

    /// Connects to one of the addresses.
    ///
    /// Must be called on the loop. The channel has no handlers yet, and the caller activates it. Fails with
    /// `ChannelError.connectTimeout` or the ``SocketError`` of the last address.
    package static func connect(
        to addresses: [SocketAddress],
        by deadline: NIODeadline,
        on loop: SocketLoop
    ) -> EventLoopFuture<SocketChannel> {
        let race = HappyEyeballsConnector(addresses, by: deadline, on: loop)
        race.next()
        return race.promise.futureResult
    }

    private func next() {
        self.turn?.cancel()
        self.turn = nil
        guard !self.isOver else { return }
        guard let address = self.left.popFirst() else {
            if self.running.isEmpty { self.end { $0.fail(self.failure) } }
            return
        }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        if !self.left.isEmpty {
            self.turn = self.loop.scheduleTask(in: HappyEyeballsConnector.headStart) { bound.value.next() }
        }
        let limit = max(.milliseconds(1), self.deadline - .now())
        do {
            let connector = try SocketConnector.start(to: address, within: limit, on: self.loop)
            self.running.append(connector)
            let key = ObjectIdentifier(connector)
            connector.connected.assumeIsolated().whenComplete { result in bound.value.ended(key, result) }
        } catch {
            self.failure = error
            self.next()
        }
    }

    private func ended(_ connector: ObjectIdentifier, _ result: Result<SocketChannel, any Error>) {
        self.running.removeAll { ObjectIdentifier($0) == connector }
        switch result {
        case .success(let channel) where self.isOver:
            channel.close0(error: ChannelError.operationUnsupported, mode: .all, promise: nil)
        case .success(let channel):
            self.end { $0.assumeIsolated().succeed(channel) }
        case .failure(let error):
            self.failure = error
            self.next()
        }
    }

    private func end(_ complete: (EventLoopPromise<SocketChannel>) -> Void) {
        self.isOver = true
        self.turn?.cancel()
        complete(self.promise)
        for loser in self.running { loser.cancel() }
    }
}
