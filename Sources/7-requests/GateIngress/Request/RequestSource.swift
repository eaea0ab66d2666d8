// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateRuntime

/// The client connection over which requests come, or the stream of one, as decisions and apps see it; confined to its event loop.
final class RequestSource {
    /// The peer; nil if it is not known, as behind a Unix socket.
    let peer: IPAddress?
    let peerText: String
    /// Whether the peer is a trusted proxy without an IP.
    let isTrustedPeer: Bool
    /// What TLS negotiated; nil for a plain connection.
    let tls: NegotiatedTLS?
    /// Where certificates of clients come from.
    let certificates: CertificateSource

    private var runtime: RuntimeConfiguration
    /// How requests arrive, under the configuration that was adopted last.
    private(set) var downstream: ForwardedHead.Downstream
    /// The certificates that clients present under it; nil if nothing asks for any.
    private(set) var certificatePolicy: ClientCertificatePolicy?

    init(
        peer: IPAddress?,
        peerText: String,
        isTrustedPeer: Bool = false,
        tls: NegotiatedTLS?,
        listener: BindAddress? = nil,
        accepting policy: ClientCertificatePolicy? = nil,
        under runtime: RuntimeConfiguration
    ) {
        self.peer = peer
        self.peerText = peerText
        self.isTrustedPeer = isTrustedPeer
        self.tls = tls
        self.certificates = CertificateSource(listener: listener, accepted: policy, tls: tls)
        self.runtime = runtime
        self.downstream = RequestSource.downstream(peer, peerText, isTrustedPeer, isSecure: tls != nil, runtime)
        self.certificatePolicy = self.certificates.policy(in: runtime)
    }

    /// Sees the connection as another configuration does.
    func adopt(_ runtime: RuntimeConfiguration) {
        guard runtime !== self.runtime else { return }
        self.runtime = runtime
        self.downstream = RequestSource.downstream(
            self.peer,
            self.peerText,
            self.isTrustedPeer,
            isSecure: self.tls != nil,
            runtime
        )
        self.certificatePolicy = self.certificates.policy(in: runtime)
    }

    private static func downstream(
        _ peer: IPAddress?,
        _ peerText: String,
        _ isTrustedPeer: Bool,
        isSecure: Bool,
        _ runtime: RuntimeConfiguration
    ) -> ForwardedHead.Downstream {
        let isTrusted =
            peer.map { peer in runtime.front.trustedProxies.contains { $0.contains(peer) } } ?? isTrustedPeer
        return ForwardedHead.Downstream(
            peer: peer,
            peerText: peerText,
            isSecure: isSecure,
            isTrusted: isTrusted,
            trusting: isTrusted ? runtime.front.trustedProxies : [],
            marker: runtime.loopMarker.line
        )
    }
}
