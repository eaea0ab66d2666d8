// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePasskeys

@Suite struct AttestationTests: RegistrationTests {
    let authenticator: TestAuthenticator
    let registration: PasskeyRegistration

    init() throws {
        self.authenticator = try TestAuthenticator()
        self.registration = try testRegistration()
    }

    @Test(
        arguments: ["fido-u2f", "tpm", "android-key", "android-safetynet", "apple", "compound", "None", "", "packed2"]
    )
    func `WebAuthn §7.1 step 21: other attestation formats are rejected by name`(format: String) throws {
        try self.rejects(.attestationFormat(format)) { $0.format = format }
    }

    @Test(
        arguments: [
            ("none", .named([("alg", .int(-7))]), .attestationMalformed), ("none", .null, .attestationMalformed),
            ("packed", .map([]), .attestationMalformed), ("packed", .array([]), .attestationMalformed),
            ("packed", .named([("alg", .int(-7)), ("sig", .bytes([1]))]), .attestationSignature),
            ("packed", .named([("alg", .int(-8)), ("sig", .bytes([1]))]), .attestationAlgorithm),
            ("packed", .named([("alg", .int(-35)), ("sig", .bytes([1]))]), .attestationAlgorithm),
            ("packed", .named([("alg", .text("-7")), ("sig", .bytes([1]))]), .attestationMalformed),
            (
                "packed", .named([("alg", .int(-7)), ("sig", .bytes([1])), ("ecdaaKeyId", .bytes([1]))]),
                .attestationMalformed
            ),
            ("packed", .named([("alg", .int(-7)), ("sig", .bytes([1])), ("x5c", .array([]))]), .attestationMalformed),
            (
                "packed", .named([("alg", .int(-7)), ("sig", .bytes([1])), ("x5c", .array([.bytes([0x30]), .null]))]),
                .attestationMalformed
            ),
            (
                "packed", .named([("alg", .int(-7)), ("sig", .bytes([1])), ("x5c", .array([.bytes([0x30])]))]),
                .attestationCertificate("is malformed")
            ),
        ] as [(String, CBOR, PasskeyError)]
    )
    func `WebAuthn §8.2 and §8.7: a statement of another form is rejected`(
        format: String,
        statement: CBOR,
        error: PasskeyError
    ) throws {
        try self.rejects(error) { authenticator in
            authenticator.format = format
            authenticator.statement = statement
        }
    }

    @Test func `an attestation object has three members, in any order`() throws {
        let response = self.authenticator.registration()
        let members = try #require(try CBOR(response.bytes("attestationObject"), keys: .any).members)
        let turned = CBOR.map(members.reversed()).encoded
        _ = try self.registration.passkey(from: response.replacing("attestationObject", turned), name: "x")
        let four = CBOR.map(members + [.init(key: .text("epAtt"), value: .bool(false))]).encoded
        for other in [four, CBOR.map(Array(members.dropLast())).encoded] {
            #expect(throws: PasskeyError.attestationMalformed) {
                try self.registration.passkey(from: response.replacing("attestationObject", other), name: "x")
            }
        }
        let longer = response.bytes("attestationObject") + [0]
        #expect(throws: PasskeyError.cborTrailingBytes) {
            try self.registration.passkey(from: response.replacing("attestationObject", longer), name: "x")
        }
    }
}
