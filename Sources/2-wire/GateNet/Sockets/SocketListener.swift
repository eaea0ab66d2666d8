// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
internal import NIOCore

/// Accepts from a listening socket on one loop; confined to it.
///
/// Several loops can watch the same descriptor: the kernel wakes one of them for each connection.
final class SocketListener: ReadinessHandler {
    /// How many connections are accepted in one turn, so that open connections are served too.
    private static let maxAcceptsPerTurn = 16
    /// How long accepting pauses after the process ran out of descriptors or memory.
    private static let pause = TimeAmount.milliseconds(100)

    private let descriptor: Int32
    private let loop: SocketLoop
    /// Takes the descriptor of a new connection.
    private let take: (Int32) -> Void
    private let failed: (SocketError) -> Bool
    private var key: UInt64?
    private var isClosed = false
    private var isPaused = false

    /// A listener that is not started; when accepting fails it pauses for 100 ms, unless `failed` returns true.
    init(
        _ descriptor: Int32,
        on loop: SocketLoop,
        failed: @escaping (SocketError) -> Bool = { _ in false },
        take: @escaping (Int32) -> Void
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.failed = failed
        self.take = take
    }

    /// Starts accepting.
    func start() throws(SocketError) {
        guard self.key == nil, !self.isClosed, !self.isPaused else { return }
        self.key = try self.loop.watch(self.descriptor, for: [.readable, .exclusive], self)
    }

    /// Stops accepting until ``start()``; clients wait in the kernel's queue.
    func stop() {
        guard let key else { return }
        self.key = nil
        self.loop.forget(self.descriptor, key: key)
    }

    /// Pauses or resumes accepting.
    func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if isPaused { self.stop() } else { self.resume() }
    }

    /// Accepts all waiting connections, at most a full queue; Linux queues one more than the backlog.
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

    /// Stops accepting for good; the descriptor belongs to its owner.
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

    func loopWillClose() { self.close() }

    /// Starts again, or retries later.
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

    /// A connection that is gone again is ignored; without descriptors or memory, an immediate retry would spin.
    private func acceptFailed(_ code: Int32) {
        switch code {
        case EAGAIN, EINTR, ECONNABORTED, EPROTO: return
        default:
            let mayContinue = self.failed(SocketError(call: "accept4", code: code))
            guard !mayContinue, self.key != nil else { return }
            self.stop()
            self.resumeLater()
        }
    }
}
