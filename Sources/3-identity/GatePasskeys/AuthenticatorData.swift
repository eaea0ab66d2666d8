// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// What an authenticator signs about itself and the credential.
///
/// WebAuthn §6.1.
struct AuthenticatorData: Sendable {
    /// What the authenticator did and has.
    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8

        /// UP: the user touched the authenticator or did something alike.
        static let userPresent = Flags(rawValue: 1 << 0)
        /// UV: the authenticator verified the user by PIN or biometrics.
        static let userVerified = Flags(rawValue: 1 << 2)
        /// BE: the credential may be synchronized to other devices.
        static let backupEligible = Flags(rawValue: 1 << 3)
        /// BS: it is.
        static let backedUp = Flags(rawValue: 1 << 4)
        /// AT: the data of the credential follow.
        static let hasCredential = Flags(rawValue: 1 << 6)
        /// ED: extension outputs follow.
        static let hasExtensions = Flags(rawValue: 1 << 7)
        /// Bits 1 and 5, whose meaning is not known.
        static let reserved = Flags(rawValue: 1 << 1 | 1 << 5)
    }

    /// The credential that the authenticator made.
    ///
    /// WebAuthn §6.5.1.
    struct Credential: Sendable {
        /// How many bytes an id may have.
        static let idLengths = 1...1023

        /// The model of the authenticator, 16 bytes, zeros if it does not disclose it.
        let aaguid: [UInt8]
        /// 1 to 1023 bytes.
        let id: [UInt8]
        let encodedKey: [UInt8]
        /// The same key, checked.
        let key: COSEKey
    }

    /// The longest data of an assertion, in bytes.
    static let maxBytes = 4096
    private static let fixedBytes = 37

    /// The data as they were signed.
    let bytes: [UInt8]
    /// The SHA-256 of the RP ID.
    let relyingPartyIDHash: [UInt8]
    let flags: Flags
    /// The signature counter; 0 for authenticators that have none.
    let counter: UInt32
    /// The credential, if the flag AT is set.
    let credential: Credential?
    /// A map from the names of extensions to their outputs, if the flag ED is set.
    let extensions: CBOR?

    /// Reads authenticator data.
    ///
    /// - Throws: The rule that the bytes break.
    init(_ bytes: [UInt8]) throws(PasskeyError) {
        guard bytes.count >= AuthenticatorData.fixedBytes else { throw .authenticatorDataTooShort }
        self.bytes = bytes
        self.relyingPartyIDHash = Array(bytes[..<32])
        self.flags = Flags(rawValue: bytes[32])
        self.counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        guard self.flags.isDisjoint(with: .reserved) else { throw .reservedFlags }
        var rest = bytes[AuthenticatorData.fixedBytes...]
        self.credential = self.flags.contains(.hasCredential) ? try Credential(readingFrom: &rest) : nil
        self.extensions = self.flags.contains(.hasExtensions) ? try AuthenticatorData.extensions(from: &rest) : nil
        guard rest.isEmpty else { throw .authenticatorDataTrailingBytes }
    }

    /// Steps 14 to 17 of WebAuthn §7.1, and 15 to 18 of §7.2.
    ///
    /// - Throws: The first rule that is broken.
    func check(_ relyingParty: PasskeyRelyingParty, _ verification: UserVerification) throws(PasskeyError) {
        // The SHA-256 of the RP ID.
        guard constantTimeEquals(self.relyingPartyIDHash, Array(SHA256.hash(data: Array(relyingParty.id.utf8)))) else {
            throw .relyingPartyMismatch
        }
        // UP.
        guard self.flags.contains(.userPresent) else { throw .userNotPresent }
        // UV.
        guard verification != .required || self.flags.contains(.userVerified) else { throw .userNotVerified }
        // BS without BE.
        guard !self.flags.contains(.backedUp) || self.flags.contains(.backupEligible) else {
            throw .backedUpNotEligible
        }
    }

    private static func extensions(from rest: inout ArraySlice<UInt8>) throws(PasskeyError) -> CBOR {
        let (value, after) = try CBOR.prefix(of: rest, keys: .any)
        guard let members = value.members, members.allSatisfy({ $0.key.string != nil }) else { throw .extensions }
        rest = after
        return value
    }
}

extension AuthenticatorData.Credential {
    /// AAGUID, length of the id, id, key.
    fileprivate init(readingFrom rest: inout ArraySlice<UInt8>) throws(PasskeyError) {
        guard rest.count >= 18 else { throw .authenticatorDataTooShort }
        self.aaguid = Array(rest.prefix(16))
        let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(18)
        guard AuthenticatorData.Credential.idLengths.contains(length) else { throw .credentialIDLength(length) }
        guard rest.count >= length else { throw .authenticatorDataTooShort }
        self.id = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        let (value, after) = try CBOR.prefix(of: rest, keys: .canonical)
        self.encodedKey = Array(rest[..<after.startIndex])
        self.key = try COSEKey(value)
        rest = after
    }
}
