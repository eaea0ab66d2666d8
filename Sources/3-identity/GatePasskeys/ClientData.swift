// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import GateCore

/// What a browser collected about a ceremony; the authenticator signs its hash.
///
/// WebAuthn §5.8.1.
struct ClientData: Sendable {
    /// What the authenticator was asked for.
    enum Ceremony: String {
        /// To make a passkey.
        case creation = "webauthn.create"
        /// To use one.
        case assertion = "webauthn.get"
    }

    /// The longest client data, in bytes; browsers write about 200.
    static let maxBytes = 4096

    /// The SHA-256 of the bytes as the browser sent them.
    let hash: [UInt8]
    private let type: String
    private let challenge: String
    private let origin: String
    private let isCrossOrigin: Bool
    private let topOrigin: String?

    /// Reads client data.
    ///
    /// One object of JSON without a byte order mark, which the serialization of §5.8.1.1 never has. Unknown members are ignored,
    /// as §5.8.1 requires.
    ///
    /// - Throws: `clientDataMalformed`.
    init(_ bytes: [UInt8]) throws(PasskeyError) {
        // What is not JSON is not client data.
        guard bytes.count <= ClientData.maxBytes, let json = try? JSON(parsing: bytes, depth: 4),
            let type = json["type"]?.string, let challenge = json["challenge"]?.string,
            let origin = json["origin"]?.string
        else { throw .clientDataMalformed }
        guard json["crossOrigin"].map({ $0.bool != nil }) ?? true, json["topOrigin"].map({ $0.string != nil }) ?? true
        else { throw .clientDataMalformed }
        self.hash = Array(SHA256.hash(data: bytes))
        (self.type, self.challenge, self.origin) = (type, challenge, origin)
        self.isCrossOrigin = json["crossOrigin"]?.bool ?? false
        self.topOrigin = json["topOrigin"]?.string
    }

    /// Steps 7 to 11 of WebAuthn §7.1, and 10 to 14 of §7.2.
    ///
    /// - Throws: The first rule that is broken.
    func check(
        _ ceremony: Ceremony,
        _ challenge: PasskeyChallenge,
        _ relyingParty: PasskeyRelyingParty
    ) throws(PasskeyError) {
        // The type.
        guard isIdentical(self.type, ceremony.rawValue) else { throw .ceremony }
        // The challenge.
        guard constantTimeEquals(Array(self.challenge.utf8), Array(challenge.text.utf8)) else {
            throw .challengeMismatch
        }
        // The origin.
        guard relyingParty.allows(origin: self.origin) else { throw .originNotAllowed(self.origin) }
        // An embedded page: no other site may embed the pages that use passkeys.
        guard !self.isCrossOrigin else { throw .crossOrigin }
        // The page that embeds it; present only where the step before is broken.
        guard self.topOrigin == nil else { throw .crossOrigin }
    }
}
