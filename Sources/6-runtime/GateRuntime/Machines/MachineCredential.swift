// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GateProviders
package import GateWire

/// A token that a request brings instead of a session.
package struct MachineCredential: Sendable {
    /// SHA-256 of the token.
    package let hash: [UInt8]
    /// The token.
    package let text: String
    /// Whether browsers may send it by themselves, as they do with a password of Basic authentication.
    package let isAmbient: Bool

    /// What `Authorization` holds.
    package enum Field: Sendable {
        /// No token that could be ours: nothing, or what the app itself asks for.
        case none
        case token(MachineCredential)
        /// A field that two servers may read differently.
        case malformed(String)
    }

    /// Reads the token of a request.
    ///
    /// RFC 6750 §2.1, RFC 7617 §2: spaces after the scheme (a second field is rejected with the head), and for `Bearer` only the characters of a token.
    /// A password is a token only with the prefix of service tokens; others are the app's.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - takesBasic: Whether service tokens are accepted as a password.
    /// - Returns: What is there.
    package static func field(of request: RequestHead, takesBasic: Bool) -> Field {
        guard let field = request.message.first(.authorization) else { return .none }
        let value = request.message.text(field.valueRange)
        let scheme = value.prefix { $0 != " " && $0 != "\t" && $0 != "," }.lowercased()
        let rest = value.dropFirst(scheme.count)
        switch scheme {
        case "bearer":
            let token = rest.drop { $0 == " " }
            guard rest.first == " ", self.isToken(token) else {
                return .malformed("'Authorization' is not 'Bearer', a space and a token")
            }
            return .token(MachineCredential(String(token), isAmbient: false))
        case "basic" where takesBasic:
            guard let token = self.token(inBasic: rest) else { return .none }
            return .token(MachineCredential(token, isAmbient: true))
        default: return .none
        }
    }

    private init(_ text: String, isAmbient: Bool) {
        self.text = text
        self.hash = ServiceToken.hash(of: text)
        self.isAmbient = isAmbient
    }

    /// The maximum size of a token that is exchanged, in bytes: what a request head could hold.
    static let maxSize = 16_384

    /// `b64token` of RFC 6750 §2.1.
    static func isToken(_ text: Substring) -> Bool {
        let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let isBody = body.allSatisfy { byte in
            PercentEncoding.isUnreserved(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
        }
        return !body.isEmpty && isBody && text.utf8.dropFirst(body.count).allSatisfy { $0 == UInt8(ascii: "=") }
    }

    /// The service token in the credentials of Basic authentication: the password, or the user name with any password, since
    /// some clients take one of the two only.
    private static func token(inBasic value: Substring) -> String? {
        let encoded = value.drop { $0 == " " }
        guard encoded.utf8.count <= 1024, let bytes = Data(base64Encoded: String(encoded)),
            let pair = String(validating: bytes, as: UTF8.self), let colon = pair.firstIndex(of: ":")
        else { return nil }
        let parts = [pair[pair.index(after: colon)...], pair[..<colon]]
        return parts.first { ServiceToken.isOne($0) }.map(String.init)
    }
}
