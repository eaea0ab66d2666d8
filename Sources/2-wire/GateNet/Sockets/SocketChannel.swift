// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
package import NIOCore

/// A connected stream socket as a channel of a ``SocketLoop``; confined to that loop.
///
/// It does what NIOPosix's socket channel does, as far as this gateway needs it: `ByteBuffer`s in and out, water marks,
/// half-closure of the output. Calls from other threads go through the pipeline, as with any channel.
package final class SocketChannel: Channel, ChannelCore, @unchecked Sendable {
    /// The allocator for handlers.
    package let allocator = ByteBufferAllocator()
    package var eventLoop: any EventLoop { self.loop }
    package var pipeline: ChannelPipeline { self.handlers }
    /// Completes when the socket is closed.
    package var closeFuture: EventLoopFuture<Void> { self.closePromise.futureResult }
    package let localAddress: SocketAddress?
    /// The address of the peer.
    package let remoteAddress: SocketAddress?
    /// Always nil: a listener is not a channel.
    package var parent: (any Channel)? { nil }
    /// Whether fewer bytes are queued than the high-water mark.
    package private(set) var isWritable = true
    /// Whether the socket is open and watched.
    package var isActive: Bool { self.state == .active }
    package var isOpen: Bool { self.state != .closed }
    /// Whether the code that prepares the channel calls ``activate()`` later, instead of the listener.
    package var activatesLater = false
    package var _channelCore: any ChannelCore { self }
    /// Gives access to options on the loop.
    package var syncOptions: (any NIOSynchronousChannelOptions)? { SocketOptions(channel: self) }

    private enum State {
        case fresh
        case active
        case closed
    }

    /// The loop that it is confined to.
    package let loop: SocketLoop
    let descriptor: Int32
    private let closePromise: EventLoopPromise<Void>
    private var state = State.fresh
    /// Created after the channel, which it refers to.
    private(set) lazy var handlers = ChannelPipeline(channel: self)
    private var key: UInt64 = 0

    /// Whether a read is requested again after each read.
    fileprivate var readsAutomatically = true
    /// Whether the kernel may have bytes to read.
    var mayRead = false
    /// Whether a read was requested.
    private var wantsRead = false
    private var isReadScheduled = false
    private var isReading = false
    /// Reads without a pipeline in between; released when the socket is closed.
    var reader: (any SocketReader)?
    private var isFlushing = false
    /// Whether the kernel has reported that the peer has closed its sending side, or that the socket has failed.
    private var hasPeerClosed = false
    /// Why nothing can be sent any more.
    private var failure: IOError?
    /// How many bytes a read asks for; grows for a peer that sends much.
    private var readSize = SocketChannel.minReadSize
    private static let minReadSize = 16 * 1024
    private static let maxReadSize = 256 * 1024

    fileprivate var marks = ChannelOptions.Types.WriteBufferWaterMark(low: 32 * 1024, high: 128 * 1024)
    fileprivate var output = SocketOutput()
    /// Whether the kernel takes bytes, as far as is known.
    private var mayWrite = true
    private var closesOutput: EventLoopPromise<Void>?
    private var isOutputClosed = false

    /// Takes over a connected descriptor.
    init(_ descriptor: Int32, on loop: SocketLoop, local: SocketAddress?, remote: SocketAddress?) {
        self.descriptor = descriptor
        self.loop = loop
        self.localAddress = local
        self.remoteAddress = remote
        self.closePromise = loop.makePromise()
    }

    /// Closes the socket of a channel that was never activated.
    deinit {
        guard self.state == .fresh else { return }
        Glibc.close(self.descriptor)
        self.closePromise.succeed()
    }

    /// Registers the socket, informs the handlers and starts reading.
    package func activate() throws(SocketError) {
        self.key = try self.loop.watch(self.descriptor, for: [.readable, .writable, .readHungUp, .edges], self)
        self.state = .active
        self.handlers.syncOperations.fireChannelRegistered()
        self.handlers.syncOperations.fireChannelActive()
        if self.readsAutomatically { self.handlers.syncOperations.read() }
    }
}

// MARK: ChannelCore

extension SocketChannel {
    package func localAddress0() throws -> SocketAddress {
        guard let localAddress else { throw ChannelError.unknownLocalAddress }
        return localAddress
    }

    /// The address of the peer.
    package func remoteAddress0() throws -> SocketAddress {
        guard let remoteAddress else { throw ChannelError.operationUnsupported }
        return remoteAddress
    }

    /// Not needed: the socket is connected already.
    package func register0(promise: EventLoopPromise<Void>?) { promise?.succeed() }

    /// Not needed: the socket is connected already.
    package func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) { promise?.succeed() }

    /// Not supported: the socket is connected.
    package func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Not supported: the socket is connected.
    package func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Not supported.
    package func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
        promise?.fail(ChannelError.operationUnsupported)
    }

    /// Drops data that no handler has consumed.
    package func channelRead0(_ data: NIOAny) {}

    /// Ignores an error that no handler has consumed.
    package func errorCaught0(error: any Error) {}

    /// Closes the socket, or its output after all bytes are sent.
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
        // Handlers may be running: they are removed in the next turn.
        self.loop.execute {
            self.removeHandlers(pipeline: self.handlers)
            self.closePromise.succeed()
        }
    }

    /// Closes the socket with a reset and drops unsent bytes.
    ///
    /// After an ordinary close, a peer that reads nothing keeps the socket and its buffers in the kernel for minutes.
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
        if !readiness.isDisjoint(with: [.readHungUp, .hungUp, .failed]) { self.hasPeerClosed = true }
        guard readiness.contains(.readable) || self.hasPeerClosed, self.state == .active else { return }
        self.mayRead = true
        guard self.wantsRead || !readiness.contains(.failed) else { return self.failUnlessUnread() }
        // A channel whose read is scheduled reads before this turn of the loop ends.
        if !self.isReadScheduled { self.continueReading() }
    }

    /// Nothing can be sent any more: bytes that the peer sent before are read first, if a read is requested or will be.
    ///
    /// An app may respond early and close with a part of the request unread, which resets the connection.
    private func lost(_ error: IOError) {
        guard self.state == .active else { return }
        self.failure = self.failure ?? error
        self.hasPeerClosed = true
        self.mayRead = true
        if self.wantsRead { self.continueReading() } else { self.failUnlessUnread() }
    }

    /// Closes a failed socket while no read is requested, unless it has bytes left to read.
    private func failUnlessUnread() {
        guard let code = SocketCalls.failure(unlessUnread: self.descriptor) else { return }
        self.fail(IOError(errnoCode: code, reason: "socket"))
    }

    /// Reports the first failure and closes.
    private func fail(_ error: IOError) {
        let error = self.failure ?? error
        self.handlers.syncOperations.fireErrorCaught(error)
        self.close0(error: error, mode: .all, promise: nil)
    }

    func loopWillClose() {
        self.close0(error: ChannelError.ioOnClosedChannel, mode: .all, promise: nil)
    }
}

// MARK: Reading

extension SocketChannel {
    /// Requests a read.
    package func read0() {
        guard self.state == .active else { return }
        self.wantsRead = true
        guard self.mayRead, !self.isReadScheduled, !self.isReading else { return }
        self.readLater()
    }

    /// Schedules the read for the next turn of the loop, so that other channels come first.
    private func readLater() {
        self.isReadScheduled = true
        self.loop.readLater(to: self)
    }

    /// Reads once, if bytes may be available and a read is requested.
    func continueReading() {
        self.isReadScheduled = false
        guard self.mayRead, self.wantsRead, self.state == .active else { return }
        self.wantsRead = false
        self.isReading = true
        self.readOnce()
        self.isReading = false
        if self.mayRead, self.wantsRead, self.state == .active { self.readLater() }
    }

    private func readOnce() {
        let size = self.readSize
        var memory = self.loop.takeReadBuffer(atLeast: size)
        let count = self.receive(size, into: &memory)
        guard count > 0 else {
            self.loop.readBuffer = memory
            if count == 0 { self.peerClosed() } else { self.readFailed(errno) }
            return
        }
        self.noteRead(count, of: size)
        if let reader { return self.deliver(to: reader, &memory) }
        self.handlers.syncOperations.fireChannelRead(NIOAny(memory))
        // If the handlers have released the buffer by now, the next read reuses it.
        self.loop.readBuffer = memory
        self.handlers.syncOperations.fireChannelReadComplete()
        if self.readsAutomatically, self.state == .active { self.handlers.syncOperations.read() }
    }

    private func deliver(to reader: any SocketReader, _ memory: inout ByteBuffer) {
        reader.socketRead(&memory)
        swap(&memory, &self.loop.readBuffer)
        reader.socketReadComplete()
        if self.readsAutomatically, self.state == .active { reader.socketMayRead() }
    }

    private func receive(_ size: Int, into memory: inout ByteBuffer) -> Int {
        var count = 0
        unsafe memory.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { space in
            repeat {
                count = unsafe receive_some(self.descriptor, space.baseAddress, min(size, space.count))
            } while count < 0 && errno == EINTR
            return max(0, count)
        }
        return count
    }

    /// A read that returned less than it asked for has emptied the socket: new bytes cause a new edge, unless the
    /// peer's close has already been reported.
    private func noteRead(_ count: Int, of size: Int) {
        if count < size {
            self.mayRead = self.hasPeerClosed
            if count < size / 4 { self.readSize = max(SocketChannel.minReadSize, size / 2) }
        } else {
            self.readSize = min(SocketChannel.maxReadSize, size * 2)
        }
    }

    private func peerClosed() {
        self.mayRead = false
        if let failure { return self.fail(failure) }
        self.close0(error: ChannelError.eof, mode: .all, promise: nil)
    }

    private func readFailed(_ code: Int32) {
        self.mayRead = false
        guard code != EAGAIN else {
            self.wantsRead = true
            return
        }
        self.fail(IOError(errnoCode: code, reason: "recv"))
    }
}

// MARK: Writing

extension SocketChannel {
    /// Queues bytes for the next flush.
    package func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let bytes = self.tryUnwrapData(data, as: ByteBuffer.self) else {
            promise?.fail(ChannelError.operationUnsupported)
            return
        }
        self.write0(bytes, promise: promise)
    }

    func write0(_ bytes: ByteBuffer, promise: EventLoopPromise<Void>?) {
        guard self.state == .active, !self.isOutputClosed else {
            promise?.fail(self.state == .active ? ChannelError.outputClosed : ChannelError.ioOnClosedChannel)
            return
        }
        self.output.append(bytes, promise)
        guard self.isWritable, self.output.bytes > self.marks.high else { return }
        self.isWritable = false
        self.handlers.syncOperations.fireChannelWritabilityChanged()
    }

    /// Sends the queued bytes, as many as the kernel takes.
    package func flush0() {
        guard self.state == .active else { return }
        self.output.markFlushed()
        guard !self.isFlushing else { return }
        self.isFlushing = true
        while self.mayWrite, self.output.hasFlushed, self.state == .active { self.sendOnce() }
        self.isFlushing = false
        guard self.state == .active else { return }
        if !self.isWritable, self.output.bytes < self.marks.low {
            self.isWritable = true
            self.handlers.syncOperations.fireChannelWritabilityChanged()
        }
        if self.isOutputClosed, self.output.isEmpty { self.shutDownOutput() }
    }

    private func sendOnce() {
        let (wanted, sent) = self.output.send(to: self.descriptor)
        guard sent >= 0 else { return self.writeFailed(errno) }
        if sent < wanted { self.mayWrite = false }
        for promise in self.output.sent(sent) {
            promise.succeed()
        }
    }

    private func writeFailed(_ code: Int32) {
        switch code {
        case EINTR: return
        case EAGAIN, ENOBUFS: self.mayWrite = false
        default:
            self.mayWrite = false
            // Not immediately: the caller of flush may be in the middle of a read.
            self.loop.execute { self.lost(IOError(errnoCode: code, reason: "send")) }
        }
    }

    private func shutDownOutput() {
        guard let promise = self.closesOutput else { return }
        self.closesOutput = nil
        _ = Glibc.shutdown(self.descriptor, Int32(SHUT_WR))
        promise.succeed()
    }
}

// MARK: Options

/// The options of a ``SocketChannel`` that the handlers here and those of TLS use.
struct SocketOptions: NIOSynchronousChannelOptions {
    let channel: SocketChannel

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
        switch (option, value) {
        case (is ChannelOptions.Types.AutoReadOption, let reads as Bool):
            self.channel.setReadsAutomatically(reads)
        case (
            is ChannelOptions.Types.WriteBufferWaterMarkOption, let marks as ChannelOptions.Types.WriteBufferWaterMark
        ):
            self.channel.marks = marks
        default:
            throw ChannelError.operationUnsupported
        }
    }

    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        let value: Any =
            switch option {
            case is ChannelOptions.Types.AutoReadOption: self.channel.readsAutomatically
            case is ChannelOptions.Types.AllowRemoteHalfClosureOption: false
            case is ChannelOptions.Types.WriteBufferWaterMarkOption: self.channel.marks
            case is ChannelOptions.Types.BufferedWritableBytesOption: self.channel.output.bytes
            default: throw ChannelError.operationUnsupported
            }
        guard let value = value as? Option.Value else { throw ChannelError.operationUnsupported }
        return value
    }
}

extension SocketChannel {
    /// Sets an option, on the loop.
    package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        self.loop.submit { try SocketOptions(channel: self).setOption(option, value: value) }
    }

    /// Reads an option, on the loop.
    package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        self.loop.submit { try SocketOptions(channel: self).getOption(option) }
    }

    /// Sets the number of queued bytes at which writers stop, and at which they continue.
    package func setWaterMarks(low: Int, high: Int) {
        self.marks = ChannelOptions.Types.WriteBufferWaterMark(low: low, high: high)
    }

    func setReadsAutomatically(_ reads: Bool) {
        let begins = reads && !self.readsAutomatically
        self.readsAutomatically = reads
        if begins { self.pipeline.syncOperations.read() }
    }
}
