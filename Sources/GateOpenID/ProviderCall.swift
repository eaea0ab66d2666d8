// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The requests that the code flow makes, each with its bounds.
struct ProviderCall: Sendable {
    static let redirected = Failure(.providerFailed, "provider.redirected", "the provider answered with a redirect")
    private static let agent = (name: "User-Agent", value: "gatehouse")
    private static let acceptJSON = (name: "Accept", value: "application/json")

    let provider: String
    let transport: any ProviderTransport

    /// A document that anybody may read: discovery or keys.
    func document(at address: WebAddress, limit: Int) async throws(Failure) -> (json: JSON, lifetime: Duration) {
        let response = try await self.get(address, [ProviderCall.acceptJSON], limit, timeout: .seconds(5))
        return (try ProviderCall.json(response, from: address), Freshness.lifetime(of: response))
    }

    /// Redeems a code.
    ///
    /// RFC 6749 §4.1.3, RFC 7636 §4.5.
    func token(
        at address: WebAddress,
        form: Form,
        authorization: String?
    ) async throws(Failure) -> TokenResponse {
        var headers = [ProviderCall.agent, ProviderCall.acceptJSON]
        headers.append((name: "Content-Type", value: "application/x-www-form-urlencoded"))
        if let authorization { headers.append((name: "Authorization", value: authorization)) }
        let request = ProviderRequest(
            method: "POST",
            address: address,
            headers: headers,
            body: Array(form.encoded.utf8),
            limit: 262_144,
            timeout: .seconds(10)
        )
        return try TokenResponse(try await self.transport.response(to: request, provider: self.provider))
    }

    /// What the provider says of the person whose token this is.
    ///
    /// OpenID Connect Core §5.3, RFC 6750 §2.1.
    func userinfo(at address: WebAddress, accessToken: String) async throws(Failure) -> JSON {
        let headers = [ProviderCall.acceptJSON, (name: "Authorization", value: "Bearer \(accessToken)")]
        let response = try await self.get(address, headers, 262_144, timeout: .seconds(10))
        return try ProviderCall.json(response, from: address)
    }

    /// The answer of a call to the provider's API; nil if the person's token may not make it and need not.
    func answer(
        to call: APICall,
        fields: [Form.Field],
        accessToken: String
    ) async throws(Failure) -> JSON? {
        let headers =
            fields.map { (name: $0.name, value: $0.value) }
            + [(name: "Authorization", value: "Bearer \(accessToken)")]
        let response = try await self.get(call.address, headers, 262_144, timeout: .seconds(10))
        if !call.isRequired, response.status == 403 || response.status == 404 { return nil }
        return try ProviderCall.json(response, from: call.address)
    }

    private func get(
        _ address: WebAddress,
        _ headers: [(name: String, value: String)],
        _ limit: Int,
        timeout: Duration
    ) async throws(Failure) -> ProviderResponse {
        let request = ProviderRequest(
            method: "GET",
            address: address,
            headers: [ProviderCall.agent] + headers,
            body: nil,
            limit: limit,
            timeout: timeout
        )
        let response = try await self.transport.response(to: request, provider: self.provider)
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        guard response.body.count <= limit else {
            throw Failure(.providerFailed, "provider.too_large", "\(address.path) is over \(limit) bytes")
        }
        return response
    }

    /// The JSON of a good answer; names may not repeat, nor values nest deeper than 32.
    private static func json(_ response: ProviderResponse, from address: WebAddress) throws(Failure) -> JSON {
        guard response.status == 200 else {
            throw Failure(.providerFailed, "provider.unavailable", "\(address.path) answered \(response.status)")
        }
        let type = response.header("content-type")?.lowercased().prefix { $0 != ";" }.filter { $0 != " " }
        guard let type, type == "application/json" || type.hasSuffix("+json") else {
            throw Failure(.providerFailed, "provider.content_type", "\(address.path) did not answer with JSON")
        }
        guard let json = try? JSON(parsing: response.body, depth: 32) else {
            throw Failure(.providerFailed, "provider.malformed_json", "\(address.path) answered with malformed JSON")
        }
        return json
    }
}
