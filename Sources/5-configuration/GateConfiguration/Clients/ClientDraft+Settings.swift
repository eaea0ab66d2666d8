// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore
internal import GatePolicy
package import GateYAML

extension ClientDraft {
    /// Checks who may sign in at a client of the file, and builds its settings.
    ///
    /// - Parameters:
    ///   - client: The client, by its name.
    ///   - publicURL: The origin of the gateway; nil if it is missing or invalid.
    ///   - known: The providers of the file.
    ///   - rules: The rule sets of the file.
    ///   - reading: Receives the errors and warnings.
    /// - Returns: The settings; nil without the public URL or the type.
    package static func settings(
        of client: Named<ClientDraft>,
        at publicURL: Origin?,
        known: KnownProviders,
        rules: RuleSets,
        _ reading: inout DecodingContext
    ) -> ClientSettings? {
        let draft = client.value
        var asked = client.asApp
        draft.checkScopes(&reading)
        let names = (draft.claims ?? []) + (draft.scopes?.value ?? []).flatMap(\.value)
        let claims = names.filter { IdentityField(forClient: $0.value) == nil }
        if !claims.isEmpty {
            asked = asked.map { app in
                var app = app
                app.identity = IdentityDraft(claims: claims)
                return app
            }
        }
        var check = AccessCheck(known: known, rules: rules, app: asked, subject: "the client")
        let access = check.rule(&reading)
        let denied = check.denied(&reading)
        self.rejectRequestRules(access.rule.entries + denied, of: client.name, &reading)
        guard let publicURL, let type = draft.type else { return nil }
        var route = Route(app: client.name, origin: publicURL, path: "/")
        route.providers = access.providers
        route.issuers = Set((draft.exchangeIssuers ?? []).map(\.value))
        route.access = access.rule
        route.denied = denied
        var settings = ClientSettings(id: client.name, kind: type, route: route)
        settings.name = draft.title ?? client.name
        settings.secrets = draft.secrets ?? []
        settings.redirectURIs = (draft.redirectURIs?.value ?? []).map(\.value)
        settings.postLogoutRedirectURIs = (draft.postLogoutRedirectURIs?.value ?? []).map(\.value)
        settings.grants = draft.grantTypes
        settings.claims = (draft.claims ?? []).map(\.value)
        settings.scopes = Dictionary((draft.scopes?.value ?? []).map { ($0.name, $0.value.map(\.value)) }) { first, _ in
            first
        }
        settings.audiences = (draft.audiences ?? []).map(\.value)
        settings.asksConsent = draft.asksConsent ?? false
        settings.accessTokenLifetime = draft.accessTokenLifetime ?? settings.accessTokenLifetime
        settings.lifetime = draft.lifetime?.value
        settings.passwordProvider = draft.passwordProvider?.value
        settings.requiresDPoP = draft.requiresDPoP ?? false
        settings.requiresPushedRequests = draft.requiresPushedRequests ?? false
        settings.tokenAudiences = (draft.tokenAudiences ?? []).map(\.value)
        settings.tokenSubject = draft.tokenSubject ?? .user
        settings.backChannelLogoutURI = draft.backChannelLogoutURI
        settings.appleApps = draft.appleApps ?? []
        settings.androidApps = (draft.androidApps ?? []).compactMap(\.app)
        return settings
    }

    /// The grants that it has, by default those of the code flow.
    var grantTypes: Set<GrantType> {
        Set((self.grants ?? [.authorizationCode, .refreshToken]).map(\.type))
    }

    /// A sign-in has neither the path nor the method of a request to an app, so such an entry would never match.
    private static func rejectRequestRules(
        _ entries: [AccessEntry],
        of client: String,
        _ reading: inout DecodingContext
    ) {
        for entry in entries.flatMap(\.withNested) {
            for condition in entry.request {
                let key: String
                switch condition {
                case .path: key = "path"
                case .method: key = "method"
                case .mcpMethod: key = "mcp_method"
                case .mcpTool: key = "mcp_tool"
                case .scope: key = "scope"
                case .certificate: key = "certificate"
                case .network, .time, .from, .until, .authenticated, .passkey: continue
                }
                guard let place = entry.place, let mark = reading.mark(of: place) else { continue }
                let reason = "'\(key)' is about requests to an app, and a sign-in at the client '\(client)' has none"
                reading.error("\(reason); remove the entry, or write it in the app", at: mark)
            }
        }
    }
}

extension Named<ClientDraft> {
    /// The client as an app with its name and its rules.
    package var asApp: Named<AppDraft> { self.map(\.access) }
}

extension ClientDraft {
    /// As many as an app may have.
    private static let maxScopes = 32

    fileprivate func checkScopes(_ reading: inout DecodingContext) {
        guard let scopes else { return }
        if scopes.value.count > ClientDraft.maxScopes {
            reading.error("'scopes' has over \(ClientDraft.maxScopes) entries", at: scopes.mark)
        }
        for scope in scopes.value where scope.value.isEmpty {
            reading.error("the scope '\(scope.name)' gives no claim; name one, such as '[department]'", at: scope.mark)
        }
    }
}
