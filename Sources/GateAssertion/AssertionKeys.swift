// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import Foundation
package import GateCore

/// The signing keys of assertions: the newest signs, all are published.
package struct AssertionKeys: Sendable {
    /// All keys, newest first; never empty.
    package let all: [AssertionKey]
    /// The key that signs.
    package let signing: AssertionKey
    /// The public keys as a JWK set.
    ///
    /// RFC 7517 §5.
    package let jwks: [UInt8]
    /// The `ETag` of ``jwks``, quotes included.
    ///
    /// RFC 9110 §8.8.3.
    package let entityTag: String

    private static let maxKeys = 32
    private static let maxFileBytes = 16_384

    /// Keys of which the newest signs.
    package init(signing: AssertionKey, older: [AssertionKey] = []) {
        self.signing = signing
        self.all = [signing] + older
        self.jwks = JSON.object(["keys": .array(self.all.map(\.jwk))]).encoded
        self.entityTag = "\"\(Base64URL.encode(SHA256.hash(data: self.jwks).prefix(16)))\""
    }

    /// Reads every `.pem` file of a folder; creates the folder and a first key if they do not exist.
    ///
    /// The newest key is that of the file with the latest modification time.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - random: The random source of a first key.
    /// - Returns: The keys, at least one.
    /// - Throws: A failure with the file that is unusable or readable by other users.
    package static func load(folder: String, random: RandomBytes = .system) throws(Failure) -> AssertionKeys {
        try PrivateFile.makeFolder(folder)
        let files = try self.files(in: folder)
        var keys: [AssertionKey] = []
        for file in files {
            let pem = try PrivateFile.read(file, limit: self.maxFileBytes)
            guard let key = AssertionKey(pem: pem) else {
                let advice = "is not a P-256 private key in PEM (PKCS#8); correct it or move it away"
                throw Failure(.assertionBadKeyFile, "\(file) \(advice)")
            }
            guard !keys.contains(where: { $0.id == key.id }) else { continue }
            keys.append(key)
        }
        guard let newest = keys.first else { return AssertionKeys(signing: try self.add(to: folder, random: random)) }
        return AssertionKeys(signing: newest, older: Array(keys.dropFirst()))
    }

    /// Creates a key and its file, named by the key's id.
    package static func add(to folder: String, random: RandomBytes = .system) throws(Failure) -> AssertionKey {
        let key = try AssertionKey(from: random)
        try PrivateFile.write(key.pem, to: "\(folder)/\(key.id).pem")
        return key
    }

    /// The key files, latest modification first.
    private static func files(in folder: String) throws(Failure) -> [String] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw Failure(.fileUnusable, "\(folder) cannot be read")
        }
        let files = names.filter { $0.hasSuffix(".pem") && !$0.hasPrefix(".") }.map { "\(folder)/\($0)" }
        guard files.count <= self.maxKeys else {
            let detail = "\(folder) has \(files.count) keys, more than \(self.maxKeys); remove the oldest"
            throw Failure(.assertionTooManyKeys, detail)
        }
        let dated = files.map { (changed: self.changed($0), file: $0) }
        return dated.sorted { ($0.changed, $0.file) > ($1.changed, $1.file) }.map(\.file)
    }

    private static func changed(_ file: String) -> Double {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    }
}
