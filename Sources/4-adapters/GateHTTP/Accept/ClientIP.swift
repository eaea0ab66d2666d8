// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import NIOCore

/// The client at the other end of a connection.
package struct ClientIP: Sendable {
    /// The IP address; nil if it has none.
    package let ip: IPAddress?
    /// The IP address as text, for forwarding.
    package let text: String
    /// Whether the peer is a trusted proxy although it has no IP: it came over a Unix socket that trusts its peers.
    package var isTrusted = false
}

extension ClientIP {
    /// A client that a load balancer has named.
    init(_ address: IPAddress) {
        let packed = ByteBuffer(bytes: address.isIPv4 ? address.bytes.suffix(4) : address.bytes[...])
        let text = (try? SocketAddress(packedIPAddress: packed, port: 0))?.ipAddress
        self.init(ip: address, text: text ?? "unknown")
    }
}
