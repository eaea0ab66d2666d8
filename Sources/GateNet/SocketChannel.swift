// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

/// A connected stream socket as a channel of a ``SocketLoop``; confined to that loop.
///
/// It is what `NIOPosix` has as a socket channel, as far as this gateway needs it: `ByteBuffer`s in and out, water marks,
/// half closure of the output. Calls from other threads than the loop's go through the pipeline, as with any channel.
package final class SocketChannel: Channel, ChannelCore, @unchecked Sendable {
    /// Buffers for handlers that ask for some.
    package let allocator = ByteBufferAllocator()
    /// The loop.
    package var eventLoop: any EventLoop { self.loop }
    /// The pipeline.
    package var pipeline: ChannelPipeline { self.handlers }
    /// Completes when the socket is closed.
    package var closeFuture: EventLoopFuture<Void> { self.closePromise.futureResult }
    /// The address of this side.
    package let localAddress: SocketAddress?
    /// The address of the peer.
    package let remoteAddress: SocketAddress?
    /// None: a listener is no channel.
    package var parent: (any Channel)? { nil }
    /// Whether less waits to be sent than the high water mark.
    package internal(set) var isWritable = true
    /// Whether the socket is open and watched.
    package var isActive: Bool { self.state == .active }
    /// Whether the socket has not been closed.
    package var isOpen: Bool { self.state != .closed }
    /// Whether ``activate()`` is called later than its listener would, by the one who prepares the channel.
    package var activatesLater = false
    /// The channel itself.
    package var _channelCore: any ChannelCore { self }
    /// Options can be asked for on the loop.
    package var syncOptions: (any NIOSynchronousChannelOptions)? { SocketOptions(channel: self) }

    enum State {
        case fresh
        case active
        case closed
    }

    /// The loop that it is confined to.
    package let loop: SocketLoop
    let descriptor: Int32
    let closePromise: EventLoopPromise<Void>
    var state = State.fresh
    /// Made right after the channel, which it refers to.
    private(set) lazy var handlers = ChannelPipeline(channel: self)
    private var key: UInt64 = 0

    /// Whether handlers are asked to read on after each read.
    var readsOnItsOwn = true
    /// Whether the kernel may have something to read.
    var mayRead = false
    /// Whether somebody wants it.
    var wantsRead = false
    var isWaitingForItsTurn = false
    var isReading = false
    /// Who reads without a pipeline between; it is let go of when the socket is closed.
    var reader: (any SocketReader)?
    var isFlushing = false
    /// Whether the kernel has said that the peer writes no more, or that the socket has failed.
    var hasPeerEnded = false
    /// What has made it impossible to send.
    var failure: IOError?
    /// How much is read at once; more for a peer that sends much.
    var readSize = SocketChannel.minReadSize
    static let minReadSize = 16 * 1024
    static let maxReadSize = 256 * 1024

    var marks = ChannelOptions.Types.WriteBufferWaterMark(low: 32 * 1024, high: 128 * 1024)
    var output = SocketOutput()
    /// Whether the kernel takes bytes, as far as is known.
    var mayWrite = true
    var closesOutput: EventLoopPromise<Void>?
    var isOutputClosed = false

    /// Takes a connected descriptor, which is closed with the channel.
    init(_ descriptor: Int32, on loop: SocketLoop, local: SocketAddress?, remote: SocketAddress?) {
        self.descriptor = descriptor
        self.loop = loop
        self.localAddress = local
        self.remoteAddress = remote
        self.closePromise = loop.makePromise()
    }

    /// A channel that nobody has wanted closes its socket.
    deinit {
        guard self.state == .fresh else { return }
        Glibc.close(self.descriptor)
        self.closePromise.succeed()
    }

    /// Begins: handlers are told that the channel is there, and reading starts.
    package func activate() throws(SocketError) {
        self.key = try self.loop.watch(self.descriptor, for: [.readable, .writable, .readHungUp, .edges], self)
        self.state = .active
        self.handlers.syncOperations.fireChannelRegistered()
        self.handlers.syncOperations.fireChannelActive()
        if self.readsOnItsOwn { self.handlers.syncOperations.read() }
    }
}

// MARK: ChannelCore

extension SocketChannel {
    /// The address of this side.
    package func localAddress0() throws -> SocketAddress {
        guard let localAddress else { throw ChannelError.unknownLocalAddress }
        return localAddress
    }

    /// The address of the peer.
    package func remoteAddress0() throws -> SocketAddress {
        guard let remoteAddress else { throw ChannelError.operationUnsupported }
        return remoteAddress
    }

    /// Not needed: a channel is made of a connected socket.
    package func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }

    /// Not needed: a channel is made of a connected socket.
    package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }

    /// Not possible: the socket is connected.
    package func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Not possible: the socket is connected.
    package func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Nothing below the channel knows of events.
    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Nobody in the pipeline wanted it.
    package func channelRead0(_ data: NIOAny) {}

    /// Nobody in the pipeline wanted it.
    package func errorCaught0(error: any Error) {}

    /// Closes the socket, or its output once all is sent.
    package func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch mode {
        case .all: self.closeAll(error, promise)
        case .output: self.closeOutput(promise)
        case .input: promise?.fail(ChannelError.operationUnsupported)
        }
    }

    private func closeAll(_ error: any Error, _ promise: EventLoopPromise<Void>?) {
        guard self.state != .closed else {
            promise?.fail(ChannelError.alreadyClosed)
            return
        }
        let wasActive = self.state == .active
        self.state = .closed
        self.isWritable = false
        if wasActive { self.loop.forget(self.descriptor, key: self.key) }
        Glibc.close(self.descriptor)
        self.reader = nil
        for promise in self.output.dropAll() {
            promise.fail(error)
        }
        self.closesOutput?.fail(error)
        self.closesOutput = nil
        promise?.succeed()
        if wasActive {
            self.handlers.syncOperations.fireChannelInactive()
            self.handlers.syncOperations.fireChannelUnregistered()
        }
        // Handlers may be in the middle of something: they are let go in the next turn.
        self.loop.execute {
            self.removeHandlers(pipeline: self.handlers)
            self.closePromise.succeed()
        }
    }

    /// Closes the socket with a reset; what is unsent is dropped.
    ///
    /// After an ordinary close a peer that takes nothing keeps the socket and its buffers in the kernel for minutes.
    package func reset() {
        guard self.state == .active else { return }
        SocketCalls.setResetAtClose(self.descriptor)
        self.close0(error: ChannelError.ioOnClosedChannel, mode: .all, promise: nil)
    }

    private func closeOutput(_ promise: EventLoopPromise<Void>?) {
        guard self.state == .active, !self.isOutputClosed else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        self.isOutputClosed = true
        guard self.output.isEmpty else {
            self.closesOutput = promise ?? self.loop.makePromise()
            return
        }
        _ = Glibc.shutdown(self.descriptor, Int32(SHUT_WR))
        promise?.succeed()
    }
}

// MARK: ReadinessHandler

extension SocketChannel: ReadinessHandler {
    func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.writable, .hungUp]) {
            self.mayWrite = true
            if !self.output.isEmpty { self.flush0() }
        }
        if !readiness.isDisjoint(with: [.readHungUp, .hungUp, .failed]) { self.hasPeerEnded = true }
        guard readiness.contains(.readable) || self.hasPeerEnded, self.state == .active else { return }
        self.mayRead = true
        guard self.wantsRead || !readiness.contains(.failed) else { return self.failUnlessUnread() }
        // Who waits for its turn has it before this turn of the loop ends.
        if !self.isWaitingForItsTurn { self.readOn() }
    }

    /// Nothing can be sent any more: what the peer has sent before it went is read first, if somebody wants it or will.
    ///
    /// An app may answer early and close with a part of the request unread, which resets the connection.
    func lost(_ error: IOError) {
        guard self.state == .active else { return }
        self.failure = self.failure ?? error
        self.hasPeerEnded = true
        self.mayRead = true
        if self.wantsRead { self.readOn() } else { self.failUnlessUnread() }
    }

    /// Ends a failed socket at once while nobody reads, unless there is something to be read later.
    private func failUnlessUnread() {
        guard let code = SocketCalls.failure(unlessUnread: self.descriptor) else { return }
        self.fail(IOError(errnoCode: code, reason: "socket"))
    }

    /// Tells of a failure, the first that there was, and closes.
    func fail(_ error: IOError) {
        let error = self.failure ?? error
        self.handlers.syncOperations.fireErrorCaught(error)
        self.close0(error: error, mode: .all, promise: nil)
    }

    func loopEnds() {
        self.close0(error: ChannelError.ioOnClosedChannel, mode: .all, promise: nil)
    }
}
