// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// Where and how to listen.
package struct ListenerPlan: Sendable {
    package let address: BindAddress
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
    /// The permissions of the file of a Unix socket.
    package var socketMode: UInt32 = 0o600
    /// Whether the processes that connect to a Unix socket are trusted proxies.
    package var trustsPeers = false
    /// The certificates that clients present; nil if they are not asked for any.
    package var clientCertificates: ClientCertificatePolicy?
    /// A listening socket that the parent process has opened.
    package var inherited: InheritedSocket?

    /// A plan; a listener without identities is plain.
    package init(_ address: BindAddress, identities: [TLSIdentity], http2: Bool = true) {
        self.address = address
        self.identities = identities
        self.http2 = http2 && !identities.isEmpty
    }
}
