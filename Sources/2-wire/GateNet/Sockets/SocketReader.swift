// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Reads a socket without a pipeline in between; confined to its loop.
package protocol SocketReader: AnyObject {
    /// Takes received bytes; the storage left in `bytes` is used for the next read.
    func socketRead(_ bytes: inout ByteBuffer)
    /// All bytes of this read have been delivered.
    func socketReadComplete()
    /// Asks for the next read: call ``ChannelIO/read()`` to continue.
    func socketMayRead()
}
