// SPDX-License-Identifier: Apache-2.0

import GateCore
import GateTestSupport
import Testing

@testable import GatePasskeys

/// 20,000 random and mutated inputs, the same each time: none crashes, none is accepted.
@Suite struct HostileBytesTests {
    private let registration: PasskeyRegistration
    private let assertion = PasskeyAssertion(testRelyingParty, challenge: testChallenge)

    init() throws {
        self.registration = try testRegistration()
    }

    @Test func `8,000 random inputs are rejected by each reader`() throws {
        var generator = SeededNumbers(state: 1)
        let registered = try JSON(parsing: Array(Vectors.es256Registration.utf8))
        let asserted = try JSON(parsing: Array(Vectors.es256Assertion.utf8))
        let passkey = try self.registration.passkey(from: registered, name: "x")
        for _ in 0..<8000 {
            let bytes = self.randomBytes(&generator)
            // What is read has but one encoding.
            if let value = try? CBOR(bytes, keys: .any) { #expect(value.encoded == bytes) }
            #expect(throws: PasskeyError.self) { try COSEKey(bytes) }
            #expect(throws: PasskeyError.self) { try ClientData(bytes) }
            #expect(throws: PasskeyError.self) {
                try self.registration.passkey(from: registered.replacing("attestationObject", bytes), name: "x")
            }
            for member in ["authenticatorData", "signature"] {
                #expect(throws: PasskeyError.self) {
                    try self.assertion.proof(in: asserted.replacing(member, bytes), of: passkey)
                }
            }
        }
    }

    @Test func `6,000 mutated registrations are rejected`() throws {
        var generator = SeededNumbers(state: 2)
        let response = try JSON(parsing: Array(Vectors.es256PackedRegistration.utf8))
        try self.mutate(response, ["attestationObject", "clientDataJSON"], count: 3000, &generator) { changed in
            _ = try self.registration.passkey(from: changed, name: "x")
        }
    }

    @Test func `6,000 mutated assertions are rejected`() throws {
        var generator = SeededNumbers(state: 3)
        let registered = try JSON(parsing: Array(Vectors.es256Registration.utf8))
        let passkey = try self.registration.passkey(from: registered, name: "x")
        let response = try JSON(parsing: Array(Vectors.es256Assertion.utf8))
        let members = ["authenticatorData", "clientDataJSON", "signature"]
        try self.mutate(response, members, count: 2000, &generator) { changed in
            _ = try self.assertion.proof(in: changed, of: passkey)
        }
    }

    /// Random bytes; half of them begin like a map, so that readers get further.
    private func randomBytes(_ generator: inout SeededNumbers) -> [UInt8] {
        let count = Int.random(in: 0...200, using: &generator)
        var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        guard Bool.random(using: &generator), count > 0 else { return bytes }
        bytes[0] = 0xA0 | UInt8.random(in: 1...5, using: &generator)
        // Small numbers and lengths are what most of CBOR is.
        for index in bytes.indices.dropFirst() where Bool.random(using: &generator) { bytes[index] &= 0x67 }
        return bytes
    }

    private func mutate(
        _ response: JSON,
        _ members: [String],
        count: Int,
        _ generator: inout SeededNumbers,
        _ verify: (JSON) throws -> Void
    ) throws {
        for member in members {
            let bytes = response.bytes(member)
            for _ in 0..<count {
                let mutated = self.mutated(bytes, &generator)
                guard mutated != bytes else { continue }
                #expect(throws: PasskeyError.self, "\(member): \(mutated)") {
                    try verify(response.replacing(member, mutated))
                }
            }
        }
    }

    private func mutated(_ original: [UInt8], _ generator: inout SeededNumbers) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            guard let position = bytes.indices.randomElement(using: &generator) else { return bytes }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[position] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: position)
            case 3: bytes.remove(at: position)
            default: bytes.removeSubrange(position...)
            }
        }
        return bytes
    }
}
