// SPDX-License-Identifier: Apache-2.0

package import NIOCore

extension ByteBuffer {
    /// Appends received bytes; an empty buffer takes over their storage instead of copying.
    package mutating func appendRead(_ bytes: inout ByteBuffer) {
        if self.readableBytes == 0 { swap(&self, &bytes) } else { self.writeBuffer(&bytes) }
    }

    /// Returns the storage of an empty buffer for the next read.
    package mutating func returnStorage(in bytes: inout ByteBuffer) {
        guard self.readableBytes == 0 else { return }
        if bytes.storageCapacity == 0 { swap(&self, &bytes) } else { self = ByteBuffer() }
    }
}

/// Reads and writes for the last handler of a pipeline: directly on the socket if no other handler is in between.
///
/// A pipeline takes a step per handler and direction, which is useless for one handler over a plain socket. Close and
/// errors still come through the pipeline.
package enum ChannelIO {
    /// No handler is between this one and the socket.
    case socket(SocketChannel)
    /// Other handlers are in between, such as TLS.
    case pipeline(ChannelHandlerContext)

    /// Chooses the path for a handler.
    ///
    /// - Parameters:
    ///   - context: The handler's context.
    ///   - reader: Receives the bytes directly if no handler in between changes them; nil where one does, such as TLS.
    package init(_ context: ChannelHandlerContext, reader: (any SocketReader)?) {
        guard let reader, let socket = context.channel as? SocketChannel else {
            self = .pipeline(context)
            return
        }
        socket.reader = reader
        self = .socket(socket)
    }

    /// Queues bytes for the next flush.
    package func write(_ bytes: ByteBuffer) {
        switch self {
        case .socket(let socket): socket.write0(bytes, promise: nil)
        case .pipeline(let context): context.write(NIOAny(bytes), promise: nil)
        }
    }

    /// Sends queued bytes.
    package func flush() {
        switch self {
        case .socket(let socket): socket.flush0()
        case .pipeline(let context): context.flush()
        }
    }

    /// Reads once more.
    package func read() {
        switch self {
        case .socket(let socket): socket.read0()
        case .pipeline(let context): context.read()
        }
    }
}
