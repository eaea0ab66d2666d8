// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import GateAssertion
import GateCore
import GateTestSupport
import Testing

@Suite struct AssertionKeysTests {
    private let folder: TemporaryFolder
    private var keys: String { "\(self.folder.path)/state/keys" }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// An hour before use, ten minutes after it; at a time after that of `setAge`.
    private func load(at seconds: Int64 = 0) throws -> AssertionKeys {
        try AssertionKeys.load(
            folder: self.keys,
            schedule: RotationSchedule(publishAhead: .seconds(3600), overlap: .seconds(600)),
            now: Instant(seconds: 1_800_000_000 + seconds)
        )
    }

    private func rotate(at seconds: Int64, ifOlderThan age: Duration = .zero) throws -> Instant? {
        try AssertionKeys.rotate(
            folder: self.keys,
            schedule: RotationSchedule(publishAhead: .seconds(3600), overlap: .seconds(600)),
            now: Instant(seconds: 1_800_000_000 + seconds),
            ifOlderThan: age
        )
    }

    private func published(_ keys: AssertionKeys) throws -> [String?] {
        try (JSON(parsing: keys.jwks)["keys"]?.array ?? []).map { $0["kid"]?.string }
    }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: self.keys) }

    private func setAge(_ seconds: Double, of file: String) throws {
        let date = Date(timeIntervalSince1970: 1_800_000_000 - seconds)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
    }

    @Test func `the first start creates one key that only the owner can read`() throws {
        let keys = try self.load()
        #expect(keys.entries.count == 1)
        #expect(try self.files() == ["\(keys.signing.id).pem"])
        #expect(try self.folder.mode("state/keys") == 0o700)
        #expect(try self.folder.mode("state/keys/\(keys.signing.id).pem") == 0o600)
    }

    @Test func `the second start uses the same key`() throws {
        let first = try self.load()
        let second = try self.load()
        #expect(second.signing.id == first.signing.id)
        #expect(second.jwks == first.jwks)
        #expect(second.entityTag == first.entityTag)
        #expect(try self.files().count == 1)
    }

    @Test func `a new key is published an hour before it signs, and the old one ten minutes after`() throws {
        let first = try self.load()
        try self.setAge(10_000, of: "\(self.keys)/\(first.signing.id).pem")
        let added = try AssertionKeys.add(to: self.keys)
        try self.setAge(0, of: "\(self.keys)/\(added.id).pem")
        let before = try self.load(at: 3599)
        #expect(before.signing.id == first.signing.id && before.entityTag != first.entityTag)
        #expect(try self.published(before) == [added.id, first.signing.id])
        let after = try self.load(at: 3600)
        #expect(after.signing.id == added.id && after.entityTag == before.entityTag)
        #expect(try self.published(try self.load(at: 4199)) == [added.id, first.signing.id])
        let end = try self.load(at: 4200)
        #expect(try self.published(end) == [added.id])
        #expect(end.entries.map(\.role) == [.active, .expired])
    }

    @Test(arguments: [(0.7, 0.3), (0.3, 0.7)])
    func `of two keys of one second the earlier one signs first`(age: Double, other: Double) throws {
        try PrivateFile.makeFolder(self.keys)
        let keys = [try AssertionKeys.add(to: self.keys), try AssertionKeys.add(to: self.keys)]
        try self.setAge(age, of: "\(self.keys)/\(keys[0].id).pem")
        try self.setAge(other, of: "\(self.keys)/\(keys[1].id).pem")
        #expect(try self.load().signing.id == keys[age > other ? 0 : 1].id)
    }

    @Test func `a rotation adds one private key, and none while another one waits`() throws {
        let first = try self.load()
        try self.setAge(10_000, of: "\(self.keys)/\(first.signing.id).pem")
        #expect(try self.rotate(at: 0, ifOlderThan: .seconds(10_001)) == nil)
        #expect(try self.rotate(at: 0, ifOlderThan: .seconds(10_000)) == Instant(seconds: 1_800_003_600))
        let added = try #require(try self.files().first { $0 != "\(first.signing.id).pem" })
        #expect(try self.folder.mode("state/keys/\(added)") == 0o600)
        try self.setAge(0, of: "\(self.keys)/\(added)")
        #expect(try self.rotate(at: 3599) == nil)
        #expect(try self.files().count == 2)
    }

    @Test func `a rotation removes expired keys of the gateway, but no file that the operator has named`() throws {
        let first = try self.load()
        let own = P256.Signing.PrivateKey()
        try PrivateFile.write(Array(own.pemRepresentation.utf8), to: "\(self.keys)/mine.pem")
        let active = try AssertionKeys.add(to: self.keys)
        for (name, age) in [("\(first.signing.id)", 30_000.0), ("mine", 20_000), ("\(active.id)", 10_000)] {
            try self.setAge(age, of: "\(self.keys)/\(name).pem")
        }
        #expect(try self.rotate(at: 0) != nil)
        let files = try self.files()
        #expect(files.count == 3 && files.contains("mine.pem") && files.contains("\(active.id).pem"))
        #expect(!files.contains("\(first.signing.id).pem"))
    }

    @Test func `no key is added beyond the number that can be read, until one has expired`() throws {
        try PrivateFile.makeFolder(self.keys)
        var ids: [String] = []
        for number in 0..<32 {
            let key = try AssertionKeys.add(to: self.keys)
            // Ten seconds between two keys; the latest signs from now on.
            try self.setAge(Double(3600 + (31 - number) * 10), of: "\(self.keys)/\(key.id).pem")
            ids.append(key.id)
        }
        // The successor of the oldest signs since 300 seconds, so the oldest is published for 300 more.
        for seconds in [Int64(0), 299] {
            let failure = #expect(throws: Failure.self) { try self.rotate(at: seconds) }
            #expect(failure?.reason == .assertionTooManyKeys && failure?.detail.contains("rotate later") == true)
            #expect(try Set(self.files()) == Set(ids.map { "\($0).pem" }))
        }
        #expect(try self.rotate(at: 300) != nil)
        #expect(try self.files().count == 32 && !self.files().contains("\(ids[0]).pem"))
    }

    @Test func `the key id is the thumbprint of the canonical public key`() throws {
        let keys = try self.load()
        let pem = try String(contentsOfFile: "\(self.keys)/\(keys.signing.id).pem", encoding: .utf8)
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let point = try P256.Signing.PrivateKey(pemRepresentation: pem).publicKey.x963Representation
        let x = Self.base64URL(point.dropFirst().prefix(32))
        let y = Self.base64URL(point.suffix(32))
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(keys.signing.id == Self.base64URL(Data(SHA256.hash(data: Data(canonical.utf8)))))
    }

    @Test func `a published key has exactly the members of a public signing key`() throws {
        let keys = try self.load()
        let jwk = try #require(try JSON(parsing: keys.jwks)["keys"]?.array?.first?.object)
        #expect(Set(jwk.keys) == ["kty", "crv", "x", "y", "kid", "use", "alg"])
        #expect(jwk["kty"] == "EC" && jwk["crv"] == "P-256" && jwk["use"] == "sig" && jwk["alg"] == "ES256")
        #expect(keys.entityTag.hasPrefix("\"") && keys.entityTag.hasSuffix("\"") && keys.entityTag.count > 16)
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o660])
    func `a key that other users can read is rejected with its name`(mode: Int) throws {
        let keys = try self.load()
        let file = "\(self.keys)/\(keys.signing.id).pem"
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let failure = #expect(throws: Failure.self) { try self.load() }
        #expect(failure?.reason == .fileTooOpen)
        #expect(failure?.detail.contains("chmod 600 '\(file)'") == true)
    }

    @Test(arguments: [
        "", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        String(repeating: "A", count: 20_000), P384.Signing.PrivateKey().pemRepresentation,
        P256.Signing.PrivateKey().publicKey.pemRepresentation,
    ])
    func `a bad key file is rejected with its name and not replaced`(content: String) throws {
        try PrivateFile.makeFolder(self.keys)
        try PrivateFile.write(Array(content.utf8), to: "\(self.keys)/mine.pem")
        let failure = #expect(throws: Failure.self) { try self.load() }
        #expect(failure?.detail.contains("\(self.keys)/mine.pem") == true)
        #expect(try self.files() == ["mine.pem"])
    }

    @Test func `the operator can add a key under any name, and other files are ignored`() throws {
        let own = P256.Signing.PrivateKey()
        try PrivateFile.makeFolder(self.keys)
        try PrivateFile.write(Array(own.pemRepresentation.utf8), to: "\(self.keys)/mine.pem")
        try Data("notes".utf8).write(to: URL(filePath: "\(self.keys)/README"))
        let keys = try self.load()
        #expect(keys.entries.count == 1)
        #expect(keys.signing.jwk["x"]?.string == Self.base64URL(own.publicKey.rawRepresentation.prefix(32)))
    }

    @Test func `a folder with too many keys is rejected`() throws {
        for _ in 0..<33 {
            try PrivateFile.makeFolder(self.keys)
            _ = try AssertionKeys.add(to: self.keys)
        }
        let failure = #expect(throws: Failure.self) { try self.load() }
        #expect(failure?.reason == .assertionTooManyKeys)
    }

    @Test func `a random source without entropy gives no key`() {
        #expect(throws: Failure.self) { try AssertionKey(from: RandomBytes { [UInt8](repeating: 0, count: $0) }) }
        #expect(throws: Failure.self) { try AssertionKey(from: RandomBytes { _ in [] }) }
    }

    /// Base64url made without the code under test.
    static func base64URL(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
