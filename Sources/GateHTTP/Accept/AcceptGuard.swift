// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import NIOCore

/// Watches over one listening socket; confined to the event loop that accepts.
///
/// A socket whose queue cannot be emptied stays readable, so a loop that goes on trying would spin. SwiftNIO's own remedy,
/// `AcceptBackoffHandler`, delays the next read but leaves the socket registered after a failed accept; only turning reading
/// off takes it out of the selector. Clients wait in the kernel's queue meanwhile.
final class AcceptGuard: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// How long nothing is accepted after a failure.
    static let pause = TimeAmount.milliseconds(200)
    /// How long to wait for a turn of the loop in which the queue has been emptied, before a socket is closed.
    static let lastLook = TimeAmount.milliseconds(20)

    private let gate: ConnectionGate
    private var context: ChannelHandlerContext?
    private var isHeld = false
    private var isPausing = false
    private var closing: EventLoopPromise<Void>?

    init(gate: ConnectionGate) {
        self.gate = gate
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.closing?.succeed()
        self.closing = nil
    }

    /// Accepting failed; the next try comes after a pause.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = (error as? IOError)?.errnoCode else { return }
        self.gate.note(AcceptGuard.failure(of: code))
        guard !self.isPausing else { return }
        self.isPausing = true
        self.apply()
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: AcceptGuard.pause) {
            bound.value.isPausing = false
            bound.value.apply()
        }
    }

    /// Everything that has come was taken: the moment to close if that is wanted, since nobody is in the queue.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        self.closeIfWanted()
    }

    /// Accepts nothing until told otherwise, or goes on.
    func hold(_ isHeld: Bool) {
        guard self.isHeld != isHeld else { return }
        self.isHeld = isHeld
        self.apply()
    }

    /// Takes who is in the kernel's queue, then closes the socket.
    ///
    /// Closing resets whoever is still in the queue, so it happens right after a look that found it empty.
    func close(_ promise: EventLoopPromise<Void>) {
        guard let context, self.closing == nil else { return promise.succeed() }
        self.closing = promise
        try? context.channel.syncOptions?.setOption(.maxMessagesPerRead, value: 4096)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        context.eventLoop.scheduleTask(in: AcceptGuard.lastLook) { bound.value.closeIfWanted() }
    }

    private func closeIfWanted() {
        guard let closing, let context else { return }
        self.closing = nil
        context.close(promise: closing)
    }

    private func apply() {
        try? self.context?.channel.syncOptions?.setOption(.autoRead, value: !self.isHeld && !self.isPausing)
    }

    private static func failure(of code: CInt) -> AcceptFailure {
        switch code {
        case EMFILE, ENFILE: .descriptors
        case ENOBUFS, ENOMEM: .memory
        default: .other
        }
    }
}
