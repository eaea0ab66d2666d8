// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import Testing

@testable import GatePasskeys

@Suite struct PasskeyAssertionTests {
    private let authenticator: TestAuthenticator
    private let assertion = PasskeyAssertion(testRelyingParty, challenge: testChallenge)
    private let passkey: Passkey

    init() throws {
        let authenticator = try TestAuthenticator()
        self.passkey = try testRegistration().passkey(from: authenticator.registration(), name: "key")
        self.authenticator = authenticator
    }

    /// The passkey with other values in its saved form.
    private func passkey(_ changes: [String: JSON]) throws -> Passkey {
        try Passkey(.object((self.passkey.json.object ?? [:]).merging(changes) { $1 }))
    }

    /// A next use with changes.
    private func response(_ change: (inout TestAuthenticator) -> Void = { _ in }) throws -> JSON {
        var authenticator = self.authenticator
        authenticator.counter = 2
        change(&authenticator)
        return try authenticator.assertion()
    }

    private func rejects(_ error: PasskeyError, _ change: (inout TestAuthenticator) -> Void) throws {
        let response = try self.response(change)
        #expect(throws: error) { try self.assertion.proof(in: response, of: self.passkey) }
    }

    @Test func `WebAuthn §5.5: the options name all that is asked for`() throws {
        var assertion = self.assertion
        assertion.allowed = [try self.passkey(["transports": ["usb"]])]
        assertion.timeout = .milliseconds(1500)
        let text = """
            {"allowCredentials":[{"id":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc","transports":["usb"],\
            "type":"public-key"}],"challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","rpId":"example.com",\
            "timeout":1500,"userVerification":"required"}
            """
        #expect(assertion.options.text == text)
    }

    @Test func `a use is proved, and updates the counter and the backup state only`() throws {
        let saved = try self.passkey(["be": true])
        let flags = TestAuthenticator.up | TestAuthenticator.uv | TestAuthenticator.be | TestAuthenticator.bs
        let proof = try self.assertion.proof(in: try self.response { $0.flags = flags }, of: saved)
        #expect(proof.passkey == (try self.passkey(["be": true, "bs": true, "counter": 2])))
        #expect(proof.isUserVerified)
    }

    @Test func `WebAuthn §7.2 step 5: only a passkey that was asked for is accepted`() throws {
        var assertion = self.assertion
        assertion.allowed = [try self.passkey(["id": "AAAA"])]
        #expect(throws: PasskeyError.credentialNotAllowed) {
            try assertion.proof(in: try self.response(), of: self.passkey)
        }
        assertion.allowed.append(self.passkey)
        _ = try assertion.proof(in: try self.response(), of: self.passkey)
    }

    @Test func `WebAuthn §7.2 step 6: the response is by the passkey and user that were found`() throws {
        #expect(throws: PasskeyError.credentialUnknown) {
            try self.assertion.proof(in: try self.response(), of: try self.passkey(["id": "AAAA"]))
        }
        try self.rejects(.userHandleMismatch) { $0.userHandle = Array("user-handle-0002".utf8) }
        try self.rejects(.userHandleMissing) { $0.userHandle = nil }
        var assertion = self.assertion
        assertion.allowed = [self.passkey]
        let response = try self.response { $0.userHandle = nil }
        _ = try assertion.proof(in: response, of: self.passkey)
        _ = try assertion.proof(in: response.replacing("userHandle", json: .null), of: self.passkey)
    }

    @Test(
        arguments: [
            ("type", "webauthn.create", .ceremony),
            ("challenge", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9", .challengeMismatch),
            ("origin", "https://evil.example", .originNotAllowed("https://evil.example")),
            ("crossOrigin", true, .crossOrigin),
            ("topOrigin", "https://evil.example", .crossOrigin),
        ] as [(String, JSON, PasskeyError)]
    )
    func `WebAuthn §7.2 steps 10 to 14: each other client data are rejected`(
        member: String,
        value: JSON,
        error: PasskeyError
    ) throws {
        try self.rejects(error) { $0.clientData[member] = value }
    }

    @Test func `WebAuthn §7.2 step 15: the RP ID is hashed in the authenticator data`() throws {
        try self.rejects(.relyingPartyMismatch) { $0.relyingPartyID = "evil.example" }
    }

    @Test(
        arguments: [
            (0x04, .userNotPresent), (0x00, .userNotPresent), (0x01, .userNotVerified), (0x15, .backedUpNotEligible),
            (0x0D, .backupEligibilityChanged), (0x1D, .backupEligibilityChanged), (0x07, .reservedFlags),
            (0x25, .reservedFlags), (0x45, .authenticatorDataTooShort), (0x85, .cborTruncated),
        ] as [(UInt8, PasskeyError)]
    )
    func `WebAuthn §7.2 steps 16 to 19: flags are as they must be`(flags: UInt8, error: PasskeyError) throws {
        try self.rejects(error) { $0.flags = flags }
    }

    @Test func `WebAuthn §7.2 step 19: BE stays set`() throws {
        #expect(throws: PasskeyError.backupEligibilityChanged) {
            try self.assertion.proof(in: try self.response(), of: try self.passkey(["be": true]))
        }
    }

    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false), (false, false, false)])
    func `WebAuthn §4: the user is verified only if also at registration`(first: Bool, now: Bool, isProved: Bool) throws
    {
        var assertion = self.assertion
        assertion.userVerification = .preferred
        let passkey = try self.passkey(["uv": .bool(first)])
        let response = try self.response { $0.flags = TestAuthenticator.up | (now ? TestAuthenticator.uv : 0) }
        let proof = try assertion.proof(in: response, of: passkey)
        #expect(proof.isUserVerified == isProved)
        #expect(proof.passkey.isUserVerified == first)
        let error: PasskeyError? = isProved ? nil : now ? .userNeverVerified : .userNotVerified
        guard let error else { return }
        #expect(throws: error) { try self.assertion.proof(in: response, of: passkey) }
    }

    @Test func `WebAuthn §7.2 step 21: the signature is over these data by this key`() throws {
        let response = try self.response()
        let other = try self.response { $0.counter = 3 }
        #expect(throws: PasskeyError.signature) {
            try self.assertion.proof(in: response.replacing("signature", other.bytes("signature")), of: self.passkey)
        }
        let point = Array(P256.Signing.PrivateKey().publicKey.rawRepresentation)
        let key = CBOR.numbered([
            (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(Array(point[..<32]))),
            (-3, .bytes(Array(point[32...]))),
        ])
        #expect(throws: PasskeyError.signature) {
            try self.assertion.proof(
                in: response,
                of: try self.passkey(["key": .string(Base64URL.encode(key.encoded))])
            )
        }
    }

    @Test(
        arguments: [
            (0, 0, true), (0, 1, true), (1, 2, true), (1, .max, true), (1, 1, false), (1, 0, false),
            (.max, .max, false),
            (.max, 0, false), (7, 6, false),
        ] as [(UInt32, UInt32, Bool)]
    )
    func `WebAuthn §7.2 step 22: a counter that does not grow means a copy`(
        saved: UInt32,
        received: UInt32,
        isValid: Bool
    ) throws {
        let passkey = try self.passkey(["counter": .int(Int64(saved))])
        let response = try self.response { $0.counter = received }
        if isValid {
            #expect(try self.assertion.proof(in: response, of: passkey).passkey.counter == received)
        } else {
            #expect(throws: PasskeyError.clonedAuthenticator(saved: saved, received: received)) {
                try self.assertion.proof(in: response, of: passkey)
            }
        }
    }

    @Test(arguments: ["clientDataJSON", "authenticatorData", "signature", "userHandle"])
    func `a member of another form is rejected`(member: String) throws {
        for value in [1, "*", "A", .string(String(repeating: "A", count: 8192))] as [JSON] {
            let response = try self.response().replacing(member, json: value)
            #expect(throws: PasskeyError.response(member: member)) { try PasskeyAssertion.Response(response) }
        }
    }

    @Test(
        arguments: [
            ("v", 2), ("v", .null), ("id", ""), ("id", .null), ("key", "="), ("aaguid", "AAAA"), ("counter", -1),
            ("counter", 4_294_967_296), ("transports", .null), ("transports", [1]), ("be", .null), ("bs", 1),
            ("uv", "true"),
            ("name", ""), ("name", "a\u{0}"),
        ] as [(String, JSON)]
    )
    func `a saved passkey is read back exactly or not at all`(member: String, value: JSON) throws {
        #expect(try Passkey(self.passkey.json) == self.passkey)
        var members = self.passkey.json.object ?? [:]
        members[member] = value == .null ? nil : value
        // A passkey without transports is valid.
        if member == "transports", value == .null {
            _ = try Passkey(.object(members))
        } else {
            #expect(throws: PasskeyError.savedPasskey) { try Passkey(.object(members)) }
        }
    }
}
