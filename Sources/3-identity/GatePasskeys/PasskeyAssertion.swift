// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// The use of a passkey: what the browser is asked for, and the check of its response.
///
/// WebAuthn §7.2.
///
/// As with ``PasskeyRegistration``, the caller makes the same value again for the response.
package struct PasskeyAssertion: Sendable {
    /// A response whose form is checked, and nothing else: with it the caller finds the passkey.
    package struct Response: Sendable {
        package let credentialID: [UInt8]
        /// The user handle, if the authenticator returned one.
        package let userHandle: [UInt8]?
        fileprivate let clientData: ClientData
        fileprivate let data: AuthenticatorData
        fileprivate let signature: [UInt8]

        /// The longest signature, in bytes: that of an RSA key of 4096 bits.
        private static let maxSignature = 512

        /// Reads an `AuthenticationResponseJSON`; the caller bounds its size.
        ///
        /// - Throws: The rule that its form breaks.
        package init(_ json: JSON) throws(PasskeyError) {
            // Steps 3 and 4: extensions are not asked for, and outputs of others ignored.
            let response = try PasskeyResponse(json)
            self.credentialID = response.id
            let limit = PasskeyRegistration.User.idLengths.upperBound
            self.userHandle = try response.optionalBytes("userHandle", limit: limit)
            // Steps 7 to 9. Step 20: the hash of the client data. A credential within the authenticator data is read but not used.
            self.clientData = try ClientData(try response.bytes("clientDataJSON", limit: ClientData.maxBytes))
            self.data = try AuthenticatorData(
                try response.bytes("authenticatorData", limit: AuthenticatorData.maxBytes)
            )
            self.signature = try response.bytes("signature", limit: Response.maxSignature)
        }
    }

    /// What a response proves.
    package struct Proof: Sendable, Equatable {
        /// The passkey with its new counter and backup state, to be saved in place of the old one.
        package let passkey: Passkey
        /// Whether the authenticator verified the user, now and when the passkey was registered.
        ///
        /// If not then, a thief of the authenticator may have set the PIN. WebAuthn §4, `uvInitialized`.
        package let isUserVerified: Bool
    }

    private let relyingParty: PasskeyRelyingParty
    private let challenge: PasskeyChallenge
    /// The passkeys that may be used; empty for any discoverable one, which then has to name its user.
    package var allowed: [Passkey] = []
    /// Whether the user has to be verified.
    package var userVerification = UserVerification.required
    /// How long the browser waits for the user.
    package var timeout = Duration.seconds(300)

    /// An assertion by any passkey of a verified user; change its properties for others.
    package init(_ relyingParty: PasskeyRelyingParty, challenge: PasskeyChallenge) {
        (self.relyingParty, self.challenge) = (relyingParty, challenge)
    }

    /// The argument of `PublicKeyCredential.parseRequestOptionsFromJSON`, for `navigator.credentials.get`.
    ///
    /// `PublicKeyCredentialRequestOptionsJSON`, WebAuthn §5.1.9.
    package var options: JSON {
        [
            "challenge": .string(self.challenge.text), "rpId": .string(self.relyingParty.id),
            "timeout": .milliseconds(self.timeout), "allowCredentials": .array(self.allowed.map(\.descriptor)),
            "userVerification": .string(self.userVerification.rawValue),
        ]
    }

    /// Verifies a response by a passkey.
    ///
    /// That the challenge is used once is the caller's.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - passkey: The passkey of its credential id, as it was saved last.
    ///   - userID: The user handle of the user whose passkey it is.
    /// - Returns: What is proved, and what to save.
    /// - Throws: The first rule that is broken.
    package func proof(
        in response: Response,
        of passkey: Passkey,
        userID: [UInt8]
    ) throws(PasskeyError) -> Proof {
        // Step 5: the credential is one of those asked for.
        guard self.allowed.isEmpty || self.allowed.contains(where: { $0.id == response.credentialID }) else {
            throw .credentialNotAllowed
        }
        // Step 6: the user has the passkey, and is named by the response if by nothing else.
        guard response.credentialID == passkey.id else { throw .credentialUnknown }
        guard !self.allowed.isEmpty || response.userHandle != nil else { throw .userHandleMissing }
        guard response.userHandle.map({ constantTimeEquals($0, userID) }) ?? true else { throw .userHandleMismatch }
        // Steps 10 to 14: type, challenge, origin and no embedding page.
        try response.clientData.check(.assertion, self.challenge, self.relyingParty)
        // Steps 15 to 18: RP ID, UP, UV, and BS only with BE.
        try response.data.check(self.relyingParty, self.userVerification)
        let isUserVerified = response.data.flags.contains(.userVerified) && passkey.isUserVerified
        guard self.userVerification != .required || isUserVerified else { throw .userNeverVerified }
        // Step 19: BE never changes.
        guard response.data.flags.contains(.backupEligible) == passkey.isBackupEligible else {
            throw .backupEligibilityChanged
        }
        // Step 21: the signature.
        let signed = response.data.bytes + response.clientData.hash
        guard try COSEKey(passkey.publicKey).verifies(response.signature, over: signed) else { throw .signature }
        // Step 22: the counter grows, unless the authenticator has none.
        let (saved, received) = (passkey.counter, response.data.counter)
        guard received > saved || (saved == 0 && received == 0) else {
            throw .clonedAuthenticator(saved: saved, received: received)
        }
        // The update of the credential record; a first verification of the user is not taken over, as nothing else proves it.
        return Proof(passkey: passkey.used(response.data), isUserVerified: isUserVerified)
    }
}
