// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The requests that the code flow makes, each with its bounds.
struct ProviderCall: Sendable {
    static let redirected = Failure(.providerRedirected, "the provider responded with a redirect")
    static let agent = (name: "User-Agent", value: "gatehouse")
    static let acceptJSON = (name: "Accept", value: "application/json")

    let provider: String
    let transport: any ProviderTransport

    /// A public document: discovery or keys.
    func document(
        at address: WebURL,
        limit: Int,
        endpoint: ProviderEndpoint = .discovery
    ) async throws(Failure) -> (json: JSON, lifetime: Duration) {
        let response = try await self.get(address, [ProviderCall.acceptJSON], limit, .seconds(5), endpoint)
        return (try ProviderCall.document(response, from: address), response.documentLifetime)
    }

    /// Posts a form to an endpoint that requires client authentication.
    ///
    /// RFC 6749 §4.1.3, RFC 9126 §2.1.
    func post(
        _ form: Form,
        to address: WebURL,
        authorization: String?,
        endpoint: ProviderEndpoint = .token
    ) async throws(Failure) -> ProviderResponse {
        var headers = [ProviderCall.agent, ProviderCall.acceptJSON]
        headers.append((name: "Content-Type", value: "application/x-www-form-urlencoded"))
        if let authorization { headers.append((name: "Authorization", value: authorization)) }
        var request = ProviderRequest(
            method: "POST",
            address: address,
            headers: headers,
            body: Array(form.encoded.utf8),
            limit: 262_144,
            timeout: .seconds(10)
        )
        request.endpoint = endpoint
        let response = try await self.transport.response(to: request, provider: self.provider)
        try ProviderCall.check(response, to: request)
        return response
    }

    /// The userinfo response for a token: a token that ``ProviderResponse/signedUserinfo`` returns, or claims.
    ///
    /// The provider decides which of the two forms it has. OpenID Connect Core §5.3, RFC 6750 §2.1.
    func userinfo(at address: WebURL, accessToken: String) async throws(Failure) -> ProviderResponse {
        let headers = [ProviderCall.acceptJSON, (name: "Authorization", value: "Bearer \(accessToken)")]
        return try await self.get(address, headers, 262_144, .seconds(10), .userinfo)
    }

    /// The claims of a userinfo response that is not a token.
    static func claims(
        ofUserinfo response: ProviderResponse,
        from address: WebURL,
        accessToken: String
    ) throws(Failure) -> JSON {
        // Not an outage: the endpoint responds, with nothing about the user.
        guard !(201..<300).contains(response.status) else {
            let detail = "\(address.path) responded \(response.status), expected 200 with JSON"
            throw Failure(.providerContentType, detail)
        }
        return try ProviderCall.json(response, from: address, accessToken: accessToken)
    }

    /// The JSON of a call to the provider's API, or why the provider rejects the user's token for it.
    func json(of call: APICall, _ access: APIAccess) async throws(Failure) -> Result<JSON, Failure> {
        let request = access.request(call.address)
        let response = try await self.transport.response(to: request, provider: self.provider)
        try ProviderCall.check(response, to: request)
        do throws(Failure) {
            return .success(try ProviderCall.json(response, from: call.address, accessToken: access.accessToken))
        } catch {
            guard error.isAPIRejection else { throw error }
            return .failure(error)
        }
    }

    /// Redirects are not followed, and what is over its limit is not read.
    static func check(_ response: ProviderResponse, to request: ProviderRequest) throws(Failure) {
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        guard response.body.count <= request.limit else {
            let detail = "\(request.address.path) is over \(request.limit) bytes"
            throw Failure(.providerTooLarge, detail)
        }
    }

    /// The JSON of a successful response about a user; an error in any format is `provider.api_refused`.
    static func json(
        _ response: ProviderResponse,
        from address: WebURL,
        accessToken: String
    ) throws(Failure) -> JSON {
        let secrets = [accessToken]
        let isLimited = response.header("x-ratelimit-remaining") == "0" || response.header("retry-after") != nil
        switch response.status {
        case 403 where isLimited: throw self.unavailable(response, address)
        case 400..<429, 430..<500:
            let error = ProviderErrorResponse(TokenResponse.members(response), hiding: secrets)
            guard error?.cause(at: response) != .provider else { throw self.unavailable(response, address, error) }
            throw self.rejected(
                address,
                response,
                error ?? ProviderErrorResponse(refusedBy: response, hiding: secrets)
            )
        default:
            let json = try ProviderCall.document(response, from: address)
            // Slack and Graph-like APIs reject calls with 200; a plain member `error` is a claim for the profile.
            let isNested = json["error"]?.object != nil || json["ok"]?.bool == false
            guard isNested, let error = json.object.flatMap({ ProviderErrorResponse($0, hiding: secrets) }) else {
                return json
            }
            throw self.rejected(address, response, error)
        }
    }

    private static func rejected(
        _ address: WebURL,
        _ response: ProviderResponse,
        _ error: ProviderErrorResponse?
    ) -> Failure {
        let reason = error.map { ": \($0)" } ?? ""
        let isToken = error?.rejectsToken(at: response) ?? (response.status == 401)
        return Failure(
            isToken ? .providerTokenRejected : .providerAPIRefused,
            "\(address.path) responded \(response.status)\(reason)"
        )
    }

    private static func unavailable(
        _ response: ProviderResponse,
        _ address: WebURL,
        _ error: ProviderErrorResponse? = nil
    ) -> Failure {
        let reason = error.map { ": \($0)" } ?? ""
        let detail = "\(address.path) responded \(response.status)\(reason)\(response.retryAfterNote)"
        return Failure(.providerUnavailable, detail, retryAfter: response.retryAfter)
    }

    private func get(
        _ address: WebURL,
        _ headers: [(name: String, value: String)],
        _ limit: Int,
        _ timeout: Duration,
        _ endpoint: ProviderEndpoint
    ) async throws(Failure) -> ProviderResponse {
        var request = ProviderRequest(
            method: "GET",
            address: address,
            headers: [ProviderCall.agent] + headers,
            body: nil,
            limit: limit,
            timeout: timeout
        )
        request.endpoint = endpoint
        let response = try await self.transport.response(to: request, provider: self.provider)
        try ProviderCall.check(response, to: request)
        return response
    }

    /// The JSON of a successful response; names may not repeat, nor values nest deeper than 32.
    private static func document(_ response: ProviderResponse, from address: WebURL) throws(Failure) -> JSON {
        guard response.status == 200 else { throw self.unavailable(response, address) }
        guard response.isJSON else {
            throw Failure(.providerContentType, "\(address.path) did not respond with JSON")
        }
        guard let json = try? JSON(parsing: response.body, depth: 32) else {
            throw Failure(.providerMalformedJSON, "\(address.path) responded with malformed JSON")
        }
        return json
    }
}

extension ProviderResponse {
    /// The type of the body without parameters, in lower case; nil if absent.
    ///
    /// RFC 9110 §8.3.
    var mediaType: String? {
        self.header("content-type").map { $0.lowercased().prefix { $0 != ";" }.filter { $0 != " " } }
    }

    /// The token in compact form that a userinfo response is, not verified; nil for one of claims.
    var signedUserinfo: String? {
        guard self.status == 200, self.mediaType == "application/jwt" else { return nil }
        return String(decoding: self.body, as: UTF8.self)
    }

    /// Whether the media type is JSON.
    var isJSON: Bool {
        self.mediaType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false
    }
}

extension Failure {
    /// Whether an API of the provider rejected a call, for its token or for another reason.
    var isAPIRejection: Bool { self.reason == .providerAPIRefused || self.reason == .providerTokenRejected }
}
