// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateSessions
internal import GateYAML

/// Checks what depends on a client and other parts of the file.
struct ClientCheck {
    let draft: FileDraft

    private static let maxClients = 1000
    private static let maxTokenAudiences = 32

    func check(_ reading: inout DecodingContext) {
        self.checkRegistration(&reading)
        let clients = self.draft.clients ?? []
        guard let first = clients.first else { return }
        if clients.count > Self.maxClients {
            reading.error("more than \(Self.maxClients) clients; remove some", at: first.mark)
        }
        self.checkStore("'clients' need", first.mark, &reading)
        self.checkSchemes(clients, &reading)
        for client in clients {
            self.checkAudiences(of: client, &reading)
            self.checkTokenAudiences(of: client, &reading)
            self.checkExchangeIssuers(of: client, &reading)
            self.checkLifetime(of: client, &reading)
            self.checkPasswords(of: client, &reading)
        }
    }

    /// A token for another service must not be one for a client, an app or the gateway, which would take its `sub` for a user key.
    private func checkTokenAudiences(of client: Named<ClientDraft>, _ reading: inout DecodingContext) {
        let audiences = client.value.tokenAudiences ?? []
        if audiences.count > Self.maxTokenAudiences {
            reading.error("'token_audiences' has more than \(Self.maxTokenAudiences) entries", at: audiences[0].mark)
        }
        let origin = self.draft.gateway?.publicURL?.value
        let clients = (self.draft.clients ?? []).map(\.name)
        let hosts = (self.draft.apps ?? []).flatMap { $0.value.hosts?.value ?? [] }.map(\.value)
        for audience in audiences {
            let shown = Scalar.quoted(audience.value, limit: 100)
            if clients.contains(audience.value) {
                reading.error(
                    "\(shown) is a client of this file, which would take such a token for its own",
                    at: audience.mark
                )
            }
            guard let url = WebURL(audience.value), let origin else { continue }
            guard url.origin == origin || hosts.contains(where: { $0.matches(url.origin.host) }) else { continue }
            let help = "write the names of apps into 'audiences'"
            reading.error("\(shown) is a URL of this gateway or of an app behind it; \(help)", at: audience.mark)
        }
    }

    /// Clients without an entry get tokens for MCP servers only.
    private func checkRegistration(_ reading: inout DecodingContext) {
        guard let draft = self.draft.gateway?.clientRegistration, !draft.value.settings.clients.isOff else { return }
        self.checkStore("'client_registration' needs", draft.mark, &reading)
        guard !(self.draft.apps ?? []).contains(where: { $0.value.isMCP }) else { return }
        let help = "write that in an app, or remove this"
        reading.warning(
            "'client_registration' is for apps with 'mcp: true', which no app has; \(help)",
            at: draft.mark
        )
    }

    private func checkStore(_ subject: String, _ mark: YAMLMark, _ reading: inout DecodingContext) {
        guard case .cookie? = self.draft.sessions?.store else { return }
        let reason = "tokens of clients could not be revoked, since such a session is in the browser"
        let help = "use 'sqlite:', 'redis:' or 'memory:'"
        reading.error("\(subject) another 'sessions.store' than 'cookie:': \(reason); \(help)", at: mark)
    }

    private func checkAudiences(of client: Named<ClientDraft>, _ reading: inout DecodingContext) {
        let names = (self.draft.apps ?? []).map(\.name)
        let list = names.prefix(12).joined(separator: ", ")
        var known: Set<String> = []
        for audience in client.value.audiences ?? [] {
            guard known.insert(audience.value).inserted else {
                reading.error("\(Scalar.quoted(audience.value)) is in the list already", at: audience.mark)
                continue
            }
            // Without apps, that is the error.
            guard !names.isEmpty, !names.contains(audience.value) else { continue }
            let hint = reading.nearest(to: audience.value, in: names).map { "did you mean '\($0)'?" }
            let help = hint ?? "the file has \(list)"
            reading.error("there is no app \(Scalar.quoted(audience.value)); \(help)", at: audience.mark)
        }
    }

    /// A token of an issuer is exchanged for one for an app that accepts the issuer, or for another service.
    private func checkExchangeIssuers(of client: Named<ClientDraft>, _ reading: inout DecodingContext) {
        let apps = (self.draft.apps ?? []).filter { app in
            (client.value.audiences ?? []).contains { $0.value == app.name }
        }
        let describing = (self.draft.issuers ?? []).filter(\.value.describesTokens).map(\.name)
        let asked = (client.value.exchangeIssuers ?? []).filter { describing.contains($0.value) }
        if asked.count > 1 {
            let reason = "is the second issuer of type introspection, and a token does not show which of them to ask"
            reading.error("\(Scalar.quoted(asked[1].value)) \(reason); make a client for each", at: asked[1].mark)
        }
        if let first = client.value.exchangeIssuers?.first, client.value.usesEmailAsSubject {
            let reason =
                "'subject: email' gives a machine whose issuer reports the address of a user the user's credentials"
            reading.warning("\(reason); make a client of its own for 'exchange_issuers'", at: first.mark)
        }
        // One that the file does not have is reported with the rules.
        let known = Set((self.draft.issuers ?? []).map(\.name))
        for issuer in client.value.exchangeIssuers ?? [] where known.contains(issuer.value) {
            let isAccepted = apps.contains { app in
                app.value.acceptsTokens
                    && (app.value.machines?.value.allIssuers ?? []).contains { $0.value == issuer.value }
            }
            guard !isAccepted, (client.value.tokenAudiences ?? []).isEmpty else { continue }
            let shown = Scalar.quoted(issuer.value)
            let help = "add it to 'machines.exchanged' of an app, and the app to 'audiences' of the client"
            reading.error("no app would accept what tokens of \(shown) are exchanged for; \(help)", at: issuer.mark)
        }
    }

    /// Passwords of an app are those of a provider with local accounts that the client accepts, sent to the session API.
    private func checkPasswords(of client: Named<ClientDraft>, _ reading: inout DecodingContext) {
        guard let named = client.value.passwordProvider else { return }
        let shown = Scalar.quoted(named.value)
        let locals = (self.draft.providers ?? []).filter(\.value.isLocal).map(\.name)
        if !locals.contains(named.value) {
            let list = locals.isEmpty ? "none" : locals.joined(separator: ", ")
            reading.error("\(shown) is not a provider of type local; the file has \(list)", at: named.mark)
        } else if client.value.acceptedProviders?.contains(named.value) == false {
            reading.error("'providers' of the client does not have \(shown); add it, or remove this", at: named.mark)
        }
        if self.draft.gateway?.sessionAPI == nil {
            let help = "write 'session_api: /auth' in 'gateway', or remove this"
            reading.error("'password_provider' is for the session API, which is off; \(help)", at: named.mark)
        }
    }

    /// A sign-in at a client ends with the session at the latest.
    private func checkLifetime(of client: Named<ClientDraft>, _ reading: inout DecodingContext) {
        let limit = self.draft.sessions?.lifetime?.value ?? SessionSettings.defaultLifetimes.absolute
        guard let lifetime = client.value.lifetime, lifetime.value > limit else { return }
        let help = "write at most \(limit.yamlText), or raise 'sessions.lifetime'"
        reading.error("'lifetime' is longer than the \(limit.yamlText) of all sessions; \(help)", at: lifetime.mark)
    }

    /// Warns of a scheme that two clients have, since the system asks neither app before it hands the response to the other.
    private func checkSchemes(_ clients: [Named<ClientDraft>], _ reading: inout DecodingContext) {
        var owners: [String: (client: String, mark: YAMLMark)] = [:]
        for client in clients {
            let lists = [client.value.redirectURIs, client.value.postLogoutRedirectURIs]
            for uri in lists.compactMap({ $0?.value }).flatMap({ $0 }) {
                guard case .customScheme(let scheme) = uri.value.kind else { continue }
                guard let owner = owners[scheme] else {
                    owners[scheme] = (client.name, uri.mark)
                    continue
                }
                guard owner.client != client.name else { continue }
                let line = reading.line(owner.mark, from: uri.mark)
                let risk = "the app of either may receive the other's code, which PKCE makes useless to it"
                let message = "'\(scheme)' is the scheme of client '\(owner.client)' in \(line) too, so \(risk)"
                reading.warning("\(message); give each app its own scheme", at: uri.mark)
            }
        }
    }
}
