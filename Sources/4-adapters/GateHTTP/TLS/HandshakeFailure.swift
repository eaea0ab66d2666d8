// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import NIOCore
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
    /// There is no cipher suite, key exchange group or signature algorithm that both sides have.
    case cipher
    /// The client's bytes are not a TLS handshake, or it failed for another reason.
    case other

    /// Maps an error of the TLS library or of the socket.
    init(_ error: any Error) {
        if let code = (error as? IOError)?.errnoCode, code == ECONNRESET || code == EPIPE {
            self = .closed
            return
        }
        switch error as? NIOSSLError {
        case .handshakeFailed(.sslError([.eofDuringHandshake])): self = .closed
        case .handshakeFailed(.sslError(let stack)):
            self = stack.lazy.compactMap { HandshakeFailure($0) }.first ?? .other
        case .handshakeFailed(.zeroReturn), .handshakeFailed(.syscallError), .uncleanShutdown: self = .closed
        default: self = .other
        }
    }

    /// Maps an entry of the error queue, whose number the library has in its description only; nil for other reasons.
    ///
    /// The last twelve bits are the reason. Those from 1000 on are alerts of the peer, RFC 8446 §6, of which 70 is about the
    /// version. The others are our own: 240 for the version; 184, 228, 243, 253 and 266 for cipher suites, the kind of
    /// certificate that they need, its curve, signatures and groups; 112 is a record too short to be encrypted: OpenSSL
    /// sends its alert about a TLS 1.3 certificate in plain text.
    private init?(_ entry: BoringSSLInternalError) {
        let number = entry.description.split(separator: " ").dropFirst().first.flatMap { UInt32($0) } ?? 0
        switch number & 0xFFF {
        case 184, 228, 243, 253, 266: self = .cipher
        case 240, 1070: self = .version
        case 112, 1000...1255: self = .alert
        default: return nil
        }
    }
}
