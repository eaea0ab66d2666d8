// SPDX-License-Identifier: Apache-2.0

import GateCore
import GatePasskeys

/// What authenticators write: an accepted registration can be saved and read again, and no other bytes than the signed ones are a use
/// of the passkey.
enum PasskeyFuzzTarget {
    private static let fixed = Fixed()

    static func violation(in input: Input) -> String? {
        guard let fixed else { return "the passkey of the target is rejected" }
        return input.has(4) ? fixed.useViolation(of: input.bytes) : fixed.registrationViolation(of: input.bytes)
    }

    /// One passkey, which an independent implementation made (Tests/EndToEnd/support/passkey_vectors.py), and one use of it.
    private struct Fixed: Sendable {
        private static let id = "DCQCYj1EYAhLk2ZNbOnn7TnQjVi4F9yBWgfUXRf20yo"
        private static let key =
            "pQECAyYgASFYINB9OLoa7S5-CaWZ76Kqk8BzZAnWwBd1_lpuZIRbflBIIlggbcUDXqpukm3_LYd3lG0nJ8a53ZYCRsepdqecy1c-GtQ"
        private static let signed = "o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUcFAAAAAg"
        private static let signature =
            "MEUCIQClaDFuu8jJrlezboTQkWyKEtqBTRlvYLUv41hvODUZTQIgJ1LzDv1IYjfHzUhzVWAfn9jE3b2DmrPRaVwYJhL0WAo"
        private static let user = Array("user-handle-0001".utf8)

        private let registration: PasskeyRegistration
        private let assertion: PasskeyAssertion
        private let passkey: Passkey

        init?() {
            let saved: JSON = [
                "v": 1, "id": .string(Fixed.id), "key": .string(Fixed.key), "counter": 1, "transports": [],
                "aaguid": .string(Base64URL.encode([UInt8](repeating: 0, count: 16))), "be": false, "bs": false,
                "uv": true, "name": "x",
            ]
            guard let origin = Origin(scheme: "https", host: "login.example.com"),
                let party = try? PasskeyRelyingParty(id: "example.com", name: "Example", origins: [origin]),
                let challenge = try? PasskeyChallenge(Array(0..<32)), let passkey = try? Passkey(saved),
                let user = try? PasskeyRegistration.User(id: Fixed.user, name: "a", displayName: "A")
            else { return nil }
            self.registration = PasskeyRegistration(party, user: user, challenge: challenge)
            self.assertion = PasskeyAssertion(party, challenge: challenge)
            self.passkey = passkey
        }

        private static func response(to ceremony: String, _ members: [String: JSON]) -> JSON {
            // The spelling and the order are those over which the signature is.
            let challenge = Base64URL.encode(Array(0..<32))
            let clientData =
                #"{"type":"\#(ceremony)","challenge":"\#(challenge)","origin":"https://login.example.com","crossOrigin":false}"#
            let more: [String: JSON] = ["clientDataJSON": .string(Base64URL.encode(Array(clientData.utf8)))]
            return [
                "id": .string(self.id), "rawId": .string(self.id), "type": "public-key",
                "response": .object(members.merging(more) { $1 }),
            ]
        }

        func registrationViolation(of bytes: [UInt8]) -> String? {
            let members: [String: JSON] = ["attestationObject": .string(Base64URL.encode(bytes))]
            let response = Fixed.response(to: "webauthn.create", members)
            guard let made = try? self.registration.passkey(from: response, name: "x") else { return nil }
            guard made.isUserVerified else { return "a registration without a verified user is accepted" }
            guard let read = try? Passkey(made.json) else { return "the passkey is saved and cannot be read" }
            return read == made ? nil : "the passkey is read as another one"
        }

        func useViolation(of bytes: [UInt8]) -> String? {
            let members: [String: JSON] = [
                "authenticatorData": .string(Base64URL.encode(bytes)), "signature": .string(Fixed.signature),
                "userHandle": .string(Base64URL.encode(Fixed.user)),
            ]
            let isSigned = Base64URL.encode(bytes) == Fixed.signed
            let accepted = try? self.assertion.proof(
                in: PasskeyAssertion.Response(Fixed.response(to: "webauthn.get", members)),
                of: self.passkey,
                userID: Fixed.user
            )
            guard (accepted != nil) == isSigned else {
                return isSigned ? "the signed use is rejected" : "other bytes than the signed ones are accepted"
            }
            return nil
        }
    }
}
