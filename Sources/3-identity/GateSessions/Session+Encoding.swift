// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Session {
    private static let version: Int64 = 1

    /// The plain text of a record: JSON with a version; `lastSeen` is not in it, since it changes without sealing again.
    var encoded: [UInt8] {
        var members: [String: JSON] = [
            "v": .int(Session.version), "id": .string(self.id), "family": .string(self.family),
            "host": .string(self.host), "created": .int(self.created.seconds),
            "confirmed": .int(self.confirmed.seconds), "profile": self.profile.sessionJSON,
        ]
        if self.maxIdle > .zero { members["max_idle"] = .int(self.maxIdle.wholeSeconds) }
        members["id_token"] = self.idToken?.withText { .string($0) }
        members["end_session"] = self.endSession.map(JSON.string)
        members["admission"] = self.admission.map(JSON.string)
        members["device"] = self.device.map(JSON.string)
        members["origin"] = self.origin.map { .string($0.text) }
        members["grant"] = self.grant?.json
        members["sub"] = self.subjectClaim.map(JSON.string)
        members["sid"] = self.providerSession.map(JSON.string)
        members["client"] = self.client?.json
        members["passkey"] = self.passkeyUsed.map { .int($0.seconds) }
        members["passkey_method"] = self.passkeyMethod.map(JSON.string)
        if self.keepsOwnProofs { members["own_proofs"] = true }
        members["asked_by"] = self.askedBy.map(JSON.string)
        if self.order > 0 { members["order"] = .int(self.order) }
        return JSON.object(members).encoded
    }

    /// Parses what ``encoded`` returned; nil for anything else, a newer version included.
    init?(encoded: [UInt8], lastSeen: Instant) {
        guard let json = try? JSON(parsing: encoded, depth: 4), json["v"]?.integer == Session.version else {
            return nil
        }
        guard let id = json["id"]?.string, let family = json["family"]?.string, let host = json["host"]?.string,
            let created = json["created"]?.integer, let confirmed = json["confirmed"]?.integer,
            let profile = json["profile"].flatMap(Profile.init(sessionJSON:))
        else { return nil }
        self.init(
            id: id,
            family: family,
            profile: profile,
            host: host,
            created: Instant(seconds: created),
            lastSeen: lastSeen,
            maxIdle: .seconds(min(max(json["max_idle"]?.integer ?? 0, 0), 1 << 40)),
            idToken: json["id_token"]?.string.map(Secret.init(text:)),
            endSession: json["end_session"]?.string,
            admission: json["admission"]?.string,
            origin: json["origin"]?.string.flatMap { Ticket($0.utf8) },
            grant: json["grant"].flatMap(ProviderGrant.init(json:)),
            confirmed: Instant(seconds: confirmed),
            subjectClaim: json["sub"]?.string,
            providerSession: json["sid"]?.string,
            device: json["device"]?.string
        )
        guard json["client"] == nil || host.hasPrefix("client:") else { return nil }
        self.client = json["client"].flatMap(ClientGrant.init(json:))
        self.passkeyUsed = json["passkey"]?.integer.map(Instant.init(seconds:))
        self.passkeyMethod = json["passkey_method"]?.string
        self.keepsOwnProofs = json["own_proofs"]?.bool ?? false
        self.askedBy = json["asked_by"]?.string
        self.order = max(json["order"]?.integer ?? 0, 0)
    }
}

extension ProviderGrant {
    /// The grant with every part that it has.
    fileprivate var json: JSON {
        var members: [String: JSON] = [:]
        members["access_token"] = self.accessToken?.withText { .string($0) }
        members["refresh_token"] = self.refreshToken?.withText { .string($0) }
        members["expires"] = self.accessExpiry.map { .int($0.seconds) }
        members["scope"] = self.scopes.map(JSON.string)
        members["extras"] = self.extras.map(JSON.string)
        return .object(members)
    }

    fileprivate init?(json: JSON) {
        guard json.object != nil else { return nil }
        self.init()
        self.accessToken = json["access_token"]?.string.map(Secret.init(text:))
        self.refreshToken = json["refresh_token"]?.string.map(Secret.init(text:))
        self.accessExpiry = json["expires"]?.integer.map(Instant.init(seconds:))
        self.scopes = json["scope"]?.string
        self.extras = json["extras"]?.string
    }
}

extension Profile {
    /// The profile with every field that is not at its default.
    var sessionJSON: JSON {
        var members: [String: JSON] = [
            "provider": .string(self.provider), "issuer": .string(self.issuer), "subject": .string(self.subject),
        ]
        for (name, field) in Profile.texts {
            members[name] = self[keyPath: field].map(JSON.string)
        }
        for (name, field) in Profile.flags where self[keyPath: field] {
            members[name] = true
        }
        for (name, field) in Profile.lists where !self[keyPath: field].isEmpty {
            members[name] = .array(self[keyPath: field].map(JSON.string))
        }
        members["groups_sought"] = self.groupsRequested.map { .array($0.sorted().map(JSON.string)) }
        members["auth_time"] = self.authTime.map { .int($0.seconds) }
        if !self.rolesComplete { members["roles_complete"] = false }
        if !self.claims.isEmpty { members["claims"] = .object(self.claims.mapValues(\.json)) }
        return .object(members)
    }

    /// Parses what ``sessionJSON`` returned; nil for anything else.
    init?(sessionJSON json: JSON) {
        guard let provider = json["provider"]?.string, let issuer = json["issuer"]?.string,
            let subject = json["subject"]?.string
        else { return nil }
        self.init(provider: provider, issuer: issuer, subject: subject)
        for (name, field) in Profile.texts {
            self[keyPath: field] = json[name]?.string
        }
        for (name, field) in Profile.flags {
            self[keyPath: field] = json[name]?.bool ?? false
        }
        for (name, field) in Profile.lists {
            self[keyPath: field] = json[name]?.array?.compactMap(\.string) ?? []
        }
        self.groupsRequested = json["groups_sought"]?.array.map { Set($0.compactMap(\.string)) }
        self.authTime = json["auth_time"]?.integer.map(Instant.init(seconds:))
        self.rolesComplete = json["roles_complete"]?.bool ?? true
        self.claims = json["claims"]?.object?.compactMapValues(ClaimValue.init) ?? [:]
    }

    private static var texts: [(name: String, field: WritableKeyPath<Profile, String?>)] {
        [
            ("tenant", \.tenant), ("username", \.username), ("name", \.name), ("given_name", \.givenName),
            ("family_name", \.familyName), ("email", \.email), ("picture", \.picture), ("locale", \.locale),
            ("connected_key", \.connectedKey), ("acr", \.acr),
        ]
    }

    private static var flags: [(name: String, field: WritableKeyPath<Profile, Bool>)] {
        [
            ("email_verified", \.emailVerified), ("email_authoritative", \.emailAuthoritative),
            ("groups_complete", \.groupsComplete),
        ]
    }

    private static var lists: [(name: String, field: WritableKeyPath<Profile, [String]>)] {
        [("groups", \.groups), ("roles", \.roles), ("amr", \.amr)]
    }
}
