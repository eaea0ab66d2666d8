// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateOpenID
internal import GateProviders
internal import GateSessions

/// Finds credentials that this gateway has issued in the value of `Authorization`, whatever is around them.
///
/// Apps read schemes and quotes that the gateway does not accept, so what counts is the credential and not the grammar.
package enum OwnCredential {
    /// Fewer bytes than a user name with a service token as password has in Base64.
    private static let minEncoded = 60

    /// Whether a value contains a service token, a refresh token, or a JWT of an issuer.
    ///
    /// - Parameters:
    ///   - value: The value of the field.
    ///   - issuer: The `iss` of the gateway's own tokens; nil if it issues none.
    /// - Returns: Whether it does.
    package static func isIn(_ value: some Collection<UInt8>, issuer: String?) -> Bool {
        if self.isWritten(in: value, issuer: issuer) { return true }
        // As in Basic authentication; a word with a dot is a JWT of others, as bearer tokens of apps are.
        return value.split { !self.isBase64($0) && $0 != UInt8(ascii: ".") }.contains { word in
            guard word.count >= self.minEncoded, !word.contains(UInt8(ascii: ".")), let text = self.decoded(word) else {
                return false
            }
            return self.isWritten(in: text, issuer: issuer)
        }
    }

    private static func isWritten(in text: some Collection<UInt8>, issuer: String?) -> Bool {
        // `~` is a character of tokens (RFC 6750 §2.1) and of none of ours.
        let isOurs = text.split { !self.isBase64URL($0) }.contains { word in
            let word = String(decoding: word, as: UTF8.self)
            return ServiceToken.isOne(word) || RefreshToken.isOne(word)
        }
        guard !isOurs, let issuer else { return isOurs }
        return text.split { !self.isBase64URL($0) && $0 != UInt8(ascii: ".") }.contains { word in
            TokenIssuer.claimedIssuer(of: String(decoding: word, as: UTF8.self)).map { isIdentical($0, issuer) } == true
        }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: ".") && byte != UInt8(ascii: "~")
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        self.isBase64URL(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }

    /// The bytes that a word encodes, in either alphabet and without its padding.
    private static func decoded(_ word: some Collection<UInt8>) -> Data? {
        let standard = word.map { byte in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4)
        return Data(base64Encoded: Data(standard + padding))
    }
}
