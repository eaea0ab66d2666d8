// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
internal import NIOCore

/// The write queue of one socket.
struct SocketOutput {
    private struct Pending {
        var bytes: ByteBuffer
        let promise: EventLoopPromise<Void>?
    }

    /// How many buffers one system call takes.
    private static let maxPieces = 16

    /// The queued buffer if it is the only one and has no promise, as nearly always; the queue is empty then.
    private var single: ByteBuffer?
    private var queue = CircularBuffer<Pending>(initialCapacity: 2)
    /// How many buffers may be sent.
    private var flushed = 0
    /// How many bytes are queued, flushed or not.
    private(set) var bytes = 0

    /// Whether nothing is queued.
    var isEmpty: Bool { self.single == nil && self.queue.isEmpty }

    /// Whether a queued buffer may be sent.
    var hasFlushed: Bool { self.flushed > 0 }

    mutating func append(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
        self.bytes += bytes.readableBytes
        guard !self.isEmpty || promise != nil else {
            self.single = bytes
            return
        }
        if let single = self.single.take() { self.queue.append(Pending(bytes: single, promise: nil)) }
        self.queue.append(Pending(bytes: bytes, promise: promise))
    }

    mutating func markFlushed() {
        self.flushed = self.single == nil ? self.queue.count : 1
    }

    /// Passes bytes to the kernel and returns how many were offered and how many it took; less than 0 leaves the error
    /// in `errno`.
    ///
    /// Mutating so that it works in place: a copy of the queue would be made otherwise.
    mutating func send(to descriptor: Int32) -> (offered: Int, taken: Int) {
        if let single { return SocketOutput.send(single, to: descriptor) }
        guard self.flushed > 1 else {
            return SocketOutput.send(self.queue[self.queue.startIndex].bytes, to: descriptor)
        }
        return self.sendPieces(to: descriptor)
    }

    private static func send(_ bytes: ByteBuffer, to descriptor: Int32) -> (offered: Int, taken: Int) {
        unsafe bytes.withUnsafeReadableBytes { bytes in
            unsafe (bytes.count, send_some(descriptor, bytes.baseAddress, bytes.count))
        }
    }

    private func sendPieces(to descriptor: Int32) -> (offered: Int, taken: Int) {
        let count = min(self.flushed, SocketOutput.maxPieces)
        return unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { pieces in
            var offered = 0
            for (piece, pending) in self.queue.prefix(count).enumerated() {
                // The queue holds the buffer, so the pointer outlives the closure.
                unsafe pending.bytes.withUnsafeReadableBytes { bytes in
                    unsafe pieces[piece] = iovec(
                        iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                        iov_len: bytes.count
                    )
                }
                offered += pending.bytes.readableBytes
            }
            var message = unsafe msghdr()
            unsafe message.msg_iov = pieces.baseAddress
            unsafe message.msg_iovlen = count
            return unsafe (offered, sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)))
        }
    }

    /// Removes the bytes that the kernel took.
    ///
    /// - Returns: The promises of buffers that are sent completely; the caller succeeds them, because a callback may
    ///   write.
    mutating func sent(_ count: Int) -> [EventLoopPromise<Void>] {
        var promises: [EventLoopPromise<Void>] = []
        self.bytes -= count
        if let size = self.single?.readableBytes {
            if count < size {
                self.single?.moveReaderIndex(forwardBy: count)
            } else {
                self.single = nil
                self.flushed = 0
            }
            return promises
        }
        var left = count
        while self.flushed > 0 {
            let size = self.queue[self.queue.startIndex].bytes.readableBytes
            guard left >= size else {
                self.queue[self.queue.startIndex].bytes.moveReaderIndex(forwardBy: left)
                return promises
            }
            left -= size
            self.flushed -= 1
            if let promise = self.queue.removeFirst().promise { promises.append(promise) }
        }
        return promises
    }

    /// Drops everything.
    ///
    /// - Returns: The promises of unsent buffers; the caller fails them.
    mutating func dropAll() -> [EventLoopPromise<Void>] {
        self.flushed = 0
        self.bytes = 0
        self.single = nil
        defer { self.queue.removeAll() }
        return self.queue.compactMap(\.promise)
    }
}
