// SPDX-License-Identifier: Apache-2.0

internal import GateCore

extension Account {
    /// The version of the records that this program writes.
    private static let version: Int64 = 1

    /// The record, before it is sealed.
    var encoded: [UInt8] {
        var members: [String: JSON] = [
            "v": .int(Account.version), "id": .string(self.id), "created": .int(self.created.seconds),
            "verified": .bool(self.isEmailVerified), "groups": .array(self.groups.map(JSON.string)),
            "disabled": .bool(self.isDisabled), "generation": .int(self.generation),
        ]
        members["email"] = self.email.map(JSON.string)
        members["username"] = self.username.map(JSON.string)
        members["name"] = self.name.map(JSON.string)
        members["password"] = self.password.map { .string($0.text) }
        members["password_changed"] = self.passwordChanged.map { .int($0.seconds) }
        members["link"] = self.link?.json
        if !self.recovery.isEmpty { members["recovery"] = .array(self.recovery.map(\.json)) }
        members["codes"] = self.codes.map { codes in
            [
                "secret": .string(codes.secret.withBytes { Base64URL.encode($0) }), "last": .int(codes.lastStep),
                "recovery": .array(codes.recovery.map { .string(Base64URL.encode($0)) }),
            ]
        }
        return JSON.object(members).encoded
    }

    /// Reads a record; nil if it is of a later version, or not one.
    init?(encoded bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes, depth: 4), json["v"]?.integer == Account.version,
            let id = json["id"]?.string, let created = json["created"]?.integer
        else { return nil }
        self.init(id: id, created: Instant(seconds: created))
        self.email = json["email"]?.string
        self.isEmailVerified = json["verified"] == .bool(true)
        self.username = json["username"]?.string
        self.name = json["name"]?.string
        self.groups = json["groups"]?.array?.compactMap(\.string) ?? []
        self.isDisabled = json["disabled"] != .bool(false)
        self.generation = json["generation"]?.integer ?? 0
        self.password = json["password"]?.string.flatMap { PasswordHash(phc: $0) }
        self.passwordChanged = json["password_changed"]?.integer.map(Instant.init(seconds:))
        self.link = json["link"].flatMap(AccountLink.init(json:))
        self.recovery = json["recovery"]?.array?.compactMap(AccountLink.init(json:)) ?? []
        guard let codes = json["codes"] else { return }
        // A second factor that cannot be read must not become none.
        guard let secret = codes["secret"]?.string.flatMap({ Base64URL.decode($0) }),
            let last = codes["last"]?.integer
        else { return nil }
        self.codes = SecondFactor(
            secret: Secret(secret),
            lastStep: last,
            recovery: (codes["recovery"]?.array ?? []).compactMap { $0.string.flatMap { Base64URL.decode($0) } }
        )
    }
}

extension AccountLink {
    fileprivate var json: JSON {
        [
            "hash": .string(Base64URL.encode(self.hash)), "expires": .int(self.expires.seconds),
            "verifies": .bool(self.verifiesEmail),
        ]
    }

    fileprivate init?(json: JSON) {
        guard let hash = json["hash"]?.string.flatMap({ Base64URL.decode($0) }),
            let expires = json["expires"]?.integer
        else { return nil }
        self.init(
            hash: hash,
            expires: Instant(seconds: expires),
            verifiesEmail: json["verifies"] == .bool(true)
        )
    }
}
