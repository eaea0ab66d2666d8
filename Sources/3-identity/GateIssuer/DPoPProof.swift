// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore
internal import GateOpenID
internal import GateProviders

/// A proof that the sender of a request has the key to which a token is, or is to be, bound.
///
/// RFC 9449 §4.2 and §4.3.
package struct DPoPProof: Sendable, Hashable {
    package static let algorithms = ["ES256", "EdDSA"]
    /// The same as a parameter of a challenge, RFC 9449 §5.1.
    package static let algorithmList = "algs=\"\(algorithms.joined(separator: " "))\""
    /// How old a proof may be.
    static let maxAge = Duration.seconds(60)
    /// How far the clock of a client may be ahead.
    static let maxAhead = Duration.seconds(10)
    private static let maxBytes = 4096
    private static let maxID = 256
    /// The members of private and symmetric keys: RFC 7518 §6.
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// The request that a proof is for.
    package struct Target: Sendable {
        let method: String
        /// Its URL, without a query.
        let url: String
        /// The access token in the request; nil at the token endpoint.
        let accessToken: [UInt8]?

        package init(method: String, url: String, accessToken: [UInt8]? = nil) {
            (self.method, self.url, self.accessToken) = (method, url, accessToken)
        }
    }

    /// The thumbprint of the key, RFC 7638.
    package let keyThumbprint: String
    /// A hash of the key and the id of the proof, the same for each use of it.
    let id: ID

    /// Sixteen bytes of a hash.
    struct ID: Sendable, Hashable {
        let high: UInt64
        let low: UInt64

        init(_ hash: SHA256.Digest) {
            let bytes = Array(hash)
            self.high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
            self.low = bytes[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    /// Verifies a proof; whether it was used before is for ``ProofReplays`` to know.
    ///
    /// - Parameters:
    ///   - text: The value of the header `DPoP`.
    ///   - target: The request.
    ///   - now: The time.
    /// - Throws: `invalid_dpop_proof`.
    package init(_ text: some Collection<UInt8>, for target: Target, now: Instant) throws(OAuthError) {
        guard text.count <= DPoPProof.maxBytes else {
            throw DPoPProof.invalid("it has over \(DPoPProof.maxBytes) bytes")
        }
        let bytes = Array(text)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let header = DPoPProof.object(parts[0], depth: 2),
            let claims = DPoPProof.object(parts[1], depth: 3), let signature = Base64URL.decode(parts[2])
        else { throw DPoPProof.invalid("there must be exactly one, a JWT") }
        guard isIdentical(header["typ"]?.string ?? "", "dpop+jwt"), header["crit"] == nil else {
            throw DPoPProof.invalid("'typ' must be 'dpop+jwt', without 'crit'")
        }
        guard let name = header["alg"]?.string, DPoPProof.algorithms.contains(where: { isIdentical($0, name) }),
            let algorithm = SignatureAlgorithm(rawValue: name)
        else { throw DPoPProof.invalid("'alg' must be \(DPoPProof.algorithms.joined(separator: " or "))") }
        guard let jwk = header["jwk"], jwk.object?.keys.contains(where: DPoPProof.privateMembers.contains) == false,
            let key = JSONWebKey(jwk), let thumbprint = DPoPProof.thumbprint(of: jwk)
        else { throw DPoPProof.invalid("'jwk' must be a public key") }
        let signed = bytes[..<(parts[0].count + 1 + parts[1].count)]
        guard key.verifies(signature, over: Array(signed), as: algorithm) else {
            throw DPoPProof.invalid("the signature is not that of 'jwk'")
        }
        try DPoPProof.check(claims, target, now: now)
        guard let id = claims["jti"]?.string, (1...DPoPProof.maxID).contains(id.utf8.count) else {
            throw DPoPProof.invalid("'jti' must have 1 to \(DPoPProof.maxID) bytes")
        }
        self.keyThumbprint = thumbprint
        self.id = ID(SHA256.hash(data: Array("\(thumbprint)/\(id)".utf8)))
    }

    private static func check(_ claims: JSON, _ target: Target, now: Instant) throws(OAuthError) {
        guard let method = claims["htm"]?.string, isIdentical(method, target.method) else {
            throw self.invalid("'htm' must be \(target.method)")
        }
        let url = claims["htu"]?.string.map { String($0.prefix { $0 != "?" && $0 != "#" }) }
        guard let url, isIdentical(self.normalized(url), self.normalized(target.url)) else {
            throw self.invalid("'htu' must be \(target.url)")
        }
        guard let issued = claims["iat"]?.numericDate, now.since(issued) <= self.maxAge,
            issued.since(now) <= self.maxAhead
        else {
            throw self.invalid(
                "'iat' must be at most \(self.maxAge.wholeSeconds) s ago, by the clock of the gateway"
            )
        }
        let hash = target.accessToken.map { Base64URL.encode(SHA256.hash(data: $0)) }
        guard let hash else { return }
        guard let found = claims["ath"]?.string, isIdentical(found, hash) else {
            throw self.invalid("'ath' must be the hash of the access token")
        }
    }

    /// A URL in the form in which RFC 9449 §4.3 compares it.
    ///
    /// Letter case of scheme, host and escapes, the port of the scheme, escapes of
    /// what needs none, and dot segments do not matter. RFC 3986 §6.2.2 and §6.2.3.
    private static func normalized(_ text: String) -> String {
        guard let url = WebURL(text) else { return text }
        var segments: [String] = []
        let parts = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            self.unescaped($0)
        }
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { segments.append("") }
            case "..":
                _ = segments.popLast()
                if isLast { segments.append("") }
            default: segments.append(part)
            }
        }
        return "\(url.origin)/\(segments.joined(separator: "/"))"
    }

    /// A text without escapes of unreserved characters; the others with capital digits.
    private static func unescaped(_ text: some StringProtocol) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var position = 0
        while position < bytes.count {
            guard let value = PercentEncoding.escaped(at: position, in: bytes) else {
                result.append(bytes[position])
                position += 1
                continue
            }
            let escape = bytes[position..<position + 3]
            result +=
                PercentEncoding.isUnreserved(value)
                ? [value] : Array(String(decoding: escape, as: UTF8.self).uppercased().utf8)
            position += 3
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// RFC 7638 §3.2, RFC 8037 §2: the members that make the key, sorted, their bytes in canonical base64url.
    private static func thumbprint(of jwk: JSON) -> String? {
        func coordinate(_ name: String) -> JSON? {
            jwk[name]?.string.flatMap { Base64URL.decode($0) }.map { .string(Base64URL.encode($0)) }
        }
        guard let kty = jwk["kty"], let crv = jwk["crv"], let x = coordinate("x") else { return nil }
        var members: [String: JSON] = ["kty": kty, "crv": crv, "x": x]
        if kty == "EC" { members["y"] = coordinate("y") }
        return Base64URL.encode(SHA256.hash(data: JSON.object(members).encoded))
    }

    private static func object(_ part: ArraySlice<UInt8>, depth: Int) -> JSON? {
        // What is not JSON cannot be a proof.
        guard let plain = Base64URL.decode(part), let json = try? JSON(parsing: plain, depth: depth), json.object != nil
        else { return nil }
        return json
    }

    package static func invalid(_ why: String) -> OAuthError {
        OAuthError(.invalidDPoPProof, "the header DPoP: \(why)")
    }

    /// Whether a text can be the thumbprint of a key.
    static func isThumbprint(_ text: String) -> Bool { Base64URL.decode(text)?.count == 32 }
}
