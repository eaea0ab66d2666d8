// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
internal import GateCore

/// A key of a simulated provider for ID tokens, of any of the kinds in use.
///
/// RFC 7518 §3.1, RFC 8037 §3.1.
struct SigningKey: Sendable {
    /// The `alg` of its tokens.
    let algorithm: String
    /// Its `kid`.
    let id: String
    /// What is published of it, all members present.
    let published: [String: JSON]
    private let sign: @Sendable (Data) throws -> Data
    private let halfHash: @Sendable (Data) -> [UInt8]

    /// A key under its thumbprint's name unless it has one of its own.
    init(
        _ algorithm: String,
        id: String? = nil,
        _ members: [String: JSON],
        halfHash: @escaping @Sendable (Data) -> [UInt8] = { Array(SHA256.hash(data: $0).prefix(16)) },
        sign: @escaping @Sendable (Data) throws -> Data,
    ) {
        let id = id ?? Base64URL.encode(SHA256.hash(data: Data(JSON.object(members).encoded)))
        self.algorithm = algorithm
        self.id = id
        self.published = members.merging(["alg": .string(algorithm), "use": "sig", "kid": .string(id)]) { $1 }
        self.sign = sign
        self.halfHash = halfHash
    }

    /// A compact JWS over the claims.
    ///
    /// RFC 7515 §3.1.
    func token(_ claims: JSON) throws -> String {
        let header: JSON = ["alg": .string(self.algorithm), "typ": "JWT", "kid": .string(self.id)]
        let input = "\(Base64URL.encode(header.encoded)).\(Base64URL.encode(claims.encoded))"
        return "\(input).\(Base64URL.encode(try self.sign(Data(input.utf8))))"
    }

    /// The left half of the hash that belongs to the algorithm.
    ///
    /// OpenID Connect Core §3.1.3.6.
    func hash(ofAccessToken token: String) -> String {
        Base64URL.encode(self.halfHash(Data(token.utf8)))
    }
}
