// SPDX-License-Identifier: Apache-2.0

/// What an authenticator returns for a new credential: its data, and a statement about where they come from.
///
/// WebAuthn §6.5.4.
struct Attestation: Sendable {
    let data: AuthenticatorData
    let credential: AuthenticatorData.Credential
    private let format: String
    private let statement: CBOR

    /// Reads an attestation object.
    ///
    /// - Throws: The rule that the bytes break.
    init(_ bytes: [UInt8]) throws(PasskeyError) {
        let object = try CBOR(bytes, keys: .any)
        guard object.members?.count == 3, let format = object["fmt"]?.string,
            let authenticatorData = object["authData"]?.byteString, let statement = object["attStmt"],
            statement.members != nil
        else { throw .attestationMalformed }
        self.data = try AuthenticatorData(authenticatorData)
        guard let credential = self.data.credential else { throw .credentialMissing }
        (self.credential, self.format, self.statement) = (credential, format, statement)
    }

    /// Steps 21 and 22 of WebAuthn §7.1: the statement is of a known format and valid.
    ///
    /// Steps 23 and 24 are left out: certificates are not traced to a root, so that no attestation proves the model of an
    /// authenticator. The options ask for `none`, and all models are accepted.
    ///
    /// - Throws: The rule that the statement breaks.
    func verify(clientDataHash: [UInt8]) throws(PasskeyError) {
        switch self.format {
        case "none":
            // WebAuthn §8.7: an empty map.
            guard self.statement.members?.isEmpty == true else { throw .attestationMalformed }
        case "packed":
            try self.verifyPacked(over: self.data.bytes + clientDataHash)
        default:
            throw .attestationFormat(self.format)
        }
    }

    /// WebAuthn §8.2, "Verification procedure".
    private func verifyPacked(over signed: [UInt8]) throws(PasskeyError) {
        guard let number = self.statement["alg"]?.integer, let signature = self.statement["sig"]?.byteString else {
            throw .attestationMalformed
        }
        guard let algorithm = PasskeyAlgorithm(rawValue: number) else { throw .attestationAlgorithm }
        guard let chain = self.statement["x5c"] else {
            // Self attestation: by the key of the credential, with its algorithm.
            guard self.statement.members?.count == 2 else { throw .attestationMalformed }
            guard algorithm == self.credential.key.algorithm else { throw .attestationAlgorithm }
            guard self.credential.key.verifies(signature, over: signed) else { throw .attestationSignature }
            return
        }
        guard self.statement.members?.count == 3, let leaf = chain.elements?.first?.byteString,
            chain.elements?.allSatisfy({ $0.byteString != nil }) == true
        else { throw .attestationMalformed }
        let certificate = try AttestationCertificate(leaf)
        guard certificate.verifies(signature, over: signed, as: algorithm) else { throw .attestationSignature }
        try certificate.check(aaguid: self.credential.aaguid)
    }
}
