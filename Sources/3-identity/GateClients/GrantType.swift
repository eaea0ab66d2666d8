// SPDX-License-Identifier: Apache-2.0

/// A way in which a client gets tokens; the raw value is the `grant_type` of a token request.
package enum GrantType: String, Sendable, Hashable, CaseIterable {
    /// The code flow, RFC 6749 §4.1.
    case authorizationCode = "authorization_code"
    /// A refresh token, RFC 6749 §6.
    case refreshToken = "refresh_token"
    /// A sign-in on another device, RFC 8628 §3.4.
    case deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    /// Another token, RFC 8693 §2.1.
    case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
}
