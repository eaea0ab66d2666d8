// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// A registered credential, as it is saved with the user's account.
///
/// WebAuthn §4, "credential record".
package struct Passkey: Sendable, Hashable {
    /// The longest name, in bytes.
    private static let maxNameBytes = 200
    private static let version: Int64 = 1
    private static let maxTransports = 8

    /// The credential id, 1 to 1023 bytes; unique among all users.
    package let id: [UInt8]
    /// The public key as COSE bytes.
    package let publicKey: [UInt8]
    /// The last signature counter; 0 for authenticators that have none.
    package private(set) var counter: UInt32
    /// How browsers reach the authenticator, sorted: hints for the next request, not proved.
    package let transports: [String]
    /// The model of the authenticator, 16 bytes, zeros if undisclosed; not proved, since no trust path is evaluated.
    package let aaguid: [UInt8]
    /// Whether it may be synchronized to other devices.
    package let isBackupEligible: Bool
    /// What kind of key it is, `hwk` of one device or `swk` that is copied to others: RFC 8176 §2.
    package var method: String { self.isBackupEligible ? "swk" : "hwk" }
    /// Whether it was, when it was used last.
    package private(set) var isBackedUp: Bool
    /// Whether the authenticator verified the user at registration.
    package let isUserVerified: Bool
    /// The user's name for it, printable, 1 to 200 bytes.
    package let name: String

    init(
        _ credential: AuthenticatorData.Credential,
        _ data: AuthenticatorData,
        transports: [String],
        name: String
    ) throws(PasskeyError) {
        guard Passkey.isName(name) else { throw .passkeyName(maxBytes: Passkey.maxNameBytes) }
        (self.id, self.publicKey, self.aaguid) = (credential.id, credential.encodedKey, credential.aaguid)
        self.counter = data.counter
        self.transports = transports
        self.isBackupEligible = data.flags.contains(.backupEligible)
        self.isBackedUp = data.flags.contains(.backedUp)
        self.isUserVerified = data.flags.contains(.userVerified)
        self.name = name
    }

    /// Reads what ``json`` wrote.
    ///
    /// - Throws: `savedPasskey`.
    package init(_ json: JSON) throws(PasskeyError) {
        func bytes(_ name: String) -> [UInt8]? { json[name]?.string.flatMap { Base64URL.decode($0) } }
        guard json["v"]?.integer == Passkey.version, let id = bytes("id"),
            AuthenticatorData.Credential.idLengths.contains(id.count),
            let publicKey = bytes("key"), let aaguid = bytes("aaguid"), aaguid.count == 16,
            let counter = json["counter"]?.integer.flatMap({ UInt32(exactly: $0) }),
            let transports = Passkey.transports(json["transports"]), let name = json["name"]?.string,
            Passkey.isName(name), let isBackupEligible = json["be"]?.bool, let isBackedUp = json["bs"]?.bool,
            let isUserVerified = json["uv"]?.bool
        else { throw .savedPasskey }
        (self.id, self.publicKey, self.counter, self.transports) = (id, publicKey, counter, transports)
        (self.aaguid, self.name) = (aaguid, name)
        (self.isBackupEligible, self.isBackedUp, self.isUserVerified) = (isBackupEligible, isBackedUp, isUserVerified)
    }

    /// The passkey for storage; it holds no secret.
    package var json: JSON {
        [
            "v": .int(Passkey.version), "id": .string(Base64URL.encode(self.id)),
            "key": .string(Base64URL.encode(self.publicKey)), "counter": .int(Int64(self.counter)),
            "transports": .array(self.transports.map(JSON.string)), "aaguid": .string(Base64URL.encode(self.aaguid)),
            "be": .bool(self.isBackupEligible), "bs": .bool(self.isBackedUp), "uv": .bool(self.isUserVerified),
            "name": .string(self.name),
        ]
    }

    /// The passkey as `excludeCredentials` and `allowCredentials` name it, WebAuthn §5.8.3.
    var descriptor: JSON {
        [
            "type": "public-key", "id": .string(Base64URL.encode(self.id)),
            "transports": .array(self.transports.map(JSON.string)),
        ]
    }

    /// The passkey after a use.
    func used(_ data: AuthenticatorData) -> Passkey {
        var passkey = self
        passkey.counter = data.counter
        passkey.isBackedUp = data.flags.contains(.backedUp)
        return passkey
    }

    /// Transports without repetitions, sorted, those not known yet included as WebAuthn §5.8.4 wants; nil if malformed.
    static func transports(_ json: JSON?) -> [String]? {
        guard let list = (json ?? []).array, list.count <= self.maxTransports else { return nil }
        let names = list.compactMap(\.string).filter { name in
            (1...32).contains(name.utf8.count) && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        }
        return names.count == list.count ? Set(names).sorted() : nil
    }

    private static func isName(_ name: String) -> Bool {
        (1...self.maxNameBytes).contains(name.utf8.count) && PrintableText.isPrintable(name)
    }
}
