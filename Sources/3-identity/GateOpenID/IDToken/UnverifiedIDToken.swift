// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// An ID token, a logout token or an access token, as received: well formed, but not verified.
///
/// Strictly a JWS in compact form, RFC 7515 §7.1: two dots, canonical base64url, JSON objects without repeated names.
/// Header fields that bring or point at keys (`jku`, `jwk`, `x5u`, `x5c`) are never read. RFC 8725 §3.
struct UnverifiedIDToken: Sendable {
    static let maxSize = 65_536

    /// What a token is for, which its header may name in `typ`.
    ///
    /// RFC 8725 §3.11.
    enum Purpose: Sendable {
        case idToken
        /// OpenID Connect Back-Channel Logout §2.4.
        case logoutToken
        /// A token that a machine brings: of the one type that the configuration names, or as RFC 9068 §2.1 has it.
        case accessToken(type: String?)

        /// The types in short that the header may name.
        fileprivate var types: [String] {
            switch self {
            case .idToken: ["jwt"]
            case .logoutToken: ["logout+jwt", "jwt"]
            case .accessToken(let type): type.map { [$0.lowercased()] } ?? ["at+jwt", "jwt"]
            }
        }

        /// Whether the header must name one.
        fileprivate var needsType: Bool {
            guard case .accessToken(.some) = self else { return false }
            return true
        }
    }

    /// The text as it was received.
    let text: String
    /// The name of the key, at most 256 bytes.
    let keyID: String?
    /// The algorithm, one of those that this provider may use.
    let algorithm: SignatureAlgorithm
    let claims: JSON
    /// What the signature is over.
    ///
    /// RFC 7515 §5.1.
    let signingInput: [UInt8]
    let signature: [UInt8]

    /// Parses a token, or returns why it is rejected.
    static func parsed(
        _ text: String,
        _ algorithms: AlgorithmRule,
        as purpose: Purpose = .idToken
    ) -> Result<UnverifiedIDToken, TokenRejection> {
        do throws(TokenRejection) {
            return .success(try UnverifiedIDToken(text, algorithms, purpose))
        } catch {
            return .failure(error)
        }
    }

    private init(_ text: String, _ algorithms: AlgorithmRule, _ purpose: Purpose) throws(TokenRejection) {
        let detail = "it is not a signed token in compact form: header, claims and signature in base64url"
        let malformed = TokenRejection(.idTokenMalformed, "RFC 7515 §7.1", detail: detail)
        guard text.utf8.count <= UnverifiedIDToken.maxSize else {
            let detail = "it has \(text.utf8.count) bytes, expected at most \(UnverifiedIDToken.maxSize)"
            throw TokenRejection(.idTokenSize, "RFC 8725 §3", detail: detail)
        }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 5, omittingEmptySubsequences: false)
        if let refused = UnverifiedIDToken.encryption(of: parts) { throw refused }
        guard parts.count == 3, let header = UnverifiedIDToken.object(parts[0]) else { throw malformed }
        guard let claims = UnverifiedIDToken.object(parts[1]), let signature = Base64URL.decode(parts[2]) else {
            throw malformed
        }
        guard !signature.isEmpty else {
            let detail = "it has no signature, alg is \(ReceivedText.shown(header["alg"]))"
            throw TokenRejection(.idTokenUnsigned, "RFC 8725 §3.2", detail: detail)
        }
        let unknown = ["crit", "b64", "zip", "enc"].filter { header[$0] != nil }
        guard unknown.isEmpty else {
            let detail = "the header has \(unknown.joined(separator: ", ")), which is not supported"
            throw TokenRejection(.idTokenCriticalHeader, "RFC 7515 §4.1.11", detail: detail)
        }
        guard UnverifiedIDToken.isType(header["typ"], of: purpose) else {
            let expected = ReceivedText.list(purpose.types)
            let detail =
                "typ is \(ReceivedText.shown(header["typ"])), expected one of \(expected)\(purpose.needsType ? "" : " or none")"
            throw TokenRejection(.idTokenType, "RFC 8725 §3.11", detail: detail)
        }
        let algorithm = try algorithms.algorithm(of: header["alg"]).get()
        guard let keyID = UnverifiedIDToken.keyID(header["kid"]) else {
            let detail = "kid is \(ReceivedText.shown(header["kid"])), expected a text of 1 to 256 bytes"
            throw TokenRejection(.idTokenKeyID, "RFC 7515 §4.1.4", detail: detail)
        }
        self.text = text
        self.keyID = keyID.isEmpty ? nil : keyID
        self.algorithm = algorithm
        self.claims = claims
        self.signingInput = Array(bytes.prefix(parts[0].count + 1 + parts[1].count))
        self.signature = signature
    }

    /// Five parts, of which the first is a header: an encrypted token, which is not read.
    ///
    /// RFC 7516 §3.1, §9.
    private static func encryption(of parts: [ArraySlice<UInt8>]) -> TokenRejection? {
        guard parts.count == 5, let header = self.object(parts[0]) else { return nil }
        let received = "alg is \(ReceivedText.shown(header["alg"])), enc is \(ReceivedText.shown(header["enc"]))"
        let advice =
            "turn encryption off for this client at the provider (id_token_encrypted_response_alg or "
            + "userinfo_encrypted_response_alg)"
        return TokenRejection(.idTokenEncrypted, "RFC 7516 §9", detail: "it is encrypted: \(received); \(advice)")
    }

    /// The JSON object in one part of the token.
    private static func object(_ part: ArraySlice<UInt8>) -> JSON? {
        guard let bytes = Base64URL.decode(part), let json = try? JSON(parsing: bytes, depth: 32) else { return nil }
        return json.object == nil ? nil : json
    }

    /// Absent or one of the purpose, in short or in full, RFC 7515 §4.1.9: access tokens name a type of their own.
    private static func isType(_ value: JSON?, of purpose: Purpose) -> Bool {
        guard let value else { return !purpose.needsType }
        guard let name = value.string?.lowercased() else { return false }
        return purpose.types.contains { name == $0 || name == "application/\($0)" }
    }

    /// The name, empty if absent; nil if it cannot be one.
    private static func keyID(_ value: JSON?) -> String? {
        guard let value else { return "" }
        guard let id = value.string, (1...256).contains(id.utf8.count) else { return nil }
        return id
    }
}
