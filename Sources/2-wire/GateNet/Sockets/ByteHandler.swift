// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A channel handler that reads and writes bytes.
package protocol ByteHandler: ChannelInboundHandler
where InboundIn == ByteBuffer, InboundOut == ByteBuffer, OutboundOut == ByteBuffer {}

/// A channel handler of bytes that sees reads and writes of other handlers too.
package protocol ByteDuplexHandler: ByteHandler, ChannelOutboundHandler where OutboundIn == ByteBuffer {}
