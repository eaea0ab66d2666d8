// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Where and how to listen.
package struct ListenerPlan: Sendable {
    /// The address to bind.
    package let host: String
    /// The port to bind.
    package let port: Int
    /// The certificates, the default first; empty for a plain listener.
    package let identities: [TLSIdentity]
    /// Whether HTTP/2 is offered by ALPN; never without TLS.
    package let http2: Bool
    /// The time-out of the TLS handshake, including a PROXY header.
    package var handshake = DownstreamLimits().handshake
    /// The networks of the load balancers that send a PROXY header.
    package var balancers: [CIDRRange] = []
    /// Whether it only redirects to https; never with identities.
    package var redirectsToHTTPS = false
    /// A listening socket that the parent process has opened.
    package var inherited: InheritedSocket?

    /// A plan; a listener without identities is plain.
    package init(host: String, port: Int, identities: [TLSIdentity], http2: Bool = true) {
        self.host = host
        self.port = port
        self.identities = identities
        self.http2 = http2 && !identities.isEmpty
    }
}
