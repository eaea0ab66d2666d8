// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
internal import NIOSSL

/// The certificate chain of a handshake as it was built and verified, not as the peer sent it; confined to one event
/// loop.
///
/// The verification reports each certificate of the built chain once it is verified, the root first. Other certificates
/// that the peer sends are never reported. A single bad certificate ends the handshake.
final class BuiltChain {
    private var rootFirst: [NIOSSLCertificate] = []

    /// The chain, the peer's own certificate first; nil if a certificate cannot be read.
    var certificates: VerifiedChain? { VerifiedChain(self.rootFirst.reversed()) }

    private func note(
        _ result: NIOSSLVerificationResult,
        _ certificate: NIOSSLCertificate
    ) -> NIOSSLVerificationResult {
        guard result == .certificateVerified else { return .failed }
        self.rootFirst.append(certificate)
        return .certificateVerified
    }
}

/// The hashes of a verified chain; the peer's own certificate first.
package struct VerifiedChain: Sendable, Hashable {
    /// The hashes of the public keys.
    package var publicKeys: [Pin]
    /// The hash of the peer's own certificate.
    package var certificate: Pin?

    /// A chain with these hashes.
    package init(publicKeys: [Pin], certificate: Pin?) {
        self.publicKeys = publicKeys
        self.certificate = certificate
    }

    /// The hashes of a chain; nil if it is empty or a certificate cannot be read.
    init?(_ chain: [NIOSSLCertificate]) {
        guard let leaf = chain.first, let der = try? leaf.toDERBytes() else { return nil }
        self.publicKeys = chain.compactMap { certificate in
            guard let key = try? certificate.extractPublicKey().toSPKIBytes() else { return nil }
            return Pin(Array(SHA256.hash(data: key)))
        }
        guard self.publicKeys.count == chain.count else { return nil }
        self.certificate = Pin(Array(SHA256.hash(data: der)))
    }

    /// Whether the chain matches a pin of the set.
    ///
    /// RFC 7469 §2.6.
    package func matches(_ set: PinSet) -> Bool {
        switch set.match {
        case .publicKey: self.publicKeys.first.map(set.pins.contains) ?? false
        case .certificate: self.certificate.map(set.pins.contains) ?? false
        case .chain: self.publicKeys.contains(where: set.pins.contains)
        }
    }
}

/// Creates handlers with a callback for each certificate of the built chain.
private protocol ChainNaming {
    static func handler(
        context: NIOSSLContext,
        serverName: String?,
        naming: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler
}

extension BuiltChain: ChainNaming {
    /// The TLS handler of a connection whose chain is needed.
    func handler(context: NIOSSLContext, serverName: String?) throws -> NIOSSLClientHandler {
        let maker: any ChainNaming.Type = BuiltChain.self
        return try maker.handler(context: context, serverName: serverName) { self.note($0, $1) }
    }

    // The newer callbacks replace the whole verification and get the certificates that the peer sent; only this one
    // gets the chain that was built.
    @available(*, deprecated, message: "called through the protocol only")
    static func handler(
        context: NIOSSLContext,
        serverName: String?,
        naming: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: serverName, verificationCallback: naming)
    }
}
