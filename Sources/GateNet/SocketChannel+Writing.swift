// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

extension SocketChannel {
    /// Takes bytes to be sent with the next flush.
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

    /// Sends what was written so far, as much as the kernel takes.
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
        if self.isOutputClosed, self.output.isEmpty { self.shutOutput() }
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
            // Not here: whoever flushes may be in the middle of a read.
            self.loop.execute { self.lost(IOError(errnoCode: code, reason: "send")) }
        }
    }

    private func shutOutput() {
        guard let promise = self.closesOutput else { return }
        self.closesOutput = nil
        _ = Glibc.shutdown(self.descriptor, Int32(SHUT_WR))
        promise.succeed()
    }
}
