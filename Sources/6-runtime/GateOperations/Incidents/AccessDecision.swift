// SPDX-License-Identifier: Apache-2.0

/// What the gateway has decided about a request.
package enum AccessDecision: String, Sendable {
    /// The user may enter.
    case allowed
    /// The path is public.
    case open = "public"
    /// The user has to sign in first.
    case signIn = "sign_in"
    /// The user may not enter.
    case denied
    /// The request is rejected for another reason.
    case rejected
    /// The gateway responds itself.
    case endpoint
}
