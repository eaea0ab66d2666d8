// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePasskeys

@Suite struct VectorTests {
    private let registration: PasskeyRegistration
    private let assertion = PasskeyAssertion(testRelyingParty, challenge: testChallenge)

    init() throws {
        self.registration = try testRegistration()
    }

    private func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

    @Test(arguments: Vectors.all)
    func `responses of an independent authenticator are accepted`(vector: Vector) throws {
        let passkey = try self.registration.passkey(from: try self.json(vector.registration), name: vector.name)
        #expect(passkey.counter == 1)
        #expect(passkey.aaguid.first == 0 && passkey.aaguid.last == 0xFF)
        #expect(passkey.transports == ["hybrid", "internal"])
        #expect(passkey.isUserVerified)
        #expect(passkey.isBackupEligible == (vector.name == "synced"))
        #expect(passkey.isBackedUp == (vector.name == "synced"))
        let saved = try Passkey(try JSON(parsing: passkey.json.encoded))
        #expect(saved == passkey)
        let proof = try self.assertion.proof(in: try self.json(vector.assertion), of: saved)
        #expect(proof.isUserVerified)
        #expect(proof.passkey.counter == 2)
        // The same response again has no newer counter.
        #expect(throws: PasskeyError.clonedAuthenticator(saved: 2, received: 2)) {
            try self.assertion.proof(in: try self.json(vector.assertion), of: proof.passkey)
        }
    }

    /// Responses that are signed as a whole; the certificate of the others is not traced, so its bytes may change.
    private static let signed = Vectors.all.filter { $0.name.hasSuffix("Packed") }

    @Test(arguments: Vectors.all)
    func `every change of a byte of an assertion is rejected`(vector: Vector) throws {
        let passkey = try self.registration.passkey(from: try self.json(vector.registration), name: "x")
        let response = try self.json(vector.assertion)
        for member in ["authenticatorData", "clientDataJSON", "signature", "userHandle"] {
            try self.changeEveryByte(of: member, in: response) { changed in
                _ = try self.assertion.proof(in: changed, of: passkey)
            }
        }
    }

    @Test(arguments: Self.signed)
    func `every change of a byte of a self-attested registration is rejected`(vector: Vector) throws {
        let response = try self.json(vector.registration)
        for member in ["attestationObject", "clientDataJSON"] {
            try self.changeEveryByte(of: member, in: response) { changed in
                _ = try self.registration.passkey(from: changed, name: "x")
            }
        }
    }

    @Test(arguments: [Vectors.es256CertifiedRegistration, Vectors.rs256CertifiedRegistration])
    func `every change of a byte that a certified key signed is rejected`(text: String) throws {
        let response = try self.json(text)
        let object = try CBOR(response.bytes("attestationObject"), keys: .any)
        let data = try #require(object["authData"]?.byteString)
        let statement = try #require(object["attStmt"])
        for position in data.indices {
            var changed = data
            changed[position] ^= 0x04
            let object = CBOR.named([("fmt", .text("packed")), ("attStmt", statement), ("authData", .bytes(changed))])
            #expect(throws: PasskeyError.self, "byte \(position)") {
                try self.registration.passkey(from: response.replacing("attestationObject", object.encoded), name: "x")
            }
        }
        try self.changeEveryByte(of: "clientDataJSON", in: response) { changed in
            _ = try self.registration.passkey(from: changed, name: "x")
        }
    }

    private func changeEveryByte(of member: String, in response: JSON, _ verify: (JSON) throws -> Void) throws {
        let bytes = response.bytes(member)
        try #require(!bytes.isEmpty)
        for position in bytes.indices {
            for change in [UInt8(0x01), 0x20, 0x80, 0xFF] {
                var changed = bytes
                changed[position] ^= change
                #expect(throws: PasskeyError.self, "\(member), byte \(position), change \(change)") {
                    try verify(response.replacing(member, changed))
                }
            }
        }
    }

    @Test(
        arguments: [
            (Vectors.otherModel, "is for another AAGUID"),
            (Vectors.otherUnit, "has not the unit 'Authenticator Attestation' in its subject"),
            (Vectors.authority, "may sign other certificates"),
            (Vectors.criticalModel, "has a critical AAGUID"), (Vectors.withoutCountry, "has no country in its subject"),
        ]
    )
    func `WebAuthn §8.2.1: a certificate that breaks a rule is rejected`(text: String, rule: String) throws {
        #expect(throws: PasskeyError.attestationCertificate(rule)) {
            try self.registration.passkey(from: try self.json(text), name: "x")
        }
    }

    @Test func `an algorithm that was not offered is rejected`() throws {
        var registration = self.registration
        registration.algorithms = [.es256, .edDSA]
        #expect(throws: PasskeyError.algorithmNotOffered(-257)) {
            try registration.passkey(from: try self.json(Vectors.rs256Registration), name: "x")
        }
    }

    @Test func `a passkey of another user or authenticator does not sign`() throws {
        let other = try self.registration.passkey(from: try self.json(Vectors.edDSARegistration), name: "x")
        #expect(throws: PasskeyError.credentialUnknown) {
            try self.assertion.proof(in: try self.json(Vectors.es256Assertion), of: other)
        }
    }
}
