// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
internal import NIOCore

extension SocketChannel {
    /// Somebody wants to read.
    package func read0() {
        guard self.state == .active else { return }
        self.wantsRead = true
        guard self.mayRead, !self.isWaitingForItsTurn, !self.isReading else { return }
        self.comeBack()
    }

    /// Others first: what the peer has sent already is read in the loop's next turn.
    private func comeBack() {
        self.isWaitingForItsTurn = true
        self.loop.comeBack(to: self)
    }

    /// Reads once, if there may be something and somebody wants it.
    func readOn() {
        self.isWaitingForItsTurn = false
        guard self.mayRead, self.wantsRead, self.state == .active else { return }
        self.wantsRead = false
        self.isReading = true
        self.readOnce()
        self.isReading = false
        if self.mayRead, self.wantsRead, self.state == .active { self.comeBack() }
    }

    private func readOnce() {
        let size = self.readSize
        var memory = self.loop.takeReadMemory(atLeast: size)
        let count = self.receive(size, into: &memory)
        guard count > 0 else {
            self.loop.readMemory = memory
            if count == 0 { self.peerEnded() } else { self.readFailed(errno) }
            return
        }
        self.noteRead(count, of: size)
        if let reader { return self.tell(reader, &memory) }
        self.handlers.syncOperations.fireChannelRead(NIOAny(memory))
        // Whoever has let go of the memory by now lets the next read use it.
        self.loop.readMemory = memory
        self.handlers.syncOperations.fireChannelReadComplete()
        if self.readsOnItsOwn, self.state == .active { self.handlers.syncOperations.read() }
    }

    private func tell(_ reader: any SocketReader, _ memory: inout ByteBuffer) {
        reader.socketRead(&memory)
        swap(&memory, &self.loop.readMemory)
        reader.socketReadComplete()
        if self.readsOnItsOwn, self.state == .active { reader.socketMayRead() }
    }

    private func receive(_ size: Int, into memory: inout ByteBuffer) -> Int {
        var count = 0
        unsafe memory.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { room in
            repeat {
                count = unsafe receive_some(self.descriptor, room.baseAddress, min(size, room.count))
            } while count < 0 && errno == EINTR
            return max(0, count)
        }
        return count
    }

    /// A read that did not fill its room has emptied the socket: the next bytes are an edge of their own, unless the end
    /// has been reported already.
    private func noteRead(_ count: Int, of size: Int) {
        if count < size {
            self.mayRead = self.hasPeerEnded
            if count < size / 4 { self.readSize = max(SocketChannel.minReadSize, size / 2) }
        } else {
            self.readSize = min(SocketChannel.maxReadSize, size * 2)
        }
    }

    private func peerEnded() {
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
