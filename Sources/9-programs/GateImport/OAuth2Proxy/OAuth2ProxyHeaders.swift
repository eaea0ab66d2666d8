// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateYAML

/// Converts the headers that apps receive; those that cannot be sent are in the notes.
struct OAuth2ProxyHeaders {
    let settings: OptionSettings
    let headers: [HeaderInjection]
    /// Whether headers come from the alpha configuration, where none is sent that is not listed.
    let usesAlpha: Bool
    /// The claims that sessions have beside those that every session has.
    let additionalClaims: Set<String>

    /// What every session of oauth2-proxy has and the provider does not report as a claim.
    private static let ofSession: Set<String> = [
        "access_token", "id_token", "refresh_token", "created_at", "expires_on",
    ]
    /// What every session has as well.
    private static let ofUser: Set<String> = ["user", "email", "groups", "preferred_username"]

    /// The claims in headers of requests.
    var claims: ImportedClaims {
        let names = self.headers.filter(\.isRequest).flatMap(\.values).compactMap { value in
            if case .claim(let name) = value { name } else { nil }
        }
        let documents: [ClaimPath.Document] =
            self.settings.flag("skip_claims_from_profile_url", else: false) ? [.idToken] : [.idToken, .userinfo]
        return ImportedClaims(
            names.filter { !Self.ofSession.contains($0) },
            from: ImportedProvider.documents(ofType: self.type, documents)
        )
    }

    private var type: String { OAuth2ProxyProvider(settings: self.settings).type }

    /// What oauth2-proxy takes for the ID of the user.
    private var userField: IdentityField {
        switch self.type {
        case "github": .preferredUsername
        case "oidc", "keycloak", "google", "gitlab": .subject
        default: .user
        }
    }

    func add(to apps: inout [ImportedApp], _ notes: inout ImportNotes) {
        var fields = ImportedHeaders(claims: self.claims, user: self.userField)
        var requests = YAMLMapping()
        var responses = YAMLMapping()
        for header in self.headers {
            if header.isRequest {
                self.convert(header, fields: &fields, fixed: &requests, &notes)
            } else {
                self.convert(response: header, fixed: &responses, &notes)
            }
        }
        var identity = YAMLMapping()
        if let token = self.token(&notes) { identity.add("authorization", .word(token)) }
        if !self.usesAlpha, !self.sendsUser { identity.add("fields", .list([])) }
        for index in apps.indices {
            if case .upstream = apps[index].action { apps[index].settings.add("identity", identity) }
            apps[index].settings.add("headers", fields.mapping)
            apps[index].claimNames = fields.claimNames
            for (key, changes) in [("request_headers", requests), ("response_headers", responses)] {
                var edits = YAMLMapping()
                edits.add("set", changes)
                let removed = key == "request_headers" ? fields.removed(besides: changes) : []
                if !removed.isEmpty { edits.add("remove", .texts(removed)) }
                apps[index].settings.add(key, edits)
            }
        }
        fields.warnOfForm(at: self.headers.first(where: \.isRequest)?.place, &notes)
        self.addNotesOfOptions(&notes)
    }

    /// The provider's token that apps get; nil for none.
    private func token(_ notes: inout ImportNotes) -> String? {
        guard !self.usesAlpha else { return nil }
        let access = self.settings.flag("pass_access_token", else: false) ? self.settings["pass_access_token"] : nil
        guard self.settings.flag("pass_authorization_header", else: false) else {
            guard let access else { return nil }
            notes.warning(
                "'pass_access_token': apps get the access token as 'Authorization: Bearer', not as X-Forwarded-Access-Token",
                at: access.place
            )
            return "access_token"
        }
        if let access {
            let reason =
                "'authorization' is the ID token, as 'pass_authorization_header' has it, and an app gets one of them"
            notes.warning("'pass_access_token' is not carried over: \(reason)", at: access.place)
        }
        return "id_token"
    }

    /// Whether apps get X-Forwarded-User and so on without the alpha configuration; either of the two options suffices.
    private var sendsUser: Bool {
        ["pass_user_headers", "pass_basic_auth"].contains { self.settings.flag($0, else: true) }
    }

    private func addNotesOfOptions(_ notes: inout ImportNotes) {
        let sendsUser = self.sendsUser
        let place = self.settings["pass_user_headers"]?.place
        let usesUser = self.headers.contains {
            $0.isRequest && (self.userField == .user || $0.name.lowercased() == "x-forwarded-user")
                && $0.values.contains { if case .claim("user") = $0 { true } else { false } }
        }
        if self.usesAlpha ? usesUser : sendsUser {
            let before = "oauth2-proxy sends the provider's subject or login name alone"
            notes.warning(
                "X-Forwarded-User is the user key, 'provider:subject'; \(before), so apps that store it need a mapping",
                at: place
            )
        }
        if OAuth2ProxyProvider(settings: self.settings).type == "github" {
            let text =
                "the login name of GitHub is in X-Forwarded-Preferred-Username; teams in X-Forwarded-Groups are 'org/team', "
                + "not 'org:team'"
            notes.warning(text, at: self.settings["provider"]?.place)
        }
        guard !self.usesAlpha, let password = self.settings["basic_auth_password"] else { return }
        notes.warning(
            "Basic authentication to the app is not carried over; write 'identity: { basic: … }' of the app, with one user name for "
                + "all users, or let it verify X-Gatehouse-Assertion",
            at: password.place
        )
    }

    private func convert(
        _ header: HeaderInjection,
        fields: inout ImportedHeaders,
        fixed: inout YAMLMapping,
        _ notes: inout ImportNotes
    ) {
        let shown = Scalar.quoted(header.name)
        guard header.values.count == 1, let value = header.values.first else {
            fields.drop(header.name)
            return notes.warning("the header \(shown) has several values; it is not carried over", at: header.place)
        }
        guard case .claim(let claim) = value else {
            // What is not set after all is removed.
            fields.drop(header.name)
            return self.convert(fixed: header, to: &fixed, &notes)
        }
        guard !Self.ofSession.contains(claim) else {
            fields.drop(header.name)
            let reason =
                claim.hasSuffix("_token")
                ? "'identity: { authorization: \(claim) }' of an app sends it as a bearer token"
                : "there is no field for \(Scalar.quoted(claim))"
            return notes.warning("the header \(shown) is not carried over: \(reason)", at: header.place)
        }
        if case .left(let reason) = fields.add(header.name, claim: claim) {
            notes.warning("the header \(shown) is not carried over: \(reason)", at: header.place)
        } else if !Self.ofUser.contains(claim), !self.additionalClaims.contains(claim) {
            notes.warning(
                "apps get \(shown) here; oauth2-proxy does not send it, since \(Scalar.quoted(claim)) is not in 'additionalClaims'",
                at: header.place
            )
        }
    }

    private func convert(response header: HeaderInjection, fixed: inout YAMLMapping, _ notes: inout ImportNotes) {
        guard header.values.count == 1, case .claim? = header.values.first else {
            return self.convert(fixed: header, to: &fixed, &notes)
        }
        let reason = "identity in responses is for forward-auth; see 'forward_auth' of an app"
        notes.warning("the header \(Scalar.quoted(header.name)) is not carried over: \(reason)", at: header.place)
    }

    /// A header whose value is the same for all users; the value may be a secret, so it is not copied.
    private func convert(fixed header: HeaderInjection, to fixed: inout YAMLMapping, _ notes: inout ImportNotes) {
        let shown = Scalar.quoted(header.name)
        if let reason = HeaderEdits.reason(against: header.name, isSet: true) {
            return notes.warning("the header \(shown) is not carried over: \(reason)", at: header.place)
        }
        guard !fixed.entries.contains(where: { $0.key.lowercased() == header.name.lowercased() }) else { return }
        switch header.values.first {
        case .variable(let name)?: fixed.add(header.name, ConfigText(environment: name))
        case .file(let path)?: fixed.add(header.name, ConfigText(file: path))
        case .fixed?:
            let variable = ConfigText.variable(ofHeader: header.name)
            fixed.add(header.name, ConfigText(environment: variable))
            notes.note(
                "the value of \(shown) may be a secret and is not copied; put it into the environment variable \(variable)",
                at: header.place
            )
        case .claim?, .composed?, nil:
            notes.warning(
                "the header \(shown) is not carried over: a claim with a prefix or as Basic authentication has no counterpart",
                at: header.place
            )
        }
    }
}

/// Converts the paths that need no sign-in.
struct OAuth2ProxyPublicPaths {
    let settings: OptionSettings

    func add(to apps: inout [ImportedApp], _ notes: inout ImportNotes) {
        if self.settings.flag("skip_auth_preflight", else: false) {
            apps.makePublicEverywhere(PublicPath(method: "OPTIONS", path: "/"))
        }
        for name in ["skip_auth_route", "skip_auth_regex"] {
            guard let setting = self.settings[name] else { continue }
            for text in setting.texts {
                self.add(text, hasMethod: name == "skip_auth_route", at: setting.place, to: &apps, &notes)
            }
            if setting.isUnknown {
                notes.warning("a path of '\(name)' is the value of a variable; it needs a sign-in", at: setting.place)
            }
        }
    }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "REPORT",
    ]

    /// Adds the paths of an expression, which begins with a method in `skip_auth_route` only.
    private func add(
        _ text: String,
        hasMethod: Bool,
        at place: ImportPlace,
        to apps: inout [ImportedApp],
        _ notes: inout ImportNotes
    ) {
        let method = hasMethod ? text.firstIndex(of: "=").map { String(text[..<$0]) } : nil
        let isMethod = method.map { OAuth2ProxyPublicPaths.methods.contains($0) } ?? false
        let isOther = method.map { $0.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "!") } } ?? false
        let expression = isMethod ? String(text.dropFirst((method?.count ?? 0) + 1)) : text
        guard isMethod || !isOther, let pattern = PathPattern(expression) else {
            let help = "write its paths in 'public'; until then they need a sign-in"
            return notes.warning("the expression \(Scalar.quoted(text)) cannot be carried over; \(help)", at: place)
        }
        for rule in pattern.publicPaths(method: isMethod ? method : nil) { apps.makePublicEverywhere(rule) }
        if pattern.isNarrower {
            notes.note(
                "the expression \(Scalar.quoted(text)) matches further paths; only the whole path and all below it are public",
                at: place
            )
        }
    }
}
