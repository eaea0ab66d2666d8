// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import NIOCore

/// Watches over one listening socket; confined to the event loop that accepts.
///
/// It begins held: nothing is accepted before ``hold(_:)`` says so.
///
/// A socket whose queue cannot be emptied stays readable, so a loop that goes on trying would spin. SwiftNIO's own remedy,
/// `AcceptBackoffHandler`, delays the next read but leaves the socket registered after a failed accept; only turning reading
/// off takes it out of the selector. Clients wait in the kernel's queue meanwhile.
final class AcceptGuard: ChannelInboundHandler {
    typealias InboundIn = any Channel

    /// How long nothing is accepted after a failure.
    static let pause = TimeAmount.milliseconds(200)

    private let gate: ConnectionGate
    private var context: ChannelHandlerContext?
    private var isHeld = true
    private var isPausing = false

    init(gate: ConnectionGate) {
        self.gate = gate
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

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

    /// Accepts nothing until told otherwise, or goes on.
    func hold(_ isHeld: Bool) {
        guard self.isHeld != isHeld else { return }
        self.isHeld = isHeld
        self.apply()
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
