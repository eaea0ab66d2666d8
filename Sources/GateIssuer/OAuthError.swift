// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// An error of the OAuth protocol, for a client.
///
/// The description is for the developer of the client: it names what is wrong and what to change, and holds no secret.
package struct OAuthError: Error, Sendable, Equatable {
    /// The values of `error`.
    package enum Code: String, Sendable, CaseIterable {
        // RFC 6749 §4.1.2.1 and §5.2
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unauthorizedClient = "unauthorized_client"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        case invalidScope = "invalid_scope"
        case accessDenied = "access_denied"
        case serverError = "server_error"
        case temporarilyUnavailable = "temporarily_unavailable"
        // OpenID Connect Core §3.1.2.6
        case loginRequired = "login_required"
        case consentRequired = "consent_required"
        case requestNotSupported = "request_not_supported"
        case requestURINotSupported = "request_uri_not_supported"
        case registrationNotSupported = "registration_not_supported"
        // RFC 9126 §2.3 and RFC 9101 §6.2
        case invalidRequestURI = "invalid_request_uri"
        // RFC 8707 §2
        case invalidTarget = "invalid_target"
        // RFC 6750 §3.1
        case invalidToken = "invalid_token"
        case insufficientScope = "insufficient_scope"
    }

    /// What is wrong, for the program.
    package let code: Code
    /// What is wrong, for its developer: printable ASCII without quotes.
    package let detail: String

    /// An error.
    package init(_ code: Code, _ detail: String) {
        self.code = code
        // RFC 6749 §5.2 allows no other characters in `error_description`.
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
