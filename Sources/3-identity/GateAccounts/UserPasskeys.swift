// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GatePasskeys

/// A passkey of a user, with what the gateway knows of its use.
package struct SavedPasskey: Sendable, Hashable {
    package internal(set) var passkey: Passkey
    package let added: Instant
    /// When it was used last; nil if never.
    package internal(set) var used: Instant?

    /// The id in forms and commands: the beginning of the hash of the credential id.
    package var id: String { Base64URL.encode(accountDigest("passkey", self.passkey.id).prefix(9)) }
}

package struct UserPasskeys: Sendable, Hashable {
    /// How many passkeys a user may have.
    package static let maxCount = 10
    private static let version: Int64 = 1

    /// The user key.
    package let user: String
    /// The user handle: what authenticators return with a passkey to name its user.
    package let handle: [UInt8]
    /// The passkeys, the oldest first.
    package internal(set) var all: [SavedPasskey] = []

    init(user: String, handle: [UInt8]) {
        (self.user, self.handle) = (user, handle)
    }

    /// The one with a credential id; nil if the user has no such passkey.
    package func passkey(_ credentialID: [UInt8]) -> SavedPasskey? { self.all.first { $0.passkey.id == credentialID } }

    /// The record, before it is sealed.
    var encoded: [UInt8] {
        let passkeys = self.all.map { saved -> JSON in
            var members: [String: JSON] = ["passkey": saved.passkey.json, "added": .int(saved.added.seconds)]
            members["used"] = saved.used.map { .int($0.seconds) }
            return .object(members)
        }
        let members: JSON = [
            "v": .int(UserPasskeys.version), "user": .string(self.user),
            "handle": .string(Base64URL.encode(self.handle)), "passkeys": .array(passkeys),
        ]
        return members.encoded
    }

    /// Reads a record; nil if it is of a later version, or not one.
    init?(encoded bytes: [UInt8]) {
        guard let json = try? JSON(parsing: bytes, depth: 5), json["v"]?.integer == UserPasskeys.version,
            let user = json["user"]?.string, let handle = json["handle"]?.string.flatMap({ Base64URL.decode($0) }),
            let passkeys = json["passkeys"]?.array
        else { return nil }
        self.init(user: user, handle: handle)
        for member in passkeys {
            guard let passkey = member["passkey"].flatMap({ try? Passkey($0) }), let added = member["added"]?.integer
            else { return nil }
            let used = member["used"]?.integer.map(Instant.init(seconds:))
            self.all.append(SavedPasskey(passkey: passkey, added: Instant(seconds: added), used: used))
        }
    }
}
