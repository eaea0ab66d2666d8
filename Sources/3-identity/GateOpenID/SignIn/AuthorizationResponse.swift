// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a provider returned to an open attempt of this browser; only ``RelyingParty/accept(_:of:)`` makes one.
///
/// RFC 6749 §4.1.2, RFC 9207 §2. Other parameters are ignored. Nothing shows yet that it comes from the provider.
package struct AuthorizationResponse: Sendable {
    /// The result that the provider reports.
    enum Outcome: Sendable, Equatable {
        case code(String)
        case error(String)
    }

    private static let maxUserLength = 4096

    /// The attempt that it belongs to.
    let attempt: Attempt
    let issuer: String?
    let outcome: Outcome
    /// Apple's `user` from the browser: not signed, so used for display names only.
    let extras: JSON?
    /// The provider's description of the error, truncated and escaped.
    private let description: String

    /// Parses a callback strictly, and compares it with the attempt.
    ///
    /// One with a token is rejected, because no token was requested. RFC 9700 §2.1.2.
    ///
    /// - Parameters:
    ///   - form: The parameters of the callback.
    ///   - attempt: The attempt from the cookie of the browser.
    ///   - provider: The provider whose callback it is.
    ///   - now: The time.
    /// - Throws: The first check that failed: the form, then the provider, the age and the `state` of the attempt.
    init(_ form: Form, of attempt: Attempt, with provider: String, at now: Instant) throws(Failure) {
        guard form.single("access_token") == .absent, form.single("id_token") == .absent else {
            throw Failure(.openIDTokenInCallback, "the callback carries a token")
        }
        guard let state = try AuthorizationResponse.parameter("state", of: form, limit: 512) else {
            let begun =
                form.single("setup_action") == .absent ? "" : ": it comes from installing the app at GitHub"
            throw Failure(.openIDStateMissing, "the callback has no state\(begun)")
        }
        self.attempt = attempt
        self.issuer = try AuthorizationResponse.parameter("iss", of: form, limit: 2048)
        self.outcome = try AuthorizationResponse.outcome(form)
        self.extras = AuthorizationResponse.user(form).map { ["user": $0] }
        self.description = ["error_reason", "error_subcode", "error_code", "error_description", "error_message"]
            .compactMap { form[$0] }.filter { !$0.isEmpty }.map { ReceivedText.quoted($0) }.joined(separator: " ")
        guard attempt.provider == provider else {
            throw Failure(.openIDProviderMismatch, "the attempt is with another provider")
        }
        guard now < attempt.expiry else {
            throw Failure(
                .openIDAttemptExpired,
                "the user took more than \(Attempt.lifetime.wholeSeconds) seconds at the provider"
            )
        }
        guard constantTimeEquals(state.utf8, attempt.state.utf8) else {
            throw Failure(.openIDStateMismatch, "callback does not belong to this browser")
        }
    }

    private static func outcome(_ form: Form) throws(Failure) -> Outcome {
        let code = try self.parameter("code", of: form, limit: 8192)
        let error = try self.parameter("error", of: form, limit: 256)
        switch (code, error) {
        case (let code?, nil): return .code(code)
        case (nil, let error?): return .error(error)
        // Facebook's dialog may name its own errors by a number alone.
        case (nil, nil) where form["error_code"] != nil: return .error("error_code")
        case (nil, nil), (.some, .some):
            throw Failure(.openIDCallbackMalformed, "the callback needs one of code and error")
        }
    }

    /// A parameter that must not repeat, is not empty and is visible ASCII or spaces.
    ///
    /// RFC 6749 §3.1, appendix A.
    private static func parameter(_ name: String, of form: Form, limit: Int) throws(Failure) -> String? {
        switch form.single(name) {
        case .absent: return nil
        case .repeated:
            throw Failure(.openIDRepeatedParameter, "the callback repeats \(name)")
        case .value(let value):
            let plain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            guard !value.isEmpty, value.utf8.count <= limit, plain else {
                throw Failure(.openIDParameterValue, "\(name) is empty, too long or not plain")
            }
            return value
        }
    }

    /// The JSON object that Apple sends at the first sign-in; one that cannot be parsed is ignored.
    private static func user(_ form: Form) -> JSON? {
        guard let text = form["user"], text.utf8.count <= AuthorizationResponse.maxUserLength else { return nil }
        guard let json = try? JSON(parsing: text.utf8, depth: 8), json.object != nil else { return nil }
        return json
    }

    /// The failure for a provider's error.
    ///
    /// RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6; the names with `user_` are those of Apple, LinkedIn and Facebook.
    func failure(_ error: String) -> Failure {
        let detail = [ReceivedText.quoted(error), self.description].filter { !$0.isEmpty }.joined(separator: " ")
        return switch error {
        case "access_denied", "user_cancelled_authorize", "user_cancelled_login", "user_denied":
            Failure(.providerDenied, detail)
        case "login_required", "consent_required", "interaction_required", "account_selection_required":
            Failure(
                .providerInteractionRequired,
                "\(detail): the provider has to ask the user something, which prompt=none forbids"
            )
        case "server_error", "temporarily_unavailable": Failure(.providerUnavailable, detail)
        default: Failure(.providerRefused, detail)
        }
    }
}
