// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Who reads a socket without a pipeline between; confined to its loop.
package protocol SocketReader: AnyObject {
    /// Bytes have arrived; the memory that is left in `bytes` is used for the next read.
    func socketRead(_ bytes: inout ByteBuffer)
    /// All that was read in this turn has been told.
    func socketReadComplete()
    /// The socket would read on: calls ``ChannelIO/read()`` if that is wanted.
    func socketMayRead()
}

extension ByteBuffer {
    /// Takes what was read behind what waits already; if nothing does, with its memory instead of a copy.
    package mutating func takeRead(_ bytes: inout ByteBuffer) {
        if self.readableBytes == 0 { swap(&self, &bytes) } else { self.writeBuffer(&bytes) }
    }

    /// Lets go of the memory once nothing waits in it, for the next read.
    package mutating func leaveRead(in bytes: inout ByteBuffer) {
        guard self.readableBytes == 0 else { return }
        if bytes.storageCapacity == 0 { swap(&self, &bytes) } else { self = ByteBuffer() }
    }
}

/// The way from the last handler of a pipeline to its channel: straight to the socket if no other handler has a say.
///
/// A pipeline takes a step for each handler and each direction, which for one handler over a plain socket leads nowhere
/// else. Ends and errors still come through the pipeline.
package enum ChannelIO {
    /// Nobody stands between the handler and the socket.
    case socket(SocketChannel)
    /// There are other handlers, such as TLS.
    case pipeline(ChannelHandlerContext)

    /// The line of a handler.
    ///
    /// - Parameters:
    ///   - context: The handler's place in the pipeline.
    ///   - reader: Who is told of bytes, if no handler between changes them; nil where one does, as TLS.
    package init(_ context: ChannelHandlerContext, reader: (any SocketReader)?) {
        guard let reader, let socket = context.channel as? SocketChannel else {
            self = .pipeline(context)
            return
        }
        socket.reader = reader
        self = .socket(socket)
    }

    /// Takes bytes to be sent with the next flush.
    package func write(_ bytes: ByteBuffer) {
        switch self {
        case .socket(let socket): socket.write0(bytes, promise: nil)
        case .pipeline(let context): context.write(NIOAny(bytes), promise: nil)
        }
    }

    /// Sends what was written so far.
    package func flush() {
        switch self {
        case .socket(let socket): socket.flush0()
        case .pipeline(let context): context.flush()
        }
    }

    /// Reads on.
    package func read() {
        switch self {
        case .socket(let socket): socket.read0()
        case .pipeline(let context): context.read()
        }
    }
}
