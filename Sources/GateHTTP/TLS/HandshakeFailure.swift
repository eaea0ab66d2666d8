// SPDX-License-Identifier: Apache-2.0

internal import NIOSSL

/// Why a TLS handshake with a client failed.
package enum HandshakeFailure: String, Sendable, CaseIterable {
    /// It took too long.
    case timeout
    /// The client closed the connection.
    case closed
    /// The client rejected it with an alert, often because it does not trust the certificate.
    case alert
    /// There is no version of TLS that both sides have.
    case version
    /// There is no cipher suite that both sides have.
    case cipher
    /// The client's bytes are not a TLS handshake, or it failed for another reason.
    case other

    /// Maps an error of the TLS library.
    init(_ error: any Error) {
        switch error as? NIOSSLError {
        case .handshakeFailed(.sslError(let stack)):
            self = stack.lazy.compactMap { HandshakeFailure($0) }.first ?? .other
        case .handshakeFailed(.zeroReturn), .handshakeFailed(.syscallError), .uncleanShutdown: self = .closed
        default: self = .other
        }
    }

    /// Maps an entry of the error queue, whose number the library has in its description only; nil for other reasons.
    ///
    /// The last twelve bits are the reason. Those from 1000 on are alerts of the peer, RFC 8446 §6, of which 70 is about the
    /// version; 184 and 240 are our own, for cipher suites and for the version.
    private init?(_ entry: BoringSSLInternalError) {
        let number = entry.description.split(separator: " ").dropFirst().first.flatMap { UInt32($0) } ?? 0
        switch number & 0xFFF {
        case 184: self = .cipher
        case 240, 1070: self = .version
        case 1000...1255: self = .alert
        default: return nil
        }
    }
}
