// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore
internal import GateProviders

/// The headers and parameters of each call to a provider's API: the user's token, the fields of the provider type and a
/// proof if the type needs one.
///
/// RFC 6750 §2.1: the token is sent in the header, never in a URL.
struct APIAccess: Sendable {
    /// The user's access token.
    let accessToken: String
    private let fields: [(name: String, value: String)]
    private let proof: Form.Field?

    init(_ definition: ProviderDefinition, accessToken: String, secret: Secret) {
        var fields = definition.apiHeaders.map { (name: $0.name, value: $0.value) }
        if !fields.contains(where: { $0.name.lowercased() == "accept" }) { fields.append(ProviderCall.acceptJSON) }
        fields.append((name: "Authorization", value: "Bearer \(accessToken)"))
        self.fields = fields
        self.accessToken = accessToken
        switch definition.apiProof {
        case .none: self.proof = nil
        case .appSecretProof:
            self.proof = Form.Field("appsecret_proof", APIAccess.proof(of: accessToken, secret: secret))
        }
    }

    func request(
        _ address: WebURL,
        body: String? = nil,
        limit: Int = 262_144,
        timeout: Duration = .seconds(10)
    ) -> ProviderRequest {
        var headers = [ProviderCall.agent] + self.fields
        if body != nil { headers.append((name: "Content-Type", value: "application/json")) }
        return ProviderRequest(
            method: body == nil ? "GET" : "POST",
            address: self.proved(address),
            headers: headers,
            body: body.map { Array($0.utf8) },
            limit: limit,
            timeout: timeout
        )
    }

    private func proved(_ address: WebURL) -> WebURL {
        guard let proof = self.proof else { return address }
        let field = Form([proof]).encoded
        let query = address.query.map { $0.isEmpty ? field : "\($0)&\(field)" } ?? field
        return WebURL(origin: address.origin, path: address.path, query: query)
    }

    /// The HMAC-SHA256 of the token under our secret, in hexadecimal digits.
    ///
    /// https://developers.facebook.com/docs/graph-api/guides/secure-requests
    private static func proof(of token: String, secret: Secret) -> String {
        let code = secret.withBytes { bytes in
            HMAC<SHA256>.authenticationCode(for: Array(token.utf8), using: SymmetricKey(data: bytes))
        }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] }, as: UTF8.self)
    }
}
