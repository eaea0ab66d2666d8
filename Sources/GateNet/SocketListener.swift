// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
internal import NIOCore

/// A listening socket, watched by one loop; confined to it.
///
/// Several loops can watch the same descriptor: the kernel wakes one of them for each connection.
final class SocketListener: ReadinessHandler {
    /// Takes the descriptor of a new connection.
    typealias Taking = (Int32) -> Void

    /// How many connections are taken in one turn, so that those that are open are served, too.
    private static let maxAcceptsPerTurn = 16
    /// How long nothing is accepted after the process ran out of descriptors or memory.
    private static let pause = TimeAmount.milliseconds(100)

    private let descriptor: Int32
    private let loop: SocketLoop
    private let take: Taking
    private let failed: (SocketError) -> Bool
    private var key: UInt64?
    private var isClosed = false
    private var isHeld = false

    /// A listener that has not begun; when accepting fails it stops for a tenth of a second, unless `failed` has made room.
    init(
        _ descriptor: Int32,
        on loop: SocketLoop,
        failed: @escaping (SocketError) -> Bool = { _ in false },
        take: @escaping Taking
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.failed = failed
        self.take = take
    }

    /// Begins to accept.
    func start() throws(SocketError) {
        guard self.key == nil, !self.isClosed, !self.isHeld else { return }
        self.key = try self.loop.watch(self.descriptor, for: [.readable, .exclusive], self)
    }

    /// Accepts no more, until ``start()``; who connects meanwhile waits in the kernel.
    func stop() {
        guard let key else { return }
        self.key = nil
        self.loop.forget(self.descriptor, key: key)
    }

    /// Accepts nothing until told otherwise, or goes on.
    func hold(_ isHeld: Bool) {
        self.isHeld = isHeld
        if isHeld { self.stop() } else { self.resume() }
    }

    /// Takes everybody who waits, a queue's worth at most; Linux lets one more wait than it was told.
    func acceptAll() {
        for _ in 0...SocketCalls.backlog {
            let accepted = accept_next(self.descriptor)
            if accepted >= 0 {
                self.take(accepted)
            } else if ![EINTR, ECONNABORTED, EPROTO].contains(errno) {
                return
            }
        }
    }

    /// Accepts no more for good; the descriptor is its owner's.
    func close() {
        self.isClosed = true
        self.stop()
    }

    func ready(_ readiness: Readiness) {
        for _ in 0..<SocketListener.maxAcceptsPerTurn where self.key != nil {
            let accepted = accept_next(self.descriptor)
            guard accepted >= 0 else { return self.acceptFailed(errno) }
            self.take(accepted)
        }
    }

    func loopEnds() { self.close() }

    /// Begins again, and if that fails, a little later.
    private func resume() {
        do throws(SocketError) {
            try self.start()
        } catch {
            _ = self.failed(error)
            self.resumeLater()
        }
    }

    private func resumeLater() {
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(in: SocketListener.pause) { bound.value.resume() }
    }

    /// A connection that has gone again is nothing; without descriptors or memory, trying again at once would spin.
    private func acceptFailed(_ code: Int32) {
        switch code {
        case EAGAIN, EINTR, ECONNABORTED, EPROTO: return
        default:
            let hasRoom = self.failed(SocketError(call: "accept4", code: code))
            guard !hasRoom, self.key != nil else { return }
            self.stop()
            self.resumeLater()
        }
    }
}
