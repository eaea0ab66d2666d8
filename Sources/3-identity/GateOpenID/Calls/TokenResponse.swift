// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What the token endpoint gave for a code.
///
/// RFC 6749 §5.1.
struct TokenResponse: Sendable {
    private static let maximumScopes = 256

    /// The token for userinfo and API calls; visible ASCII, so that it fits into a header line.
    let accessToken: String
    /// The ID token, not verified.
    let idToken: String?
    /// How long the access token lives, if the provider reports it.
    let lifetime: Duration?
    /// The scopes that were granted, if the provider reports it.
    let scopes: [String]?
    /// The refresh token, if there is one that can be kept.
    let refreshToken: String?

    /// The access token of an earlier response, for further calls with it.
    init(kept accessToken: String, scopes: String?) {
        self.accessToken = accessToken
        self.idToken = nil
        self.lifetime = nil
        self.scopes = scopes.map { $0.split(separator: " ").map(String.init) }
        self.refreshToken = nil
    }

    /// Parses a response, with an error in it whatever the status is.
    ///
    /// - Parameters:
    ///   - response: What the token endpoint sent.
    ///   - advice: What to look at if it rejects us.
    ///   - takesForms: Whether tokens may come as a form, and with any type; an OpenID provider sends JSON. OpenID Connect
    ///     Core §3.1.3.3.
    /// - Throws: Why there are no tokens.
    init(_ response: ProviderResponse, advice: ClientAdvice, takesForms: Bool = true) throws(Failure) {
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        let members = TokenResponse.members(response)
        let secrets = advice.secrets
        if let error = ProviderErrorResponse(members, hiding: secrets)
            ?? ProviderErrorResponse(refusedBy: response, hiding: secrets)
        {
            throw TokenResponse.failure(error, response, advice)
        }
        guard response.status == 200 else { throw TokenResponse.failure(response) }
        guard takesForms || (response.isJSON && TokenResponse.body(response).first == UInt8(ascii: "{")) else {
            let type = response.mediaType.map { ReceivedText.quoted($0) } ?? "no type"
            let detail = "the token endpoint sent \(type), expected a JSON object as application/json"
            throw Failure(.openIDTokenResponse, detail)
        }
        guard let token = members["access_token"]?.string, (1...16_000).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            let found = TokenResponse.isMarkup(response) ? "a page or XML" : "no usable access token"
            throw Failure(.openIDTokenResponse, "the token endpoint responded with \(found)")
        }
        guard members["token_type"]?.string?.lowercased() == "bearer" else {
            throw Failure(.openIDTokenType, "the token is not a bearer token")
        }
        self.accessToken = token
        self.idToken = members["id_token"]?.string
        self.lifetime = TokenResponse.lifetime(members["expires_in"])
        self.scopes = TokenResponse.scopes(members["scope"])
        self.refreshToken = members["refresh_token"]?.string.flatMap { text in
            let isKept = (1...ProviderGrant.maxTokenBytes).contains(text.utf8.count)
            return isKept && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? text : nil
        }
    }

    /// The members of the body: of a JSON object, or of a form without repeated names.
    ///
    /// The format is taken from the body: the media types that providers send are not reliable.
    static func members(_ response: ProviderResponse) -> [String: JSON] {
        let body = self.body(response)
        if body.first == UInt8(ascii: "{") {
            return (try? JSON(parsing: body, depth: 32))?.object ?? [:]
        }
        guard !self.isMarkup(response), let text = String(validating: body, as: UTF8.self),
            let form = Form(encoded: text)
        else { return [:] }
        let pairs = form.fields.map { ($0.name, JSON.string($0.value)) }
        return Set(pairs.map(\.0)).count == pairs.count ? Dictionary(pairs) { $1 } : [:]
    }

    /// The body without a byte order mark and white space before it.
    private static func body(_ response: ProviderResponse) -> ArraySlice<UInt8> {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let body = response.body.starts(with: mark) ? response.body.dropFirst(mark.count) : response.body[...]
        return body.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
    }

    private static func isMarkup(_ response: ProviderResponse) -> Bool {
        self.body(response).first == UInt8(ascii: "<")
    }

    /// Seconds as a number or a text of digits; anything else, or over ten years, is as if it were absent.
    ///
    /// RFC 6749 §5.1; a fraction is cut off.
    private static func lifetime(_ value: JSON?) -> Duration? {
        let text: String? =
            switch value {
            case .number(let text)?: text
            case .string(let text)? where text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }): text
            default: nil
            }
        guard let seconds = text.flatMap(Double.init), (0...315_360_000).contains(seconds) else { return nil }
        return .seconds(Int64(saturating: seconds))
    }

    /// A text with spaces or commas, or an array of texts.
    ///
    /// RFC 6749 §3.3; the comma is GitHub's.
    private static func scopes(_ value: JSON?) -> [String]? {
        let texts = value?.array.map { $0.compactMap(\.string) } ?? value?.string.map { [$0] }
        guard let texts else { return nil }
        let scopes = texts.flatMap { $0.split { $0 == " " || $0 == "," } }.map(String.init)
        let plain = scopes.filter { scope in
            scope.utf8.count <= 256 && scope.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return Array(plain.prefix(TokenResponse.maximumScopes))
    }

    /// The failure by its cause: the code, the client or the provider.
    private static func failure(
        _ error: ProviderErrorResponse,
        _ response: ProviderResponse,
        _ advice: ClientAdvice
    ) -> Failure {
        switch error.cause(at: response) {
        case .code: Failure(.openIDCodeRefused, "\(error)")
        case .user: Failure(.providerDenied, "\(error)")
        case .provider:
            Failure(
                .providerUnavailable,
                "\(error)\(response.retryAfterNote)",
                retryAfter: response.retryAfter
            )
        case .client:
            Failure(.openIDClientRefused, "\(error); \(advice.text(for: error.errorCode))")
        }
    }

    private static func failure(_ response: ProviderResponse) -> Failure {
        let detail = "the token endpoint responded \(response.status)"
        guard response.status >= 500 || response.status == 429 else {
            return Failure(.openIDTokenResponse, detail)
        }
        return Failure(.providerUnavailable, detail + response.retryAfterNote, retryAfter: response.retryAfter)
    }
}
