// SPDX-License-Identifier: Apache-2.0

import GateCore
import Testing

@testable import GatePasskeys

@Suite struct PasskeyRegistrationTests: RegistrationTests {
    let authenticator: TestAuthenticator
    let registration: PasskeyRegistration

    init() throws {
        self.authenticator = try TestAuthenticator()
        self.registration = try testRegistration()
    }

    @Test func `WebAuthn §5.4: the options name all that is asked for`() throws {
        var registration = self.registration
        registration.residentKey = .preferred
        registration.userVerification = .preferred
        registration.existing = [try registration.passkey(from: self.authenticator.registration(), name: "x")]
        let text = """
            {"attestation":"none","authenticatorSelection":{"requireResidentKey":false,"residentKey":"preferred",\
            "userVerification":"preferred"},"challenge":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",\
            "excludeCredentials":[{"id":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc","transports":[],"type":"public-key"}],\
            "pubKeyCredParams":[{"alg":-7,"type":"public-key"},{"alg":-8,"type":"public-key"},\
            {"alg":-257,"type":"public-key"}],"rp":{"id":"example.com","name":"Example"},"timeout":300000,\
            "user":{"displayName":"A","id":"dXNlci1oYW5kbGUtMDAwMQ","name":"a@example.com"}}
            """
        #expect(registration.options.text == text)
        #expect(self.registration.options["authenticatorSelection"]?["requireResidentKey"] == true)
    }

    @Test func `WebAuthn §7.1 step 27: the passkey is what the authenticator made`() throws {
        var authenticator = self.authenticator
        authenticator.flags |= TestAuthenticator.be | TestAuthenticator.bs
        authenticator.counter = .max
        let response = authenticator.registration().replacing("transports", json: ["usb", "future-one", "usb"])
        let passkey = try self.registration.passkey(from: response, name: "My key 🔑")
        #expect(passkey.id == authenticator.id)
        #expect(passkey.publicKey == authenticator.coseKey.encoded)
        #expect(passkey.counter == .max)
        #expect(passkey.transports == ["future-one", "usb"])
        #expect(passkey.aaguid == [UInt8](repeating: 0xAA, count: 16))
        #expect(passkey.isBackupEligible && passkey.isBackedUp && passkey.isUserVerified)
        #expect(passkey.name == "My key 🔑")
    }

    @Test(
        arguments: [
            ("type", "webauthn.get", .ceremony), ("type", .null, .clientDataMalformed),
            ("type", 1, .clientDataMalformed),
            ("type", "webauthn.create ", .ceremony), ("challenge", .null, .clientDataMalformed),
            ("challenge", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9", .challengeMismatch),
            ("challenge", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", .challengeMismatch),
            ("challenge", "", .challengeMismatch), ("crossOrigin", true, .crossOrigin),
            ("crossOrigin", "false", .clientDataMalformed), ("topOrigin", "https://evil.example", .crossOrigin),
            ("topOrigin", "https://login.example.com", .crossOrigin), ("topOrigin", 1, .clientDataMalformed),
        ] as [(String, JSON, PasskeyError)]
    )
    func `WebAuthn §7.1 steps 7 to 11: each other client data are rejected`(
        member: String,
        value: JSON,
        error: PasskeyError
    ) throws {
        try self.rejects(error) { $0.clientData[member] = value }
    }

    @Test(
        arguments: [
            "https://example.com", "http://login.example.com", "https://login.example.com:443",
            "https://login.example.com/",
            "https://login.example.com.", "https://LOGIN.example.com", "https://login.example.com:8443", "null", "",
            "https://xlogin.example.com", "https://login.example.com.evil.example", "android:apk-key-hash:abc",
        ]
    )
    func `WebAuthn §7.1 step 9: the origin is compared exactly`(origin: String) throws {
        try self.rejects(.originNotAllowed(origin)) { $0.clientData["origin"] = .string(origin) }
    }

    @Test func `unknown members of client data are ignored, and crossOrigin may be missing`() throws {
        var authenticator = self.authenticator
        authenticator.clientData["crossOrigin"] = .null
        authenticator.clientData["other_keys_can_be_added_here"] = ["x": [1, 2]]
        _ = try self.registration.passkey(from: authenticator.registration(), name: "x")
    }

    @Test(
        arguments: [
            "", "[]", "{", "\u{FEFF}{}", #"{"type":"webauthn.create","type":"webauthn.create"}"#,
            String(repeating: " ", count: 4096) + "{}", String(repeating: "[", count: 4000),
        ]
    )
    func `client data that are not a plain JSON object are rejected`(text: String) {
        #expect(throws: PasskeyError.clientDataMalformed) { try ClientData(Array(text.utf8)) }
    }

    @Test func `WebAuthn §7.1 step 14: the RP ID is hashed in the authenticator data`() throws {
        try self.rejects(.relyingPartyMismatch) { $0.relyingPartyID = "login.example.com" }
    }

    @Test(
        arguments: [
            (0x04, .userNotPresent), (0x01, .userNotVerified), (0x05 | 0x10, .backedUpNotEligible),
            (0x05 | 0x02, .reservedFlags),
            (0x05 | 0x20, .reservedFlags), (0x05 | 0x80, .cborTruncated),
        ] as [(UInt8, PasskeyError)]
    )
    func `WebAuthn §7.1 steps 15 to 17: flags that must be set are set, and none that must not`(
        flags: UInt8,
        error: PasskeyError
    ) throws {
        try self.rejects(error) { $0.flags = flags }
    }

    @Test func `verification of the user may be preferred only`() throws {
        var (registration, authenticator) = (self.registration, self.authenticator)
        registration.userVerification = .preferred
        authenticator.flags = TestAuthenticator.up
        #expect(try !registration.passkey(from: authenticator.registration(), name: "x").isUserVerified)
    }

    @Test(
        arguments: [
            ([0x00], 0, .authenticatorDataTrailingBytes), ([0xA0], 0, .authenticatorDataTrailingBytes),
            ([0xA0, 0x00], 0x80, .authenticatorDataTrailingBytes), ([0x80], 0x80, .extensions),
            ([0xF6], 0x80, .extensions),
            ([0xA1, 0x01, 0x02], 0x80, .extensions), ([0xBF, 0xFF], 0x80, .cborIndefiniteLength),
            ([0xA2, 0x61, 0x61, 0xF5, 0x61, 0x61, 0xF5], 0x80, .cborDuplicateKey),
        ] as [([UInt8], UInt8, PasskeyError)]
    )
    func `WebAuthn §6.1: what follows the credential is a map of extension outputs`(
        trailer: [UInt8],
        flag: UInt8,
        error: PasskeyError
    ) throws {
        try self.rejects(error) { authenticator in
            authenticator.flags |= flag
            authenticator.trailer = trailer
        }
    }

    @Test func `extension outputs are read and ignored, in any order`() throws {
        var authenticator = self.authenticator
        authenticator.flags |= TestAuthenticator.ed
        authenticator.trailer = CBOR.named([("hmac-secret", .bool(true)), ("credProtect", .unsigned(2))]).encoded
        _ = try self.registration.passkey(from: authenticator.registration(), name: "x")
        let data = authenticator.authenticatorData(flags: authenticator.flags)
        #expect(try AuthenticatorData(data).extensions?["credProtect"] == .unsigned(2))
    }

    @Test func `every shorter authenticator data are rejected`() throws {
        let data = self.authenticator.authenticatorData(flags: 0x45, credential: self.authenticator.credential)
        for count in data.indices {
            #expect(throws: PasskeyError.self) { try AuthenticatorData(Array(data[..<count])) }
        }
    }

    @Test(arguments: [(0, false), (1, true), (1023, true), (1024, false), (65_535, false)])
    func `WebAuthn §7.1 step 25: an id has 1 to 1023 bytes`(count: Int, isValid: Bool) throws {
        var authenticator = self.authenticator
        authenticator.id = [UInt8](repeating: 1, count: count)
        let credential = authenticator.authenticatorData(flags: 0x45, credential: authenticator.credential)
        if isValid {
            _ = try self.registration.passkey(from: authenticator.registration(), name: "x")
        } else {
            #expect(throws: PasskeyError.credentialIDLength(count)) { try AuthenticatorData(credential) }
        }
    }

    @Test func `a response without a credential, or with another id, is rejected`() throws {
        let object = CBOR.named([
            ("fmt", .text("none")), ("attStmt", .map([])),
            ("authData", .bytes(self.authenticator.authenticatorData(flags: 0x05))),
        ])
        let response = self.authenticator.registration()
        #expect(throws: PasskeyError.credentialMissing) {
            try self.registration.passkey(from: response.replacing("attestationObject", object.encoded), name: "x")
        }
        var other = response.object ?? [:]
        other["id"] = "AAAA"
        other["rawId"] = "AAAA"
        #expect(throws: PasskeyError.credentialIDMismatch) {
            try self.registration.passkey(from: .object(other), name: "x")
        }
    }

    @Test(
        arguments: [
            ("id", .null), ("id", "AAAA"), ("rawId", .null), ("rawId", ""), ("rawId", "A=="), ("rawId", "AB"),
            ("type", .null),
            ("type", "password"), ("response", .null), ("response", []),
        ] as [(String, JSON)]
    )
    func `a response of another form is rejected`(member: String, value: JSON) {
        var response = self.authenticator.registration().object ?? [:]
        response[member] = value
        let named: Set = [member, "id"]
        #expect {
            try self.registration.passkey(from: .object(response), name: "x")
        } throws: { error in
            guard case .response(let name) = error as? PasskeyError else { return false }
            return named.contains(name)
        }
    }

    @Test(
        arguments: [
            ("clientDataJSON", .null), ("clientDataJSON", 1), ("attestationObject", "a b"),
            ("attestationObject", .null),
            ("transports", "usb"), ("transports", [1]), ("transports", [""]), ("transports", ["a\nb"]),
            ("transports", ["1", "2", "3", "4", "5", "6", "7", "8", "9"]),
        ] as [(String, JSON)]
    )
    func `a member of another form is rejected`(member: String, value: JSON) {
        let response = self.authenticator.registration().replacing(member, json: value)
        #expect(throws: PasskeyError.response(member: member)) {
            try self.registration.passkey(from: response, name: "x")
        }
    }

    @Test(arguments: ["", "a\u{202E}b", "a\nb", String(repeating: "x", count: 201)])
    func `a name is printable and has 1 to 200 bytes`(name: String) {
        #expect(throws: PasskeyError.passkeyName(maxBytes: 200)) {
            try self.registration.passkey(from: self.authenticator.registration(), name: name)
        }
    }

    @Test func `a weak key is rejected at registration`() throws {
        let modulus = [0x80] + [UInt8](repeating: 0x5A, count: 126) + [1]
        let key = CBOR.numbered([(1, .int(3)), (3, .int(-257)), (-1, .bytes(modulus)), (-2, .bytes([1, 0, 1]))])
        try self.rejects(.keyModulus(bits: 1024)) { $0.publicKey = key }
        let turned = try #require(self.authenticator.coseKey.members).reversed()
        try self.rejects(.cborKeyOrder) { $0.publicKey = .map(Array(turned)) }
    }

    @Test(arguments: [0, 65])
    func `WebAuthn §5.4.3: a user handle has 1 to 64 bytes`(count: Int) {
        #expect(throws: PasskeyError.userHandleLength(count)) {
            try PasskeyRegistration.User(id: [UInt8](repeating: 0, count: count), name: "a", displayName: "A")
        }
    }
}
