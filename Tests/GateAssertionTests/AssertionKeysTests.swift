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

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: self.keys) }

    private func setAge(_ seconds: Double, of file: String) throws {
        let date = Date(timeIntervalSince1970: 1_800_000_000 - seconds)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
    }

    @Test func `the first start creates one key that only the owner can read`() throws {
        let keys = try AssertionKeys.load(folder: self.keys)
        #expect(keys.all.count == 1)
        #expect(try self.files() == ["\(keys.signing.id).pem"])
        #expect(try self.folder.mode("state/keys") == 0o700)
        #expect(try self.folder.mode("state/keys/\(keys.signing.id).pem") == 0o600)
    }

    @Test func `the second start uses the same key`() throws {
        let first = try AssertionKeys.load(folder: self.keys)
        let second = try AssertionKeys.load(folder: self.keys)
        #expect(second.signing.id == first.signing.id)
        #expect(second.jwks == first.jwks)
        #expect(second.entityTag == first.entityTag)
        #expect(try self.files().count == 1)
    }

    @Test func `the newest key signs and all are published`() throws {
        let first = try AssertionKeys.load(folder: self.keys)
        try self.setAge(100, of: "\(self.keys)/\(first.signing.id).pem")
        let added = try AssertionKeys.add(to: self.keys)
        try self.setAge(50, of: "\(self.keys)/\(added.id).pem")
        let both = try AssertionKeys.load(folder: self.keys)
        #expect(both.signing.id == added.id)
        #expect(both.all.map(\.id) == [added.id, first.signing.id])
        #expect(both.entityTag != first.entityTag)
        let published = try JSON(parsing: both.jwks)["keys"]?.array?.compactMap { $0["kid"]?.string }
        #expect(published == [added.id, first.signing.id])
    }

    @Test func `the key id is the thumbprint of the canonical public key`() throws {
        let keys = try AssertionKeys.load(folder: self.keys)
        let pem = try String(contentsOfFile: "\(self.keys)/\(keys.signing.id).pem", encoding: .utf8)
        #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let point = try P256.Signing.PrivateKey(pemRepresentation: pem).publicKey.x963Representation
        let x = Self.base64URL(point.dropFirst().prefix(32))
        let y = Self.base64URL(point.suffix(32))
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(keys.signing.id == Self.base64URL(Data(SHA256.hash(data: Data(canonical.utf8)))))
    }

    @Test func `a published key has exactly the members of a public signing key`() throws {
        let keys = try AssertionKeys.load(folder: self.keys)
        let jwk = try #require(try JSON(parsing: keys.jwks)["keys"]?.array?.first?.object)
        #expect(Set(jwk.keys) == ["kty", "crv", "x", "y", "kid", "use", "alg"])
        #expect(jwk["kty"] == "EC" && jwk["crv"] == "P-256" && jwk["use"] == "sig" && jwk["alg"] == "ES256")
        #expect(keys.entityTag.hasPrefix("\"") && keys.entityTag.hasSuffix("\"") && keys.entityTag.count > 16)
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o660])
    func `a key that other users can read is rejected with its name`(mode: Int) throws {
        let keys = try AssertionKeys.load(folder: self.keys)
        let file = "\(self.keys)/\(keys.signing.id).pem"
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let failure = #expect(throws: Failure.self) { try AssertionKeys.load(folder: self.keys) }
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
        let failure = #expect(throws: Failure.self) { try AssertionKeys.load(folder: self.keys) }
        #expect(failure?.detail.contains("\(self.keys)/mine.pem") == true)
        #expect(try self.files() == ["mine.pem"])
    }

    @Test func `the operator can add a key under any name, and other files are ignored`() throws {
        let own = P256.Signing.PrivateKey()
        try PrivateFile.makeFolder(self.keys)
        try PrivateFile.write(Array(own.pemRepresentation.utf8), to: "\(self.keys)/mine.pem")
        try Data("notes".utf8).write(to: URL(filePath: "\(self.keys)/README"))
        let keys = try AssertionKeys.load(folder: self.keys)
        #expect(keys.all.count == 1)
        #expect(keys.signing.jwk["x"]?.string == Self.base64URL(own.publicKey.rawRepresentation.prefix(32)))
    }

    @Test func `a folder with too many keys is rejected`() throws {
        for _ in 0..<33 {
            try PrivateFile.makeFolder(self.keys)
            _ = try AssertionKeys.add(to: self.keys)
        }
        let failure = #expect(throws: Failure.self) { try AssertionKeys.load(folder: self.keys) }
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
