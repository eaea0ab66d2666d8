// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviders

/// The error in a provider's response, in any of the formats that providers use.
///
/// `{"error": "…", "error_description": "…"}` of RFC 6749 §5.2; the same with `error` an object, as Facebook and Microsoft
/// Graph have it; `{"ok": false, "error": "…"}` of Slack; `{"errorCode": "…", "errorSummary": "…"}` of Okta. The status
/// is not reliable: GitHub and Slack send errors with 200.
struct ProviderErrorResponse: Sendable, CustomStringConvertible {
    /// Who has to act.
    enum Cause: Sendable {
        /// The code was used or is too old, or the user has to interact again: the sign-in starts again.
        case code
        /// The user, or an administrator, denied it.
        case user
        /// The client configuration differs from the registration at the provider.
        case client
        /// The provider cannot serve this now.
        case provider
    }

    /// The provider's name of the error; empty if it has none.
    let errorCode: String
    /// The number beside a nested error.
    private let number: Int64?
    /// The provider's description.
    private let text: String?

    /// Parses the members of a response; nil if they are not an error.
    ///
    /// A provider may repeat what was sent to it; secrets in it are hidden.
    init?(_ members: [String: JSON], hiding secrets: [String]) {
        guard let error = ProviderErrorResponse(members) else { return nil }
        self.init(error, hiding: secrets)
    }

    private init?(_ members: [String: JSON]) {
        let text = members["error_description"]?.string
        switch members["error"] {
        case .string(let code)? where !code.isEmpty:
            self.init(code: code, text: text ?? members["message"]?.string)
        case .object(let error)?:
            let code = error["code"]?.string ?? error["type"]?.string ?? error["status"]?.string
            self.init(code: code ?? "", number: error["code"]?.integer, text: error["message"]?.string)
        case .null?, .string?, .bool(false)?, nil:
            guard let code = members["errorCode"]?.string else {
                guard members["ok"]?.bool == false else { return nil }
                self.init(code: "", text: "ok: false")
                return
            }
            self.init(code: code, text: members["errorSummary"]?.string)
        case .bool?, .number?, .array?:
            self.init(code: "", text: text)
        }
    }

    /// The error of a response that has only a status and optionally a challenge or a message.
    ///
    /// RFC 6750 §3; GitHub's `message`.
    init?(refusedBy response: ProviderResponse, hiding secrets: [String]) {
        guard response.status == 401 || response.status == 403 else { return nil }
        let message = TokenResponse.members(response)["message"]?.string
        let error = ProviderErrorResponse(code: "", text: message ?? response.header("www-authenticate"))
        self.init(error, hiding: secrets)
    }

    private init(_ error: ProviderErrorResponse, hiding secrets: [String]) {
        let redaction = Redaction(secrets)
        self.init(
            code: redaction.applied(to: error.errorCode),
            number: error.number,
            text: error.text.map(redaction.applied)
        )
    }

    private init(code: String, number: Int64? = nil, text: String?) {
        self.errorCode = code
        self.number = number
        self.text = text
    }

    /// The error on one line, bounded and escaped.
    var description: String {
        let parts = [self.errorCode.isEmpty ? nil : self.errorCode, self.text].compactMap { $0 }.map {
            ReceivedText.quoted($0)
        }
        let number = self.number.map { ["\($0)"] } ?? []
        return parts.isEmpty && number.isEmpty ? "no reason given" : (number + parts).joined(separator: " ")
    }

    /// Who has to act on this error of the token endpoint or of the endpoint for pushed requests.
    ///
    /// RFC 6749 §5.2; the other names are those of GitHub, Slack, Facebook and Auth0.
    func cause(at response: ProviderResponse) -> Cause {
        if let cause = self.number.flatMap({ ProviderErrorResponse.numbers[$0] }) { return cause }
        switch self.errorCode {
        case "invalid_grant", "bad_verification_code", "invalid_code", "code_already_used", "code_expired",
            "interaction_required", "login_required", "consent_required", "bad_refresh_token",
            "invalid_refresh_token", "token_revoked":
            return .code
        case "server_error", "temporarily_unavailable", "internal_error", "fatal_error", "service_unavailable",
            "ratelimited", "rate_limited", "slow_down", "too_many_requests", "E0000047", "E0000009":
            return .provider
        case "access_denied", "unverified_user_email":
            // Auth0 returns access_denied with 401 for a wrong secret, with 403 where one of its rules denies the user.
            return response.status == 401 ? .client : .user
        default:
            return response.status >= 500 || response.status == 429 ? .provider : .client
        }
    }

    /// Whether an API rejects the access token itself: it was revoked or has expired.
    ///
    /// RFC 6750 §3.1; the other names are Slack's, the number is Facebook's.
    func rejectsToken(at response: ProviderResponse) -> Bool {
        let names: Set = [
            "invalid_token", "invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_authed",
        ]
        return response.status == 401 || names.contains(self.errorCode) || self.number == 190
    }

    /// Facebook's numbers; 1 is its error for a wrong secret.
    private static let numbers: [Int64: Cause] = [
        1: .client, 101: .client, 191: .client, 100: .code, 2: .provider, 4: .provider, 17: .provider, 341: .provider,
    ]
}

extension ProviderResponse {
    /// After how many seconds the provider wants to be asked again, at most five minutes; nil if it does not state a number of
    /// seconds.
    ///
    /// RFC 9110 §10.2.3.
    var retryAfter: Duration? {
        guard let text = self.header("retry-after"), let seconds = Int64(text), seconds > 0 else { return nil }
        return .seconds(min(seconds, 300))
    }

    /// The response's `Retry-After` as the end of a detail; empty if it has none.
    ///
    /// RFC 9110 §10.2.3.
    var retryAfterNote: String {
        self.header("retry-after").map { "; Retry-After \(ReceivedText.quoted($0))" } ?? ""
    }
}

/// What the operator should check when a provider rejects the client.
struct ClientAdvice: Sendable {
    private let credentials: String
    private let redirectURI: String
    /// Secrets that were sent and must not be in a detail, even where the provider repeats them.
    let secrets: [String]

    init(method: ProviderDefinition.ClientAuthentication, redirectURI: String, secrets: [String] = []) {
        self.redirectURI = redirectURI
        self.secrets = secrets
        self.credentials =
            switch method {
            case .secretPost, .secretBasic, .advertised:
                "check client_id and client_secret (\(method.rawValue)): has the secret expired, is it another app's?"
            case .privateKeyJWT:
                "check client_id, key_id, that the provider has the public half of private_key, and this host's clock"
            case .signedSecret:
                "check client_id, team_id, that key_id is the name of private_key, and this host's clock"
            case .assertionFile:
                "check client_id, and that the provider accepts issuer, subject and audience of the JWT in client_assertion_file"
            case .certificate, .ownCertificate:
                "check client_id, and that the provider knows the certificate of tls for it (\(method.rawValue)): its subject, or itself"
            case .none:
                "check client_id, and that it is a public client at the provider, which needs no secret"
            }
    }

    /// What to do about an error of that name.
    func text(for errorName: String) -> String {
        switch errorName {
        case "redirect_uri_mismatch", "bad_redirect_uri", "invalid_redirect_uri":
            "register the redirect URI \(self.redirectURI) at the provider"
        case "invalid_scope": "check scopes: the provider does not grant one of them to this app"
        case "unsupported_grant_type": "allow the app the code flow at the provider"
        // Some providers return this for a wrong secret.
        case "unauthorized_client":
            "\(self.credentials) If not, allow the app the code flow (authorization_code) at the provider"
        case "invalid_request": "is the redirect URI \(self.redirectURI) registered? If so, \(self.credentials)"
        default: self.credentials
        }
    }
}
