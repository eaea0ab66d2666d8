// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
internal import NIOSSL

/// The certificates of a handshake as they were built and verified, not as they were sent; confined to one event loop.
///
/// The check of the chain names each certificate of the chain that it has built once it has found it good, the root
/// first. Whatever else the peer sends is never named. A single bad certificate ends the handshake.
final class BuiltChain {
    private var rootFirst: [NIOSSLCertificate] = []

    /// The chain, the peer's own certificate first; nil if one of them cannot be read.
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

/// The hashes of a chain that was built and verified; the peer's own certificate first.
package struct VerifiedChain: Sendable, Hashable {
    /// Of each public key.
    package var publicKeys: [Pin]
    /// Of the peer's own certificate.
    package var certificate: Pin?

    /// A chain of which these are the hashes.
    package init(publicKeys: [Pin], certificate: Pin?) {
        self.publicKeys = publicKeys
        self.certificate = certificate
    }

    /// The hashes of a chain; nil if it is empty or a part cannot be read.
    init?(_ chain: [NIOSSLCertificate]) {
        guard let leaf = chain.first, let der = try? leaf.toDERBytes() else { return nil }
        self.publicKeys = chain.compactMap { certificate in
            guard let key = try? certificate.extractPublicKey().toSPKIBytes() else { return nil }
            return Pin(Array(SHA256.hash(data: key)))
        }
        guard self.publicKeys.count == chain.count else { return nil }
        self.certificate = Pin(Array(SHA256.hash(data: der)))
    }

    /// Whether a pin of the set is in the chain.
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

/// Makes handlers that name the certificates of the chain that was built.
private protocol ChainNaming {
    static func handler(
        context: NIOSSLContext,
        serverName: String?,
        naming: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler
}

extension BuiltChain: ChainNaming {
    /// The handler of a connection whose chain is wanted.
    func handler(context: NIOSSLContext, serverName: String?) throws -> NIOSSLClientHandler {
        let maker: any ChainNaming.Type = BuiltChain.self
        return try maker.handler(context: context, serverName: serverName) { self.note($0, $1) }
    }

    // The newer callbacks replace the whole check and are shown what the peer sent; this is the only one that is
    // shown what the check has built.
    @available(*, deprecated, message: "called through the protocol only")
    static func handler(
        context: NIOSSLContext,
        serverName: String?,
        naming: @escaping NIOSSLVerificationCallback
    ) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: serverName, verificationCallback: naming)
    }
}
