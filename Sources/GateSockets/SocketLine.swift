// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Who reads a socket without a pipeline between; confined to its loop.
package protocol SocketReader: AnyObject {
    /// Bytes have arrived.
    func socketRead(_ bytes: ByteBuffer)
    /// All that was read in this turn has been told.
    func socketReadComplete()
    /// The socket would read on: calls ``SocketLine/read()`` if that is wanted.
    func socketMayRead()
}

/// The way from the last handler of a pipeline to its channel: straight to the socket if no other handler has a say.
///
/// A pipeline takes a step for each handler and each direction, which for one handler over a plain socket leads nowhere
/// else. Ends and errors still come through the pipeline.
package struct SocketLine {
    private let context: ChannelHandlerContext
    private let socket: SocketChannel?

    /// The line of a handler.
    ///
    /// - Parameters:
    ///   - context: The handler's place in the pipeline.
    ///   - reader: Who is told of bytes, if no handler between changes them; nil where one does, as TLS.
    package init(_ context: ChannelHandlerContext, reader: (any SocketReader)?) {
        self.context = context
        self.socket = reader == nil ? nil : context.channel as? SocketChannel
        self.socket?.reader = reader
    }

    /// Takes bytes to be sent with the next flush.
    package func write(_ bytes: ByteBuffer) {
        if let socket { socket.write0(bytes, promise: nil) } else { self.context.write(NIOAny(bytes), promise: nil) }
    }

    /// Sends what was written so far.
    package func flush() {
        if let socket { socket.flush0() } else { self.context.flush() }
    }

    /// Reads on.
    package func read() {
        if let socket { socket.read0() } else { self.context.read() }
    }
}
