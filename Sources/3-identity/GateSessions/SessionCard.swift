// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What an operator sees of a session, without the ticket that opens the session itself.
///
/// It is sealed with the gateway secret only, for the key of its record: a copy of the database does not open it.
package struct SessionCard: Sendable, Hashable {
    /// The id of the session, `sid` in assertions.
    package let id: String
    /// The user key.
    package let user: String
    /// The name of the provider.
    package let provider: String
    /// The name to show.
    package let name: String?
    /// The email address.
    package let email: String?
    /// The host of the cookie.
    package let host: String
    /// When the user signed in.
    package let created: Instant
    /// When the user last authenticated at the provider.
    package let authTime: Instant?
    /// The browser and the operating system, such as `Firefox on Linux`.
    package let device: String?
    /// Which of the user's sign-ins of the same second it is, from 0; counted only where their number is limited.
    let order: Int64

    /// The number of characters after which a name is cut.
    private static let maxName = 200

    init(of session: Session) {
        self.id = session.id
        self.user = session.profile.user
        self.provider = session.provider
        self.name = (session.profile.name ?? session.profile.username).map(SessionCard.bounded)
        self.email = session.profile.email.map(SessionCard.bounded)
        self.host = session.host
        self.created = session.created
        self.authTime = session.profile.authTime
        self.device = session.device
        self.order = session.order
    }

    private static func bounded(_ text: String) -> String { PrintableText.escaped(text, limit: SessionCard.maxName) }
}

extension SessionCard {
    /// The sealed card of a session, for the record under `key`.
    static func sealed(_ session: Session, key: [UInt8], by sealer: Sealer) -> [UInt8] {
        sealer.seal(SessionCard(of: session).json.encoded, for: self.purpose(key))
    }

    /// Opens the card of a record; nil if it cannot be read.
    init?(of record: SessionRecord, by sealer: Sealer) {
        guard let plain = sealer.open(record.card, for: SessionCard.purpose(record.key)),
            let json = try? JSON(parsing: plain, depth: 1), let id = json["id"]?.string,
            let user = json["user"]?.string, let provider = json["provider"]?.string, let host = json["host"]?.string,
            let created = json["created"]?.integer
        else { return nil }
        self.id = id
        self.user = user
        self.provider = provider
        self.name = json["name"]?.string
        self.email = json["email"]?.string
        self.host = host
        self.created = Instant(seconds: created)
        self.authTime = json["auth_time"]?.integer.map(Instant.init(seconds:))
        self.device = json["device"]?.string
        self.order = max(json["order"]?.integer ?? 0, 0)
    }

    private var json: JSON {
        var members: [String: JSON] = [
            "id": .string(self.id), "user": .string(self.user), "provider": .string(self.provider),
            "host": .string(self.host), "created": .int(self.created.seconds),
        ]
        members["name"] = self.name.map(JSON.string)
        members["email"] = self.email.map(JSON.string)
        members["auth_time"] = self.authTime.map { .int($0.seconds) }
        members["device"] = self.device.map(JSON.string)
        if self.order > 0 { members["order"] = .int(self.order) }
        return .object(members)
    }

    /// The purpose of seals; it has the key, so that cards cannot be swapped in the store.
    private static func purpose(_ key: [UInt8]) -> String { "session/card/\(Base64URL.encode(key))" }
}
