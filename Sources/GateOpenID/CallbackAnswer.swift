// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The parameters of a callback, read strictly; nothing is believed yet.
///
/// RFC 6749 §4.1.2, RFC 9207 §2.
struct CallbackAnswer {
    /// What the provider says.
    enum Outcome: Equatable {
        case code(String)
        case error(String, description: String?)
    }

    let state: String
    let issuer: String?
    let outcome: Outcome

    /// Reads a callback; a token in it is an answer that nobody asked for.
    ///
    /// RFC 9700 §2.1.2.
    init(_ form: Form) throws(Failure) {
        guard form.single("access_token") == .absent, form.single("id_token") == .absent else {
            throw Failure(.malformedRequest, "openid.token_in_callback", "the callback carries a token")
        }
        guard let state = try CallbackAnswer.parameter("state", of: form, limit: 512) else {
            throw Failure(.malformedRequest, "openid.state_missing", "the callback has no state")
        }
        self.state = state
        self.issuer = try CallbackAnswer.parameter("iss", of: form, limit: 2048)
        let code = try CallbackAnswer.parameter("code", of: form, limit: 8192)
        let error = try CallbackAnswer.parameter("error", of: form, limit: 256)
        switch (code, error) {
        case (let code?, nil): self.outcome = .code(code)
        case (nil, let error?): self.outcome = .error(error, description: form["error_description"])
        case (nil, nil), (.some, .some):
            throw Failure(.malformedRequest, "openid.callback_malformed", "the callback needs one of code and error")
        }
    }

    /// A parameter that must not repeat, is not empty and is visible ASCII or spaces.
    ///
    /// RFC 6749 §3.1, appendix A.
    private static func parameter(_ name: String, of form: Form, limit: Int) throws(Failure) -> String? {
        switch form.single(name) {
        case .absent: return nil
        case .repeated:
            throw Failure(.malformedRequest, "openid.repeated_parameter", "the callback repeats \(name)")
        case .value(let value):
            let plain = value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            guard !value.isEmpty, value.utf8.count <= limit, plain else {
                throw Failure(.malformedRequest, "openid.parameter_value", "\(name) is empty, too long or not plain")
            }
            return value
        }
    }

    /// The failure for a provider's error.
    ///
    /// RFC 6749 §4.1.2.1, OpenID Connect Core §3.1.2.6.
    static func failure(_ error: String, description: String?) -> Failure {
        let detail = "\(ReceivedText.quoted(error)) \(description.map { ReceivedText.quoted($0) } ?? "")"
        return switch error {
        case "access_denied": Failure(.forbidden, "provider.denied", detail)
        case "server_error", "temporarily_unavailable": Failure(.providerFailed, "provider.unavailable", detail)
        default: Failure(.providerFailed, "provider.refused", detail)
        }
    }
}
