// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What a browser returns for either ceremony, by `PublicKeyCredential.toJSON()`.
///
/// WebAuthn §5.1, `RegistrationResponseJSON` and `AuthenticationResponseJSON`.
///
/// The members that repeat what is in the signed bytes (`publicKey`, `publicKeyAlgorithm`, `authenticatorData` of a registration)
/// are not read, nor are `authenticatorAttachment` and the outputs of client extensions, since none is asked for.
struct PasskeyResponse: Sendable {
    /// The credential id, 1 to 1023 bytes.
    let id: [UInt8]
    private let members: JSON

    /// Reads what both ceremonies have.
    ///
    /// - Throws: `response`.
    init(_ json: JSON) throws(PasskeyError) {
        guard json["type"] == "public-key" else { throw .response(member: "type") }
        let id = json["rawId"]?.string.flatMap { Base64URL.decode($0) }
        guard let id, AuthenticatorData.Credential.idLengths.contains(id.count) else {
            throw .response(member: "rawId")
        }
        guard json["id"] == json["rawId"] else { throw .response(member: "id") }
        guard let members = json["response"], members.object != nil else { throw .response(member: "response") }
        (self.id, self.members) = (id, members)
    }

    /// The bytes of a member of `response`.
    ///
    /// - Throws: `response`, if it is missing, longer than `limit` bytes or not canonical base64url.
    func bytes(_ name: String, limit: Int) throws(PasskeyError) -> [UInt8] {
        guard let text = self.members[name]?.string, text.utf8.count <= (limit * 4 + 2) / 3,
            let bytes = Base64URL.decode(text)
        else { throw .response(member: name) }
        return bytes
    }

    /// The same of a member that may be missing or null.
    ///
    /// - Throws: `response`, if it is there and malformed.
    func optionalBytes(_ name: String, limit: Int) throws(PasskeyError) -> [UInt8]? {
        guard let value = self.members[name], value != .null else { return nil }
        return try self.bytes(name, limit: limit)
    }

    /// The transports of a registration.
    ///
    /// - Throws: `response`, if they are there and malformed.
    func transports() throws(PasskeyError) -> [String] {
        guard let transports = Passkey.transports(self.members["transports"]) else {
            throw .response(member: "transports")
        }
        return transports
    }
}
