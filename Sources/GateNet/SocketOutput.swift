// SPDX-License-Identifier: Apache-2.0

internal import CEventPoll
internal import Glibc
internal import NIOCore

/// What waits to be sent on one socket, in order.
struct SocketOutput {
    private struct Pending {
        var bytes: ByteBuffer
        let promise: EventLoopPromise<Void>?
    }

    /// The most pieces that one call hands to the kernel.
    private static let maxPieces = 16

    /// What waits if it is one piece that nobody waits for, as nearly always; the queue is empty then.
    private var single: ByteBuffer?
    private var queue = CircularBuffer<Pending>(initialCapacity: 2)
    /// How many pieces may be sent.
    private var flushed = 0
    /// How many bytes wait, flushed or not.
    private(set) var bytes = 0

    /// Whether nothing waits.
    var isEmpty: Bool { self.single == nil && self.queue.isEmpty }

    /// Whether something waits that may be sent.
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

    /// Hands bytes to the kernel: how many were offered, and how many it took; less than 0 leaves the reason in `errno`.
    ///
    /// Mutating only so that it works on the socket's own output: a copy would be made otherwise.
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

    /// Forgets what the kernel has taken.
    ///
    /// - Returns: The promises of those whose bytes are all gone, to be kept by the caller: whoever hears of it may write.
    mutating func sent(_ count: Int) -> [EventLoopPromise<Void>] {
        var told: [EventLoopPromise<Void>] = []
        self.bytes -= count
        if let size = self.single?.readableBytes {
            if count < size {
                self.single?.moveReaderIndex(forwardBy: count)
            } else {
                self.single = nil
                self.flushed = 0
            }
            return told
        }
        var left = count
        while self.flushed > 0 {
            let size = self.queue[self.queue.startIndex].bytes.readableBytes
            guard left >= size else {
                self.queue[self.queue.startIndex].bytes.moveReaderIndex(forwardBy: left)
                return told
            }
            left -= size
            self.flushed -= 1
            if let promise = self.queue.removeFirst().promise { told.append(promise) }
        }
        return told
    }

    /// Drops everything.
    ///
    /// - Returns: The promises of those whose bytes will not be sent, to be broken by the caller.
    mutating func dropAll() -> [EventLoopPromise<Void>] {
        self.flushed = 0
        self.bytes = 0
        self.single = nil
        defer { self.queue.removeAll() }
        return self.queue.compactMap(\.promise)
    }
}
