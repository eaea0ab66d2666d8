// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// An error of the OAuth protocol, for a client.
///
/// The description is for the developer of the client: it names what is wrong and what to change, and holds no secret.
package struct OAuthError: Error, Sendable, Equatable {
    /// The values of `error`: RFC 6749 §4.1.2.1 and §5.2, OpenID Connect Core §3.1.2.6, RFC 9126 §2.3, RFC 8707 §2, RFC 6750 §3.1,
    /// RFC 8628 §3.5, RFC 9449 §5.
    package enum Code: String, Sendable, CaseIterable {
        /// A parameter is missing, repeated or malformed.
        case invalidRequest = "invalid_request"
        /// The client is unknown or did not prove to be itself.
        case invalidClient = "invalid_client"
        /// A code or refresh token is not valid for the client.
        case invalidGrant = "invalid_grant"
        /// The client may not use this way to get tokens.
        case unauthorizedClient = "unauthorized_client"
        /// The issuer does not know this way to get tokens.
        case unsupportedGrantType = "unsupported_grant_type"
        /// Another `response_type` than `code`.
        case unsupportedResponseType = "unsupported_response_type"
        /// The scopes are malformed.
        case invalidScope = "invalid_scope"
        /// The user or the rules denied it.
        case accessDenied = "access_denied"
        /// The gateway cannot serve it.
        case serverError = "server_error"
        /// The gateway cannot serve it now.
        case temporarilyUnavailable = "temporarily_unavailable"
        /// The user has to sign in.
        case loginRequired = "login_required"
        /// The user has to do something beside the sign-in.
        case interactionRequired = "interaction_required"
        /// The user has to be asked.
        case consentRequired = "consent_required"
        case requestNotSupported = "request_not_supported"
        /// Request objects by reference are not supported.
        case requestURINotSupported = "request_uri_not_supported"
        /// Clients cannot register themselves in a request.
        case registrationNotSupported = "registration_not_supported"
        /// A pushed request is unknown or has expired.
        case invalidRequestURI = "invalid_request_uri"
        /// Tokens for this resource are not possible.
        case invalidTarget = "invalid_target"
        /// A redirect URI cannot be registered, RFC 7591 §3.2.2.
        case invalidRedirectURI = "invalid_redirect_uri"
        /// Other metadata of a client is not accepted, RFC 7591 §3.2.2.
        case invalidClientMetadata = "invalid_client_metadata"
        /// The access token is not valid.
        case invalidToken = "invalid_token"
        /// The access token has not the scope.
        case insufficientScope = "insufficient_scope"
        /// The user has not decided about the device yet.
        case authorizationPending = "authorization_pending"
        /// The device asks too often.
        case slowDown = "slow_down"
        /// The code of the device has expired.
        case expiredToken = "expired_token"
        /// The proof of a key is missing or not valid.
        case invalidDPoPProof = "invalid_dpop_proof"
    }

    /// What is wrong, for the program.
    package let code: Code
    /// What is wrong, for its developer: printable ASCII without quotes.
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = String(
            decoding: detail.utf8.prefix(300).map { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "'")
                case 0x20...0x7E: byte
                default: UInt8(ascii: "?")
                }
            },
            as: UTF8.self
        )
    }

    /// The same for the operator: which client it is about, by its key in the file if it has one.
    package func detail(for client: String?, isOpen: Bool) -> String {
        let error = "\(self.code.rawValue): \(self.detail)"
        guard let client else { return error }
        let name = PrintableText.escaped(client, limit: 100)
        return isOpen ? "the client '\(name)' got \(error)" : "clients.\(name) got \(error)"
    }

    /// The status of a response that is not a redirect.
    ///
    /// RFC 6749 §5.2.
    package var status: Int {
        switch self.code {
        case .invalidClient, .invalidToken: 401
        case .insufficientScope: 403
        case .serverError: 500
        case .temporarilyUnavailable: 503
        default: 400
        }
    }

    /// The response body.
    package var json: JSON { ["error": .string(self.code.rawValue), "error_description": .string(self.detail)] }
}
