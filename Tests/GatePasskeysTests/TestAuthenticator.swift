// SPDX-License-Identifier: Apache-2.0

import Crypto
import GateCore
import Testing

@testable import GatePasskeys

/// An authenticator and browser with one ES256 key, every part of whose responses can be changed.
struct TestAuthenticator {
    static let up: UInt8 = 0x01
    static let uv: UInt8 = 0x04
    static let be: UInt8 = 0x08
    static let bs: UInt8 = 0x10
    static let at: UInt8 = 0x40
    static let ed: UInt8 = 0x80

    let key: P256.Signing.PrivateKey
    var id = [UInt8](repeating: 7, count: 32)
    var relyingPartyID = "example.com"
    var flags = up | uv
    var counter: UInt32 = 1
    var clientData: [String: JSON] = [
        "origin": "https://login.example.com", "challenge": .string(testChallenge.text), "crossOrigin": false,
    ]
    var userHandle: [UInt8]? = testUserID
    /// The key of a registration; nil for the ES256 key.
    var publicKey: CBOR?
    /// What follows the fields of the authenticator data.
    var trailer: [UInt8] = []
    var format = "none"
    var statement = CBOR.map([])

    init() throws {
        self.key = try P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 1, count: 32))
    }

    var coseKey: CBOR {
        let point = Array(self.key.publicKey.rawRepresentation)
        return .numbered([
            (1, .int(2)), (3, .int(-7)), (-1, .int(1)), (-2, .bytes(Array(point[..<32]))),
            (-3, .bytes(Array(point[32...]))),
        ])
    }

    func authenticatorData(flags: UInt8, credential: [UInt8] = []) -> [UInt8] {
        let counter = (0..<4).map { UInt8(truncatingIfNeeded: self.counter >> (24 - 8 * $0)) }
        let hash = Array(SHA256.hash(data: Array(self.relyingPartyID.utf8)))
        return hash + [flags] + counter + credential + self.trailer
    }

    func clientDataJSON(_ type: JSON) -> [UInt8] {
        JSON.object(["type": type].merging(self.clientData) { $1 }.filter { $0.value != .null }).encoded
    }

    var credential: [UInt8] {
        let length = [UInt8(self.id.count >> 8), UInt8(self.id.count & 0xFF)]
        return [UInt8](repeating: 0xAA, count: 16) + length + self.id + (self.publicKey ?? self.coseKey).encoded
    }

    func registration() -> JSON {
        let data = self.authenticatorData(flags: self.flags | Self.at, credential: self.credential)
        let object = CBOR.named([("fmt", .text(self.format)), ("attStmt", self.statement), ("authData", .bytes(data))])
        return response(
            self.id,
            ["attestationObject": object.encoded, "clientDataJSON": self.clientDataJSON("webauthn.create")]
        )
    }

    func assertion() throws -> JSON {
        let clientData = self.clientDataJSON("webauthn.get")
        let data = self.authenticatorData(flags: self.flags)
        let signature = try self.key.signature(for: data + Array(SHA256.hash(data: clientData))).derRepresentation
        var members = ["authenticatorData": data, "clientDataJSON": clientData, "signature": Array(signature)]
        members["userHandle"] = self.userHandle
        return response(self.id, members)
    }
}

/// A response as a browser encodes it.
func response(_ id: [UInt8], _ members: [String: [UInt8]]) -> JSON {
    let id = JSON.string(Base64URL.encode(id))
    let members = members.mapValues { JSON.string(Base64URL.encode($0)) }
    return ["id": id, "rawId": id, "type": "public-key", "response": .object(members), "clientExtensionResults": [:]]
}

let testUserID = Array("user-handle-0001".utf8)

/// The challenge of the vectors: 0 to 31.
let testChallenge: PasskeyChallenge = {
    guard let challenge = try? PasskeyChallenge(Array(0..<32)) else { preconditionFailure("32 bytes are a challenge") }
    return challenge
}()

let testRelyingParty: PasskeyRelyingParty = {
    guard let origin = Origin(scheme: "https", host: "login.example.com"),
        let party = try? PasskeyRelyingParty(id: "example.com", name: "Example", origins: [origin])
    else { preconditionFailure("the origin is below the RP ID") }
    return party
}()

func testRegistration() throws -> PasskeyRegistration {
    let user = try PasskeyRegistration.User(id: testUserID, name: "a@example.com", displayName: "A")
    return PasskeyRegistration(testRelyingParty, user: user, challenge: testChallenge)
}

extension PasskeyAssertion {
    /// What a response in JSON proves.
    func proof(in json: JSON, of passkey: Passkey) throws(PasskeyError) -> Proof {
        try self.proof(in: Response(json), of: passkey, userID: testUserID)
    }
}

extension JSON {
    /// The JSON with other bytes in a member of `response`.
    func replacing(_ member: String, _ bytes: [UInt8]) -> JSON {
        self.replacing(member, json: .string(Base64URL.encode(bytes)))
    }

    /// The JSON with another value of a member of `response`.
    func replacing(_ member: String, json value: JSON) -> JSON {
        var (outer, inner) = (self.object ?? [:], self["response"]?.object ?? [:])
        inner[member] = value
        outer["response"] = .object(inner)
        return .object(outer)
    }

    /// The bytes of a member of `response`.
    func bytes(_ member: String) -> [UInt8] { self["response"]?[member]?.string.flatMap { Base64URL.decode($0) } ?? [] }
}

extension CBOR {
    static func int(_ value: Int64) -> CBOR { value < 0 ? .negative(UInt64(-1 - value)) : .unsigned(UInt64(value)) }

    static func numbered(_ members: [(Int64, CBOR)]) -> CBOR { .map(members.map { Member(key: .int($0), value: $1) }) }

    static func named(_ members: [(String, CBOR)]) -> CBOR { .map(members.map { Member(key: .text($0), value: $1) }) }

    /// The shortest encoding, members in the order in which they are.
    var encoded: [UInt8] {
        switch self {
        case .unsigned(let value): CBOR.head(0, value)
        case .negative(let value): CBOR.head(1, value)
        case .bytes(let bytes): CBOR.head(2, UInt64(bytes.count)) + bytes
        case .text(let text): CBOR.head(3, UInt64(text.utf8.count)) + Array(text.utf8)
        case .array(let elements): CBOR.head(4, UInt64(elements.count)) + elements.flatMap(\.encoded)
        case .map(let members):
            CBOR.head(5, UInt64(members.count)) + members.flatMap { $0.key.encoded + $0.value.encoded }
        case .bool(let value): [value ? 0xF5 : 0xF4]
        case .null: [0xF6]
        }
    }

    private static func head(_ type: UInt8, _ value: UInt64) -> [UInt8] {
        func bytes(_ count: Int) -> [UInt8] {
            (1...count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - $0))) }
        }
        return switch value {
        case 0..<24: [type << 5 | UInt8(value)]
        case 24...0xFF: [type << 5 | 24] + bytes(1)
        case 0x100...0xFFFF: [type << 5 | 25] + bytes(2)
        case 0x1_0000...0xFFFF_FFFF: [type << 5 | 26] + bytes(4)
        default: [type << 5 | 27] + bytes(8)
        }
    }
}

/// Tests of the registration of one authenticator.
protocol RegistrationTests {
    var authenticator: TestAuthenticator { get }
    var registration: PasskeyRegistration { get }
}

extension RegistrationTests {
    /// Expects that the registration of a changed authenticator is rejected for a reason.
    func rejects(_ error: PasskeyError, _ change: (inout TestAuthenticator) throws -> Void) throws {
        var authenticator = self.authenticator
        try change(&authenticator)
        #expect(throws: error) { try self.registration.passkey(from: authenticator.registration(), name: "x") }
    }
}
