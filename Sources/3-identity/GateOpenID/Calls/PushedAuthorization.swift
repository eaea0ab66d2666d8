// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The response to a pushed authorization request.
///
/// RFC 9126 §2.2. How long the reference lives is not looked at: the browser is sent on at once.
struct PushedAuthorization: Sendable {
    private static let maximumReference = 2048

    /// The reference that the browser carries; visible ASCII.
    let requestURI: String

    /// Parses a response: 201, or 200 from less strict providers.
    init(_ response: ProviderResponse, advice: ClientAdvice) throws(Failure) {
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        let members = TokenResponse.members(response)
        let secrets = advice.secrets
        if let error = ProviderErrorResponse(members, hiding: secrets)
            ?? ProviderErrorResponse(refusedBy: response, hiding: secrets)
        {
            throw PushedAuthorization.failure(error, response, advice)
        }
        guard response.status == 201 || response.status == 200 else {
            let detail = "the response to the pushed request is \(response.status)\(response.retryAfterNote)"
            let isDown = response.status >= 500 || response.status == 429
            throw isDown
                ? Failure(.providerUnavailable, detail)
                : Failure(.providerRefused, detail)
        }
        guard let reference = members["request_uri"]?.string,
            (1...PushedAuthorization.maximumReference).contains(reference.utf8.count),
            reference.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Failure(.openIDPushedAuthorization, "the response has no usable request_uri")
        }
        self.requestURI = reference
    }

    /// RFC 9126 §2.3.
    private static func failure(
        _ error: ProviderErrorResponse,
        _ response: ProviderResponse,
        _ advice: ClientAdvice
    ) -> Failure {
        let detail = "the pushed request: \(error)"
        switch error.cause(at: response) {
        case .provider:
            return Failure(.providerUnavailable, detail + response.retryAfterNote)
        case .client where error.errorCode == "invalid_client" || response.status == 401:
            return Failure(.openIDClientRefused, "\(detail); \(advice.text(for: error.errorCode))")
        case .client, .code, .user:
            return Failure(.providerRefused, "\(detail); \(advice.text(for: error.errorCode))")
        }
    }
}
