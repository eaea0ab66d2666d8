// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateYAML

extension ClientDraft {
    /// Checks what depends on this client only.
    func check(_ written: Mapping<ClientDraft>.Written, _ reading: inout DecodingContext) {
        if let providers = self.access.providers, providers.value.isEmpty, (self.exchangeIssuers ?? []).isEmpty {
            reading.error("'providers' is an empty list; remove it to accept all providers", at: providers.mark)
        }
        guard let type = self.type else { return }
        self.checkSecret(of: type, written, &reading)
        self.checkGrants(of: type, written, &reading)
        self.checkURIs(self.redirectURIs, "redirect_uris", of: type, &reading)
        self.checkURIs(self.postLogoutRedirectURIs, "post_logout_redirect_uris", of: type, &reading)
        self.checkApps(of: type, written, &reading)
        self.checkPasswords(of: type, &reading)
    }

    /// An app that takes passwords itself must be one that can keep a refresh token, and it shows no page that asks for consent.
    private func checkPasswords(of type: ClientSettings.Kind, _ reading: inout DecodingContext) {
        guard let mark = self.passwordProvider?.mark else { return }
        if type != .native {
            let reason = "'password_provider' is for type native, and the client is of type \(type.rawValue)"
            reading.error("\(reason); remove it: a page sends its users to the endpoint 'authorize'", at: mark)
        }
        if !self.grantTypes.contains(.refreshToken) {
            let reason =
                "without 'refresh_token' in 'grants' users of 'password_provider' type their password for each token"
            reading.error("\(reason); add it", at: mark)
        }
        if self.asksConsent == true {
            let reason = "'consent: true' asks users on a page, and 'password_provider' signs them in without one"
            reading.error("\(reason); remove one of them", at: mark)
        }
    }

    private func checkSecret(
        of type: ClientSettings.Kind,
        _ written: Mapping<ClientDraft>.Written,
        _ reading: inout DecodingContext
    ) {
        guard let mark = written.keys["secret"] else {
            guard type == .confidential else { return }
            let help = "such as 'secret: ${env:NOTES_SECRET}', or another 'type' for an app without a server"
            return reading.error("a client of type confidential needs 'secret', \(help)", at: written.mark)
        }
        guard type != .confidential else { return }
        let reason = "a client of type \(type.rawValue) cannot keep a secret, since its users have its code"
        reading.error("\(reason); remove 'secret', or write 'type: confidential' for a server", at: mark)
    }

    private func checkGrants(
        of type: ClientSettings.Kind,
        _ written: Mapping<ClientDraft>.Written,
        _ reading: inout DecodingContext
    ) {
        let mark = written.keys["grants"] ?? written.mark
        // What is invalid has been reported.
        guard self.grants != nil || !written.has("grants") else { return }
        let grants = self.grantTypes
        if grants.isEmpty {
            return reading.error("'grants' is an empty list; remove it for the code flow", at: mark)
        }
        if grants == [.refreshToken], self.passwordProvider == nil {
            let help = "add 'authorization_code' or 'device_code'"
            reading.error(
                "'refresh_token' alone gets no tokens, since another grant issues the first one; \(help)",
                at: mark
            )
        }
        if let mark = written.keys["token_audiences"], !grants.contains(.tokenExchange) {
            reading.error("'token_audiences' are for 'token_exchange'; add it to 'grants', or remove them", at: mark)
        }
        if let mark = written.keys["exchange_issuers"], (self.exchangeIssuers ?? []).isEmpty, written.isSound {
            reading.error("'exchange_issuers' is an empty list; remove it", at: mark)
        }
        if let mark = written.keys["exchange_issuers"], !grants.contains(.tokenExchange) {
            reading.error("'exchange_issuers' are for 'token_exchange'; add it to 'grants', or remove them", at: mark)
        }
        if let providers = self.access.providers, providers.value.isEmpty, !(self.exchangeIssuers ?? []).isEmpty,
            grants != [.tokenExchange]
        {
            let reason = "'providers' is empty, and only tokens of 'exchange_issuers' get the client tokens"
            reading.error("\(reason); write 'grants: [token_exchange]', or remove 'providers'", at: providers.mark)
        }
        if let mark = written.keys["subject"], !written.has("token_audiences") {
            reading.error("'subject' is that of tokens for 'token_audiences', which the client does not have", at: mark)
        }
        if grants.contains(.deviceCode), type == .singlePage {
            let reason = "'device_code' is for devices without a browser, and a client of type single_page is in one"
            reading.error("\(reason); remove it", at: mark)
        }
        if grants.contains(.authorizationCode) {
            guard !written.has("redirect_uris") else { return }
            let help = "such as 'redirect_uris: [https://notes.example.com/callback]'"
            reading.error("a client with 'authorization_code' needs 'redirect_uris', \(help)", at: written.mark)
        } else if let mark = written.keys["redirect_uris"] {
            let help = "remove them, or add 'authorization_code' to 'grants'"
            reading.error(
                "'redirect_uris' are for 'authorization_code', which the client does not have; \(help)",
                at: mark
            )
        }
    }

    private func checkURIs(
        _ list: Located<[Located<RedirectURI>]>?,
        _ key: String,
        of type: ClientSettings.Kind,
        _ reading: inout DecodingContext
    ) {
        guard let list else { return }
        if list.value.count > ClientSettings.maxRedirectURIs {
            reading.error("'\(key)' has more than \(ClientSettings.maxRedirectURIs) entries", at: list.mark)
        }
        var known: [RedirectURI: YAMLMark] = [:]
        var similar: [String: YAMLMark] = [:]
        for uri in list.value {
            let shown = Scalar.quoted(uri.value.text, limit: 200)
            self.check(uri, shown, of: type, &reading)
            let other = similar.updateValue(uri.mark, forKey: uri.value.lookAlikeKey)
            if let first = known.updateValue(uri.mark, forKey: uri.value) {
                reading.error("\(shown) is here twice; first in \(reading.line(first, from: uri.mark))", at: uri.mark)
            } else if let other {
                let line = reading.line(other, from: uri.mark)
                let reason = "differs from that in \(line) only in letter case, a slash at the end or the default port"
                let help = "URIs are compared exactly, so remove the one that the client does not send"
                reading.warning("\(shown) \(reason); \(help)", at: uri.mark)
            }
        }
    }

    private func check(
        _ uri: Located<RedirectURI>,
        _ shown: String,
        of type: ClientSettings.Kind,
        _ reading: inout DecodingContext
    ) {
        guard type.accepts(uri.value.kind) else {
            let help = "write an https URI, or 'type: native' for an app on a device"
            let reason = "has the scheme of a native app, and the client is of type \(type.rawValue)"
            return reading.error("\(shown) \(reason); \(help)", at: uri.mark)
        }
        switch uri.value.kind {
        case .localhost:
            let reason = "may reach another machine or program, since 'localhost' is resolved as any name"
            let help = "write http://127.0.0.1 or http://[::1] (RFC 8252 §8.3)"
            reading.warning("\(shown) \(reason); \(help)", at: uri.mark)
        case .loopback where type != .native:
            let reason = "is on the machine of the user, where any program can receive the code"
            reading.warning("\(shown) \(reason); use it for development only", at: uri.mark)
        case .loopback, .web, .customScheme: break
        }
    }

    private func checkApps(
        of type: ClientSettings.Kind,
        _ written: Mapping<ClientDraft>.Written,
        _ reading: inout DecodingContext
    ) {
        let hasLinks = self.redirectURIs?.value.contains { uri in
            guard case .web = uri.value.kind else { return false }
            return true
        }
        for key in ["apple_apps", "android_apps"] {
            guard let mark = written.keys[key] else { continue }
            if type != .native {
                reading.error("'\(key)' is for type native only; remove it", at: mark)
            } else if hasLinks != true, written.isSound {
                let help = "add the https URI that the app opens"
                reading.warning("'\(key)' has no effect without an https URI in 'redirect_uris'; \(help)", at: mark)
            }
        }
    }
}
