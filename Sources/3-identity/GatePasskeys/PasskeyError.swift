// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// Why a passkey is not accepted, or cannot be asked for: one case for each rule.
package enum PasskeyError: Error, Sendable, Equatable {
    // What the operator or the caller has to change.

    /// The RP ID is not a host name in lower case.
    case relyingPartyID(String)
    /// There is no origin that may use passkeys.
    case originsMissing
    /// An origin is neither the RP ID nor below it.
    case originOutside(String, relyingPartyID: String)
    /// An origin is plain http, and not on this machine.
    case originNotSecure(String)
    /// A challenge does not have 16 to 64 bytes.
    case challengeLength(Int)
    /// A user handle does not have 1 to 64 bytes.
    case userHandleLength(Int)
    /// The user's name for a passkey is empty, too long or not printable.
    case passkeyName(maxBytes: Int)
    /// What was saved is not a passkey of a known version.
    case savedPasskey

    // What no browser sends.

    /// A member of the response is missing or malformed.
    case response(member: String)
    /// The client data are not the JSON that browsers write, or too long.
    case clientDataMalformed
    /// The CBOR is longer than allowed.
    case cborTooLong
    /// The CBOR nests deeper than CTAP allows.
    case cborTooDeep
    case cborTooManyItems
    /// The CBOR ends before its item does.
    case cborTruncated
    /// The CBOR has bytes after its item.
    case cborTrailingBytes
    /// The CBOR has an item of indefinite length.
    case cborIndefiniteLength
    /// The CBOR has a number or length that is not in its shortest form.
    case cborLongForm
    /// The CBOR has a tag, a floating-point number, or a key that is neither number nor text.
    case cborType
    /// The CBOR has a text that is not UTF-8.
    case cborText
    /// The CBOR has a map with one key twice.
    case cborDuplicateKey
    /// The CBOR has a public key whose map is not sorted.
    case cborKeyOrder
    /// The authenticator data end early.
    case authenticatorDataTooShort
    /// The authenticator data have bytes after the last field.
    case authenticatorDataTrailingBytes
    /// The authenticator data set a reserved flag.
    case reservedFlags
    /// The authenticator data set BS without BE.
    case backedUpNotEligible
    /// The extension outputs are not a map with names.
    case extensions
    /// The id of the credential does not have 1 to 1023 bytes.
    case credentialIDLength(Int)
    /// The id of the credential is another one in the authenticator data.
    case credentialIDMismatch

    // The ceremony.

    /// The client data are of another ceremony.
    case ceremony
    /// The challenge is another one.
    case challengeMismatch
    /// The origin is not one of those allowed.
    case originNotAllowed(String)
    /// The page was embedded in one of another origin.
    case crossOrigin
    /// The authenticator data are for another RP ID.
    case relyingPartyMismatch
    /// The user did not touch the authenticator.
    case userNotPresent
    /// The authenticator did not verify the user.
    case userNotVerified

    // Registration.

    /// The authenticator data have no credential.
    case credentialMissing
    /// The key is for an algorithm that is not known.
    case keyAlgorithm
    /// The algorithm of the key was not among those offered.
    case algorithmNotOffered(Int64)
    /// The key has a parameter too few, too many or of another form.
    case keyParameters
    /// The point of the key is not on the curve, or of small order.
    case keyPoint
    /// The RSA modulus is even, or does not have 2048 to 4096 bits.
    case keyModulus(bits: Int)
    /// The RSA exponent is even, or not from 65537 to 2^32.
    case keyExponent
    /// The attestation object or its statement is malformed.
    case attestationMalformed
    /// The attestation has a format that is not supported.
    case attestationFormat(String)
    /// The attestation has an algorithm that is not known, or not that of the key.
    case attestationAlgorithm
    /// The signature of the attestation is not valid.
    case attestationSignature
    /// The attestation certificate breaks a rule of WebAuthn §8.2.1.
    case attestationCertificate(String)

    // Authentication.

    /// The credential is not one of those that were asked for.
    case credentialNotAllowed
    /// The credential is another one than the passkey.
    case credentialUnknown
    /// The response has no user handle, and nothing else names the user.
    case userHandleMissing
    /// The user handle is that of another user.
    case userHandleMismatch
    /// The flag BE is not as it was at registration.
    case backupEligibilityChanged
    /// The signature is not that of the passkey.
    case signature
    /// The counter did not grow: there may be a copy of the authenticator.
    case clonedAuthenticator(saved: UInt32, received: UInt32)
    /// Verification of the user is required, but was not done when the passkey was registered.
    case userNeverVerified
}

extension PasskeyError {
    /// What failed and why, for the log; what was received is escaped.
    package var message: String {
        switch self {
        case .relyingPartyID(let id):
            "the RP ID '\(PrintableText.escaped(id, limit: 100))' is not a host name in lower case; IP addresses cannot be one"
        case .originsMissing: "no origin may use passkeys; name at least one"
        case .originOutside(let origin, let id):
            "the origin \(origin) cannot use passkeys of '\(id)', since its host is neither that nor below it"
        case .originNotSecure(let origin): "the origin \(origin) cannot use passkeys, since it is not https"
        case .challengeLength(let count): "the challenge has \(count) bytes instead of 16 to 64"
        case .userHandleLength(let count): "the user handle has \(count) bytes instead of 1 to 64"
        case .passkeyName(let limit):
            "the name of the passkey is empty, longer than \(limit) bytes or has a control character"
        case .savedPasskey: "the saved passkey is damaged or from a newer version"
        case .response(let member): "the member '\(member)' of the response is missing or malformed"
        case .clientDataMalformed: "the client data are not JSON as browsers write it, or too long"
        case .cborTooLong: "the CBOR is longer than any of WebAuthn"
        case .cborTooDeep: "the CBOR nests deeper than CTAP allows"
        case .cborTooManyItems: "the CBOR has more items than any of WebAuthn"
        case .cborTruncated: "the CBOR ends within an item"
        case .cborTrailingBytes: "the CBOR has bytes after its end"
        case .cborIndefiniteLength: "the CBOR has an indefinite length, which CTAP does not allow"
        case .cborLongForm: "the CBOR has a number that is not in its shortest form, which CTAP does not allow"
        case .cborType: "the CBOR has a tag, a floating-point number or another type that WebAuthn does not use there"
        case .cborText: "the CBOR has a text that is not UTF-8"
        case .cborDuplicateKey: "the CBOR has a key twice in one map"
        case .cborKeyOrder: "the public key is not sorted, which CTAP requires"
        case .authenticatorDataTooShort: "the authenticator data end within a field"
        case .authenticatorDataTrailingBytes: "the authenticator data have bytes after their end"
        case .reservedFlags: "the authenticator data set a flag whose meaning is not known"
        case .backedUpNotEligible: "the authenticator reports a backup of a passkey that cannot have one"
        case .extensions: "the extension outputs are not a map from names"
        case .credentialIDLength(let count): "the id of the credential has \(count) bytes instead of 1 to 1023"
        case .credentialIDMismatch: "the id of the credential is not that in the authenticator data"
        case .ceremony: "the response is for another ceremony, registration or authentication"
        case .challengeMismatch: "the response is for another challenge, so it is too old or repeated"
        case .originNotAllowed(let origin):
            "the origin '\(PrintableText.escaped(origin, limit: 100))' may not use passkeys; the page may be a forgery"
        case .crossOrigin: "the page is embedded in one of another origin, which may not use passkeys"
        case .relyingPartyMismatch: "the authenticator signed for another RP ID"
        case .userNotPresent: "the authenticator did not check that a user is present"
        case .userNotVerified: "the authenticator did not verify the user by PIN or biometrics, which is required"
        case .credentialMissing: "the response to a registration has no credential"
        case .keyAlgorithm: "the public key has an algorithm that is not known"
        case .algorithmNotOffered(let algorithm):
            "the public key has the algorithm \(algorithm), which was not offered"
        case .keyParameters: "the public key has a parameter too few, too many or of another form"
        case .keyPoint: "the public key is not a point of its curve that can be one"
        case .keyModulus(let bits): "the RSA key has \(bits) bits or is even; 2048 to 4096 bits are accepted"
        case .keyExponent: "the RSA key has an exponent that is even, below 65537 or over 32 bits"
        case .attestationMalformed: "the attestation is malformed"
        case .attestationFormat(let format):
            "the attestation format '\(PrintableText.escaped(format, limit: 32))' is not supported; ask for 'none'"
        case .attestationAlgorithm: "the attestation has an algorithm that is not known, or not that of the key"
        case .attestationSignature: "the signature of the attestation is not valid"
        case .attestationCertificate(let rule): "the attestation certificate \(rule)"
        case .credentialNotAllowed: "the credential is not one of those asked for"
        case .credentialUnknown: "the credential is not the one of the passkey"
        case .userHandleMissing: "the response has no user handle, so it does not name its user"
        case .userHandleMismatch: "the user handle is that of another user"
        case .backupEligibilityChanged: "the authenticator changed whether the passkey can have a backup"
        case .signature: "the signature is not that of the passkey"
        case .clonedAuthenticator(let saved, let received):
            "the signature counter went from \(saved) to \(received), so there may be a copy of the authenticator"
        case .userNeverVerified: "the user was not verified when the passkey was registered; register it again"
        }
    }
}
