// SPDX-License-Identifier: Apache-2.0

/// A decision in the words of the access log, and of the cases that `gatehouse policy test` reads.
package enum PolicyWord: String, Sendable, CaseIterable {
    /// Forwarded without a session.
    case open = "public"
    /// Forwarded for the user.
    case allowed
    /// The user must sign in, authenticate again or use a passkey.
    case signIn = "sign_in"
    /// The user may not access the app.
    case denied

    package init(_ decision: Decision) {
        switch decision {
        case .openToAll, .openToNetwork: self = .open
        case .admitted: self = .allowed
        case .signInNeeded, .authenticationNeeded, .passkeyNeeded: self = .signIn
        case .scopesNeeded, .denied: self = .denied
        }
    }
}

extension Decision {
    /// Why it is the decision, in one sentence for operators.
    package func reason(hasSession: Bool) -> String {
        switch self {
        case .openToAll: "a public rule covers the request"
        case .openToNetwork: "a public rule covers the request for the client's network; the app gets anonymous@network"
        case .admitted(nil): "'allow: signed_in' admits every user of the accepted providers"
        case .admitted: "an entry of 'allow' matches"
        case .signInNeeded where !hasSession: "there is no session"
        case .signInNeeded:
            "the app needs a new sign-in, with a provider that it accepts or for a group that was not kept"
        case .authenticationNeeded: "the rule asks for a more recent authentication"
        case .passkeyNeeded: "the rule asks for a passkey"
        case .scopesNeeded: "the rule asks for a scope that the access token lacks"
        case .denied(.notAllowed): "no entry of 'allow' matches"
        case .denied(.emailNotAuthoritative): "'allow' asks for a provider that is the authority for the email address"
        case .denied(.certificateNeeded): "'allow' asks for \(UnknownFact.certificate.words)"
        case .denied(.denyEntry): "an entry of 'deny' matches"
        case .denied(.unknown(let fact, _)): "an entry of 'deny' asks for \(fact.words)"
        case .denied(.ambiguousPath): "a server could read the path as one for which another decision holds"
        }
    }
}
