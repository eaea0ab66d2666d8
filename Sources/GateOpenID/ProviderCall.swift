// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The requests that the code flow makes, each with its bounds.
struct ProviderCall: Sendable {
    static let redirected = Failure(.providerRedirected, "the provider answered with a redirect")
    static let agent = (name: "User-Agent", value: "gatehouse")
    static let acceptJSON = (name: "Accept", value: "application/json")

    let provider: String
    let transport: any ProviderTransport

    /// A document that anybody may read: discovery or keys.
    func document(at address: WebURL, limit: Int) async throws(Failure) -> (json: JSON, lifetime: Duration) {
        let response = try await self.get(address, [ProviderCall.acceptJSON], limit, timeout: .seconds(5))
        return (try ProviderCall.json(response, from: address), DocumentLifetime.lifetime(of: response))
    }

    /// Posts a form to an endpoint that wants to know who we are.
    ///
    /// RFC 6749 §4.1.3, RFC 9126 §2.1.
    func post(
        _ form: Form,
        to address: WebURL,
        authorization: String?
    ) async throws(Failure) -> ProviderResponse {
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
        let response = try await self.transport.response(to: request, provider: self.provider)
        try ProviderCall.check(response, to: request)
        return response
    }

    /// A userinfo response.
    enum Userinfo {
        /// Claims as JSON.
        case plain(JSON)
        /// A token in compact form, not verified.
        case signed(String)
    }

    /// What the provider says of the person whose token this is.
    ///
    /// Which of the two forms it has, the provider decides. OpenID Connect Core §5.3, RFC 6750 §2.1.
    func userinfo(at address: WebURL, accessToken: String) async throws(Failure) -> Userinfo {
        let headers = [ProviderCall.acceptJSON, (name: "Authorization", value: "Bearer \(accessToken)")]
        let response = try await self.get(address, headers, 262_144, timeout: .seconds(10))
        if response.status == 200, response.mediaType == "application/jwt" {
            return .signed(String(decoding: response.body, as: UTF8.self))
        }
        // Not an outage: the endpoint responds, with nothing about the user.
        guard !(201..<300).contains(response.status) else {
            let detail = "\(address.path) responded \(response.status), expected 200 with JSON"
            throw Failure(.providerContentType, detail)
        }
        return .plain(try ProviderCall.answer(response, from: address, accessToken: accessToken))
    }

    /// The answer of a call to the provider's API, or why the provider does not give it to this person's token.
    func answer(to call: APICall, _ access: APIAccess) async throws(Failure) -> Result<JSON, Failure> {
        let request = access.request(call.address)
        let response = try await self.transport.response(to: request, provider: self.provider)
        try ProviderCall.check(response, to: request)
        do throws(Failure) {
            return .success(try ProviderCall.answer(response, from: call.address, accessToken: access.accessToken))
        } catch {
            guard error.reason == .providerAPIRefused else { throw error }
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

    /// The JSON of a good answer about a person; a refusal, in whatever shape, is `provider.api_refused`.
    static func answer(
        _ response: ProviderResponse,
        from address: WebURL,
        accessToken: String
    ) throws(Failure) -> JSON {
        let secrets = [accessToken]
        let isLimited = response.header("x-ratelimit-remaining") == "0" || response.header("retry-after") != nil
        switch response.status {
        case 403 where isLimited: throw self.unavailable(response, address)
        case 400..<429, 430..<500:
            let problem = ProviderErrorResponse(TokenResponse.members(response), hiding: secrets)
            guard problem?.blame(at: response) != .provider else { throw self.unavailable(response, address, problem) }
            throw self.refused(
                address,
                response,
                problem ?? ProviderErrorResponse(refusedBy: response, hiding: secrets)
            )
        default:
            let json = try ProviderCall.json(response, from: address)
            // Slack and Graph-like APIs refuse with 200; a plain member `error` is for the profile to read.
            let isNested = json["error"]?.object != nil || json["ok"]?.bool == false
            guard isNested, let problem = json.object.flatMap({ ProviderErrorResponse($0, hiding: secrets) }) else {
                return json
            }
            throw self.refused(address, response, problem)
        }
    }

    private static func refused(
        _ address: WebURL,
        _ response: ProviderResponse,
        _ problem: ProviderErrorResponse?
    ) -> Failure {
        let reason = problem.map { ": \($0)" } ?? ""
        return Failure(
            .providerAPIRefused,
            "\(address.path) answered \(response.status)\(reason)"
        )
    }

    private static func unavailable(
        _ response: ProviderResponse,
        _ address: WebURL,
        _ problem: ProviderErrorResponse? = nil
    ) -> Failure {
        let reason = problem.map { ": \($0)" } ?? ""
        let detail = "\(address.path) answered \(response.status)\(reason)\(response.wish)"
        return Failure(.providerUnavailable, detail)
    }

    private func get(
        _ address: WebURL,
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
        try ProviderCall.check(response, to: request)
        return response
    }

    /// The JSON of a good answer; names may not repeat, nor values nest deeper than 32.
    private static func json(_ response: ProviderResponse, from address: WebURL) throws(Failure) -> JSON {
        guard response.status == 200 else { throw self.unavailable(response, address) }
        guard response.isJSON else {
            throw Failure(.providerContentType, "\(address.path) did not answer with JSON")
        }
        guard let json = try? JSON(parsing: response.body, depth: 32) else {
            throw Failure(.providerMalformedJSON, "\(address.path) answered with malformed JSON")
        }
        return json
    }
}

extension ProviderResponse {
    /// The type of the body without parameters, in lower case; nil if there is none.
    ///
    /// RFC 9110 §8.3.
    var mediaType: String? {
        self.header("content-type").map { $0.lowercased().prefix { $0 != ";" }.filter { $0 != " " } }
    }

    /// Whether the body says that it is JSON.
    var isJSON: Bool {
        self.mediaType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false
    }
}
