// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore

/// Connects to one address; confined to its loop.
final class SocketConnector: ReadinessHandler {
    private let loop: SocketLoop
    private let descriptor: Int32
    private let remote: SocketAddress
    private let promise: EventLoopPromise<SocketChannel>
    private var key: UInt64?
    private var timer: Scheduled<Void>?

    private init(_ descriptor: Int32, to remote: SocketAddress, on loop: SocketLoop) {
        self.descriptor = descriptor
        self.remote = remote
        self.loop = loop
        self.promise = loop.makePromise()
    }

    /// Starts to connect.
    ///
    /// Must be called on the loop.
    ///
    /// - Throws: When no socket can be opened.
    static func start(
        to address: SocketAddress,
        within limit: TimeAmount,
        on loop: SocketLoop
    ) throws(SocketError) -> SocketConnector {
        let connector = SocketConnector(try SocketCalls.stream(for: address), to: address, on: loop)
        connector.begin(within: limit)
        return connector
    }

    /// The channel, which has no handlers yet and is activated by the caller; fails with `ChannelError.connectTimeout`,
    /// a ``SocketError`` or, after ``cancel()``, `ChannelError.ioOnClosedChannel`.
    var connected: EventLoopFuture<SocketChannel> { self.promise.futureResult }

    /// Cancels the attempt, unless it is complete.
    func cancel() {
        guard self.key != nil else { return }
        self.fail(ChannelError.ioOnClosedChannel)
    }

    private func begin(within limit: TimeAmount) {
        do throws(SocketError) {
            if self.remote.protocol != .unix { SocketCalls.disableNagle(self.descriptor) }
            try unsafe SocketCalls.check("connect", with: self.remote) { unsafe Glibc.connect(self.descriptor, $0, $1) }
            self.succeed()
        } catch  where error.code == EINPROGRESS {
            self.wait(limit)
        } catch {
            self.fail(error)
        }
    }

    private func wait(_ limit: TimeAmount) {
        do {
            self.key = try self.loop.watch(self.descriptor, for: [.writable], self)
        } catch {
            return self.fail(error)
        }
        let bound = NIOLoopBound(self, eventLoop: self.loop)
        self.timer = self.loop.scheduleTask(in: limit) { bound.value.fail(ChannelError.connectTimeout(limit)) }
    }

    func ready(_ readiness: Readiness) {
        let code = SocketCalls.error(of: self.descriptor)
        guard code == 0 else { return self.fail(SocketError(call: "connect", code: code)) }
        self.succeed()
    }

    func loopWillClose() {
        self.fail(ChannelError.ioOnClosedChannel)
    }

    private func forget() {
        self.timer?.cancel()
        self.timer = nil
        if let key { self.loop.forget(self.descriptor, key: key) }
        self.key = nil
    }

    private func succeed() {
        self.forget()
        let local = SocketCalls.localAddress(of: self.descriptor)
        let channel = SocketChannel(self.descriptor, on: self.loop, local: local, remote: self.remote)
        self.promise.assumeIsolated().succeed(channel)
    }

    private func fail(_ error: any Error) {
        self.forget()
        Glibc.close(self.descriptor)
        self.promise.fail(error)
    }
}
