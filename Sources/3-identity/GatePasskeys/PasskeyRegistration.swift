// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The registration of a passkey: what the browser is asked for, and the check of its response.
///
/// WebAuthn §7.1.
///
/// The caller makes the same value again for the response, from its configuration, the signed-in user and the challenge that it
/// kept; so what was asked for and what is checked cannot differ.
package struct PasskeyRegistration: Sendable {
    /// For whom a passkey is.
    ///
    /// WebAuthn §5.4.3.
    package struct User: Sendable {
        /// How many bytes a user handle may have.
        package static let idLengths = 1...64

        let id: [UInt8]
        let name: String
        let displayName: String

        /// A user.
        ///
        /// - Parameters:
        ///   - id: The user handle: 1 to 64 bytes that stay the same and are not personal data, such as random ones.
        ///   - name: What the user signs in with, shown by authenticators.
        ///   - displayName: What the user is called.
        /// - Throws: `userHandleLength`.
        package init(id: [UInt8], name: String, displayName: String) throws(PasskeyError) {
            guard User.idLengths.contains(id.count) else { throw .userHandleLength(id.count) }
            (self.id, self.name, self.displayName) = (id, name, displayName)
        }
    }

    /// Whether the authenticator has to be able to find the passkey without its id.
    ///
    /// WebAuthn §5.4.6.
    package enum ResidentKey: String, Sendable {
        /// It has to, so that the user need not name an account to sign in.
        case required
        /// It should, if it can.
        case preferred
    }

    private let relyingParty: PasskeyRelyingParty
    private let user: User
    private let challenge: PasskeyChallenge
    /// What the user may make, best first; at least one.
    package var algorithms = PasskeyAlgorithm.allCases
    /// Whether the user has to be verified.
    package var userVerification = UserVerification.required
    /// Whether the passkey has to be discoverable; a hint, which no response proves.
    package var residentKey = ResidentKey.required
    /// The passkeys that the user has, so that no authenticator makes a second one.
    package var existing: [Passkey] = []
    /// How long the browser waits for the user.
    package var timeout = Duration.seconds(300)

    /// A registration with the strictest settings; change its properties for others.
    package init(_ relyingParty: PasskeyRelyingParty, user: User, challenge: PasskeyChallenge) {
        (self.relyingParty, self.user, self.challenge) = (relyingParty, user, challenge)
    }

    /// The argument of `PublicKeyCredential.parseCreationOptionsFromJSON`, for `navigator.credentials.create`.
    ///
    /// `PublicKeyCredentialCreationOptionsJSON`, WebAuthn §5.1.8.
    package var options: JSON {
        let offered = self.algorithms.map { JSON.object(["type": "public-key", "alg": .int($0.rawValue)]) }
        return [
            "rp": ["id": .string(self.relyingParty.id), "name": .string(self.relyingParty.name)],
            "user": [
                "id": .string(Base64URL.encode(self.user.id)), "name": .string(self.user.name),
                "displayName": .string(self.user.displayName),
            ],
            "challenge": .string(self.challenge.text), "pubKeyCredParams": .array(offered),
            "timeout": .milliseconds(self.timeout), "excludeCredentials": .array(self.existing.map(\.descriptor)),
            "authenticatorSelection": [
                "residentKey": .string(self.residentKey.rawValue),
                // For browsers of WebAuthn Level 1.
                "requireResidentKey": .bool(self.residentKey == .required),
                "userVerification": .string(self.userVerification.rawValue),
            ],
            "attestation": "none",
        ]
    }

    /// Verifies a response and returns the new passkey.
    ///
    /// Two steps are the caller's: that the challenge is used once, and step 26, that no user has a passkey of this id.
    ///
    /// - Parameters:
    ///   - response: `RegistrationResponseJSON`; the caller bounds its size.
    ///   - name: The user's name for the passkey.
    /// - Returns: What to save for the user.
    /// - Throws: The first rule that is broken.
    package func passkey(from response: JSON, name: String) throws(PasskeyError) -> Passkey {
        // Steps 1 to 4 are the browser's; extensions are not asked for, and outputs of others ignored.
        let response = try PasskeyResponse(response)
        // Steps 5 and 6: the client data. Step 12: their hash.
        let clientData = try ClientData(try response.bytes("clientDataJSON", limit: ClientData.maxBytes))
        // Steps 7 to 11: type, challenge, origin and no embedding page.
        try clientData.check(.creation, self.challenge, self.relyingParty)
        // Step 13: the attestation object. Step 25: the length of the credential id.
        let attestation = try Attestation(try response.bytes("attestationObject", limit: CBOR.maxBytes))
        // Steps 14 to 17: RP ID, UP, UV, and BS only with BE. Steps 18 and 19 have no policy here.
        try attestation.data.check(self.relyingParty, self.userVerification)
        // Not a step, but the id outside has to be that which the authenticator returned.
        guard attestation.credential.id == response.id else { throw .credentialIDMismatch }
        // Step 20: the algorithm.
        let algorithm = attestation.credential.key.algorithm
        guard self.algorithms.contains(algorithm) else { throw .algorithmNotOffered(algorithm.rawValue) }
        // Steps 21 to 24: the attestation statement.
        try attestation.verify(clientDataHash: clientData.hash)
        // Step 27: the credential record.
        return try Passkey(
            attestation.credential,
            attestation.data,
            transports: try response.transports(),
            name: name
        )
    }
}

extension JSON {
    /// A duration as the options have it.
    static func milliseconds(_ duration: Duration) -> JSON {
        .int(duration.wholeMilliseconds)
    }
}
