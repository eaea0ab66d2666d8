// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateOpenID
internal import GateProviders

extension ProviderChecks {
    /// Whether the scopes that are asked for are among those that the document lists.
    ///
    /// A provider need not list all that it knows, so a missing one is only a warning. OpenID Connect Discovery §3.
    var scopes: ProviderFinding {
        let wanted = self.definition.scopes
        let asked = wanted.isEmpty ? "none asked for" : wanted.joined(separator: " ")
        guard self.findings.document != nil else {
            return self.line(.scopes, .unasked, "\(asked); which ones it knows cannot be asked")
        }
        guard let offered = self.list("scopes_supported") else {
            return self.line(.scopes, .good, "\(asked); it does not list its scopes")
        }
        let missing = wanted.filter { !offered.contains($0) }
        guard missing.isEmpty else {
            let text = "\(asked); not in its list: \(missing.joined(separator: " ")); check \(self.key("scopes"))"
            return self.line(.scopes, .warning, text)
        }
        return self.line(.scopes, .good, "\(asked), all in its list")
    }

    /// Whether the provider checks the S256 challenge that is sent with each sign-in.
    ///
    /// RFC 7636 §4.2, RFC 8414 §2.
    var pkce: ProviderFinding {
        guard self.definition.pkce != .off else {
            let reason = self.settings.pkce == nil ? "such a provider fails with one" : "\(self.key("pkce")) is off"
            return self.line(.pkce, .unasked, "no challenge is sent, since \(reason)")
        }
        if let failure = self.findings.challengeFailure {
            let listed = self.list("code_challenge_methods_supported").map { self.some($0) } ?? ""
            let text = "\(failure.detail) (listed: \(listed.isEmpty ? "nothing" : listed)); turn S256 on there"
            return self.line(.pkce, .failure, text)
        }
        guard self.findings.document != nil else {
            return self.unknown(.pkce, "S256 is sent; whether it is checked cannot be asked")
        }
        guard let methods = self.list("code_challenge_methods_supported") else {
            return self.line(.pkce, .good, "not listed; S256 is sent all the same")
        }
        return self.line(
            .pkce,
            .good,
            methods.contains("S256") ? "S256 offered" : "S256 is not in its list, and sent all the same"
        )
    }

    /// Whether callbacks name their issuer.
    ///
    /// RFC 9207 §3.
    var iss: ProviderFinding {
        if case .success(let endpoints) = self.findings.endpoints, endpoints.requiresCallbackIssuer {
            return self.line(.iss, .good, "every callback must have it")
        }
        guard self.findings.document != nil, case .success = self.findings.endpoints else {
            return self.unknown(.iss, "cannot be asked; checked whenever a callback has it")
        }
        return self.line(.iss, .good, "not listed; checked if it is there")
    }

    /// Whether the way in which the gateway proves who it is, is one that the document lists.
    ///
    /// Without a list it is `client_secret_basic`. OpenID Connect Discovery §3.
    var clientAuthentication: ProviderFinding {
        let place = self.key("client_authentication")
        let method: ProviderDefinition.ClientAuthentication
        switch self.findings.clientAuthentication {
        case .success(let used): method = used
        case .failure(let failure):
            return self.line(.clientAuthentication, .failure, "\(failure.detail); change \(place), or the client there")
        case nil: return self.unknown(.clientAuthentication, "cannot be asked")
        }
        let used: String
        switch method {
        // A signed secret travels where a plain one would, and a file has a JWT.
        case .signedSecret: used = ProviderDefinition.ClientAuthentication.secretPost.rawValue
        case .assertionFile: used = ProviderDefinition.ClientAuthentication.privateKeyJWT.rawValue
        case .secretPost, .secretBasic, .privateKeyJWT, .certificate, .ownCertificate, .none, .advertised:
            used = method.rawValue
        }
        guard self.findings.document != nil else {
            return self.line(.clientAuthentication, .good, "\(used) is used; what it takes cannot be asked")
        }
        guard let offered = self.list("token_endpoint_auth_methods_supported"), !offered.isEmpty else {
            return self.line(.clientAuthentication, .good, "\(used) is used; it does not list what it takes")
        }
        guard offered.contains(used) else {
            let text = "\(used) is used, it lists \(self.some(offered)); check \(place)"
            return self.line(.clientAuthentication, .warning, text)
        }
        return self.line(.clientAuthentication, .good, "\(used), offered")
    }
}
