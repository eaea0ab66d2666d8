// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Converts who may sign in: oauth2-proxy wants an accepted email address and, if groups are listed, one of them.
struct OAuth2ProxyAccess {
    let settings: OptionSettings
    /// The content of `authenticated_emails_file`, if it was given.
    let emails: [String]?
    let provider: OAuth2ProxyProvider

    /// The options of which one group suffices.
    static let groupOptions = ["allowed_group", "gitlab_group", "google_group", "keycloak_group"]

    /// Restrictions of providers that have no counterpart.
    private static let inexpressible = ["github_repo", "bitbucket_team", "bitbucket_repository", "gitlab_project"]

    func rule(_ notes: inout ImportNotes) -> AccessDraft {
        var rule = self.emailRule(&notes).and(self.gitHubRule(&notes)).and(self.groupRule(&notes))
        for name in OAuth2ProxyAccess.inexpressible {
            guard let setting = self.settings[name], !setting.texts.isEmpty else { continue }
            // One of several lists suffices with GitLab, so that leaving out projects admits fewer users.
            let isAlternative = name == "gitlab_project" && !self.settings.list("gitlab_group").isEmpty
            let effect = isAlternative ? "users who are only in these are denied" : "every app is denied to all users"
            notes.warning("'\(name)' cannot be carried over; \(effect)", at: setting.place)
            if !isAlternative { rule = .deniedToAll }
        }
        if let setting = self.settings["github_user"], !setting.texts.isEmpty {
            let help =
                "a user is named by ID here: 'user: github:73205511'; until then these users need one of the teams"
            notes.warning("'github_user' is not carried over; \(help)", at: setting.place)
        }
        return self.settings.hidesRestriction ? .deniedToAll : rule
    }

    private func emailRule(_ notes: inout ImportNotes) -> AccessDraft {
        let domains = self.settings["email_domain"]
        let texts = domains?.texts ?? []
        if texts.contains("*") { return self.anyEmail(at: domains?.place, &notes) }
        var conditions: [AccessCondition] = []
        for text in texts {
            if let condition = AccessCondition(domain: text), !text.hasPrefix("."), !text.contains("*") {
                conditions.append(condition)
            } else {
                let help = "list each domain; until then its users are denied"
                notes.warning(
                    "the domain \(Scalar.quoted(text)) with its subdomains cannot be carried over; \(help)",
                    at: domains?.place
                )
            }
        }
        conditions += self.listedEmails(&notes)
        if conditions.isEmpty {
            let help = "write 'allow'; until then every app is denied to all users"
            notes.warning("no email domain and no email address is known; \(help)", at: domains?.place)
        } else {
            notes.note("only email addresses that the provider has verified count", at: domains?.place)
        }
        return .any(of: conditions)
    }

    /// All users; oauth2-proxy rejects those whose email address the provider marks as not verified.
    private func anyEmail(at place: ImportPlace?, _ notes: inout ImportNotes) -> AccessDraft {
        let claims = ["oidc_email_claim", "user_id_claim"].compactMap { self.settings.text($0) }
        guard claims.allSatisfy({ $0 == "email" }), self.settings["oidc_email_claim"]?.isUnknown != true,
            !self.settings.flag("insecure_oidc_allow_unverified_email", else: false)
        else { return .signedIn }
        notes.warning(
            "users need a verified email address, as with oauth2-proxy, which also admits those whose provider does not mark "
                + "it; 'allow: signed_in' admits all users",
            at: place
        )
        return .any(of: [.verifiedEmail])
    }

    private func listedEmails(_ notes: inout ImportNotes) -> [AccessCondition] {
        if self.emails == nil, let setting = self.settings["authenticated_emails_file"] {
            let help = "import it with --emails; until then these users are denied"
            notes.warning("the file of 'authenticated_emails_file' was not given; \(help)", at: setting.place)
        }
        return (self.emails ?? []).compactMap { text in
            let condition = AccessCondition(email: text)
            if condition == nil {
                notes.warning("\(Scalar.quoted(text)) is not an email address; it is left out", at: nil)
            }
            return condition
        }
    }

    /// Members of an organization, or of one of its teams.
    private func gitHubRule(_ notes: inout ImportNotes) -> AccessDraft {
        let organization = self.settings.text("github_org")
        let teams = (self.settings.text("github_team") ?? "").split(separator: ",").map { $0.filter { $0 != " " } }
        guard organization != nil || !teams.isEmpty else { return .signedIn }
        guard !teams.isEmpty, let place = self.settings["github_team"]?.place else {
            return .any(of: [organization.flatMap { AccessCondition(group: $0) }].compactMap(\.self))
        }
        var conditions: [AccessCondition] = []
        for team in teams {
            let parts = team.split(separator: ":")
            let owner = parts.count == 2 ? String(parts[0]) : organization
            guard let owner, let slug = parts.last, parts.count <= 2, organization == nil || owner == organization,
                let condition = AccessCondition(group: "\(owner)/\(slug)")
            else {
                notes.warning(
                    "the team \(Scalar.quoted(team)) has no organization; write 'org/team'; until then its members are denied",
                    at: place
                )
                continue
            }
            conditions.append(condition)
        }
        return .any(of: conditions)
    }

    private func groupRule(_ notes: inout ImportNotes) -> AccessDraft {
        let options = OAuth2ProxyAccess.groupOptions.compactMap { self.settings[$0] }.filter { !$0.values.isEmpty }
        let roles = self.settings["allowed_role"]
        guard !options.isEmpty || !(roles?.values.isEmpty ?? true) else { return .signedIn }
        var conditions: [AccessCondition] = []
        for option in options {
            for text in option.texts {
                let name = self.group(text, option.option.name)
                guard let condition = AccessCondition(group: name) else {
                    notes.warning(
                        "the group \(Scalar.quoted(text)) cannot be written to providers.yaml; its members are denied",
                        at: option.place
                    )
                    continue
                }
                conditions.append(condition)
            }
        }
        // Roles of a client are written `client:role`, and only realm roles are mapped.
        for role in roles?.texts ?? [] {
            guard self.provider.type == "keycloak", !role.contains(":"), let condition = AccessCondition(role: role)
            else {
                notes.warning(
                    "the role \(Scalar.quoted(role)) is not a realm role of Keycloak; users with only this role are denied",
                    at: roles?.place
                )
                continue
            }
            conditions.append(condition)
        }
        if self.provider.type == "facebook" || self.provider.type == "linkedin" { return .deniedToAll }
        return .any(of: conditions)
    }

    /// The name of a group here: `org:team` of GitHub is `org/team`.
    private func group(_ text: String, _ option: String) -> String {
        guard self.provider.type == "github", option == "allowed_group" else { return text }
        return text.split(separator: ":").joined(separator: "/")
    }
}
