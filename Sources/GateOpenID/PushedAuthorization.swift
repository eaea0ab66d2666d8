// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a provider answered to an authorization request that was sent ahead.
///
/// RFC 9126 §2.2. How long the reference lives is not looked at: the browser is sent on at once.
struct PushedAuthorization: Sendable {
    private static let maximumReference = 2048

    /// The reference that the browser carries; visible ASCII.
    let requestURI: String

    /// Reads an answer: 201, or 200 from those who take it less strictly.
    init(_ response: ProviderResponse, advice: ClientAdvice) throws(Failure) {
        guard !(300..<400).contains(response.status) else { throw ProviderCall.redirected }
        let members = TokenResponse.members(response)
        let secrets = advice.secrets
        if let problem = ProviderErrorResponse(members, hiding: secrets)
            ?? ProviderErrorResponse(refusedBy: response, hiding: secrets)
        {
            throw PushedAuthorization.failure(problem, response, advice)
        }
        guard response.status == 201 || response.status == 200 else {
            let detail = "the pushed request was answered with \(response.status)\(response.wish)"
            let isDown = response.status >= 500 || response.status == 429
            throw isDown
                ? Failure(.providerUnavailable, detail)
                : Failure(.providerRefused, detail)
        }
        guard let reference = members["request_uri"]?.string,
            (1...PushedAuthorization.maximumReference).contains(reference.utf8.count),
            reference.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw Failure(.openIDPushedAuthorization, "the answer has no usable request_uri")
        }
        self.requestURI = reference
    }

    /// RFC 9126 §2.3.
    private static func failure(
        _ problem: ProviderErrorResponse,
        _ response: ProviderResponse,
        _ advice: ClientAdvice
    ) -> Failure {
        let detail = "the pushed request: \(problem)"
        switch problem.blame(at: response) {
        case .provider:
            return Failure(.providerUnavailable, detail + response.wish)
        case .client where problem.code == "invalid_client" || response.status == 401:
            return Failure(.openIDClientRefused, "\(detail); \(advice.text(for: problem.code))")
        case .client, .code, .person:
            return Failure(.providerRefused, "\(detail); \(advice.text(for: problem.code))")
        }
    }
}
