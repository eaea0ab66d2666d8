// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What the token endpoint gave for a code.
///
/// RFC 6749 §5.1.
struct TokenResponse: Sendable {
    /// The token for userinfo and API calls; visible ASCII, so that it fits into a header line.
    let accessToken: String
    /// The ID token, not verified.
    let idToken: String?
    /// How long the access token lives, if the provider says so.
    let lifetime: Duration?

    /// Reads a response: JSON or a form, with an error in it whatever the status says.
    init(_ response: ProviderResponse) throws(Failure) {
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        let members = TokenResponse.members(response)
        if let error = members["error"]?.string {
            throw TokenResponse.failure(error, description: members["error_description"]?.string)
        }
        guard response.status == 200 else {
            let isDown = response.status >= 500 || response.status == 429
            throw isDown
                ? Failure(.providerFailed, "provider.unavailable", "the token endpoint answered \(response.status)")
                : Failure(.providerFailed, "openid.token_response", "the token endpoint answered \(response.status)")
        }
        guard let token = members["access_token"]?.string, (1...16_384).contains(token.utf8.count),
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw Failure(.providerFailed, "openid.token_response", "no usable access token") }
        guard members["token_type"]?.string?.lowercased() == "bearer" else {
            throw Failure(.providerFailed, "openid.token_type", "the token is no bearer token")
        }
        self.accessToken = token
        self.idToken = members["id_token"]?.string
        self.lifetime = TokenResponse.lifetime(members["expires_in"])
    }

    /// The members of the body: of a JSON object, or of a form without repeated names.
    private static func members(_ response: ProviderResponse) -> [String: JSON] {
        let first = response.body.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        if first == UInt8(ascii: "{") {
            return (try? JSON(parsing: response.body, depth: 32))?.object ?? [:]
        }
        guard let text = String(validating: response.body, as: UTF8.self), let form = Form(encoded: text) else {
            return [:]
        }
        let pairs = form.fields.map { ($0.name, JSON.string($0.value)) }
        return Set(pairs.map(\.0)).count == pairs.count ? Dictionary(pairs) { $1 } : [:]
    }

    /// Seconds as a number or a text; anything else is as if it were absent.
    ///
    /// RFC 6749 §5.1.
    private static func lifetime(_ value: JSON?) -> Duration? {
        let seconds = value?.integer ?? value?.string.flatMap { Int64($0) }
        return seconds.flatMap { (0...315_360_000).contains($0) ? .seconds($0) : nil }
    }

    /// The code's fault, ours, or the provider's.
    ///
    /// RFC 6749 §5.2, and GitHub's own names.
    private static func failure(_ error: String, description: String?) -> Failure {
        let detail = "\(ReceivedText.quoted(error)) \(description.map { ReceivedText.quoted($0) } ?? "")"
        return switch error {
        case "invalid_grant", "bad_verification_code": Failure(.malformedRequest, "openid.code_refused", detail)
        case "server_error", "temporarily_unavailable": Failure(.providerFailed, "provider.unavailable", detail)
        case "access_denied": Failure(.forbidden, "provider.denied", detail)
        default: Failure(.providerFailed, "openid.client_refused", detail)
        }
    }
}
