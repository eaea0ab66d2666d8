// SPDX-License-Identifier: Apache-2.0

internal import Crypto
package import GateCore

/// The signing keys of assertions: one signs, all that an app may need are published.
package struct AssertionKeys: Sendable {
    /// A key with its time and role.
    package struct Entry: Sendable {
        package let key: AssertionKey
        /// When its file was written.
        package let created: Instant
        /// What it is used for.
        package let role: RotationSchedule.Role
    }

    /// All keys, latest first; one of them is active.
    package let entries: [Entry]
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

    private static let maxFileBytes = 16_384
    private static let maxKeys = 32

    /// A single key, which signs.
    package init(signing key: AssertionKey) {
        self.init([Entry(key: key, created: Instant(seconds: 0), role: .active)], signing: key)
    }

    private init?(_ entries: [Entry]) {
        guard let active = entries.first(where: { $0.role == .active }) else { return nil }
        self.init(entries, signing: active.key)
    }

    private init(_ entries: [Entry], signing key: AssertionKey) {
        self.entries = entries
        self.signing = key
        let published = entries.filter { $0.role != .expired }.map(\.key.jwk)
        self.jwks = JSON.object(["keys": .array(published)]).encoded
        self.entityTag = "\"\(Base64URL.encode(SHA256.hash(data: self.jwks).prefix(16)))\""
    }

    /// Reads every `.pem` file of a folder; creates the folder and a first key if they do not exist.
    ///
    /// The time of a key is the modification time of its file.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - schedule: When a key replaces the one before it.
    ///   - now: The time.
    ///   - random: The random source of a first key.
    /// - Returns: The keys, at least one.
    /// - Throws: A failure with the file that is unusable or readable by other users.
    package static func load(
        folder: String,
        schedule: RotationSchedule,
        now: Instant,
        random: RandomBytes = .system
    ) throws(Failure) -> AssertionKeys {
        try PrivateFile.makeFolder(folder)
        let files = KeyFiles(folder: folder)
        if let keys = AssertionKeys(try self.entries(of: files, schedule, now)) { return keys }
        return try PrivateFile.locking(folder) { () throws(Failure) in
            // Another gateway may have been first.
            if let keys = AssertionKeys(try self.entries(of: files, schedule, now)) { return keys }
            try self.add(to: folder, random: random)
            guard let keys = AssertionKeys(try self.entries(of: files, schedule, now)) else {
                throw Failure(.assertionNoKey, "\(folder) has no key after one was written")
            }
            return keys
        }
    }

    /// Adds a key, which signs when it has been published long enough; removes files of expired keys first.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - schedule: When a key replaces the one before it.
    ///   - now: The time.
    ///   - age: How old the latest key must be; otherwise nothing is added.
    ///   - random: The random source.
    /// - Returns: When the new key signs; nil if none was added, since one is published already or the latest is too new.
    /// - Throws: A failure with the file that is unusable.
    package static func rotate(
        folder: String,
        schedule: RotationSchedule,
        now: Instant,
        ifOlderThan age: Duration = .zero,
        random: RandomBytes = .system
    ) throws(Failure) -> Instant? {
        try PrivateFile.locking(folder) { () throws(Failure) in
            let entries = try self.entries(of: KeyFiles(folder: folder), schedule, now)
            guard let latest = entries.first, latest.role == .active, latest.created.advanced(by: age) <= now else {
                return nil
            }
            // Files that the operator has named are the operator's.
            for entry in entries where entry.role == .expired {
                try PrivateFile.remove("\(folder)/\(entry.key.id).pem")
            }
            guard entries.count(where: { $0.role != .expired }) < self.maxKeys else {
                let detail = "\(folder) has \(self.maxKeys) keys that are in use; rotate later"
                throw Failure(.assertionTooManyKeys, detail)
            }
            try self.add(to: folder, random: random)
            return schedule.activation(of: now)
        }
    }

    /// Creates a key and its file, named by the key's id.
    @discardableResult
    package static func add(to folder: String, random: RandomBytes = .system) throws(Failure) -> AssertionKey {
        let key = try AssertionKey(from: random)
        try PrivateFile.write(key.pem, to: "\(folder)/\(key.id).pem")
        return key
    }

    /// The keys of the files with their roles, latest first.
    private static func entries(
        of files: KeyFiles,
        _ schedule: RotationSchedule,
        _ now: Instant
    ) throws(Failure) -> [Entry] {
        let found = try files.all { $0.hasSuffix(".pem") }
        guard found.count <= self.maxKeys else {
            let detail = "\(files.folder) has \(found.count) keys, more than \(self.maxKeys); remove the oldest"
            throw Failure(.assertionTooManyKeys, detail)
        }
        var keys: [(key: AssertionKey, created: Instant)] = []
        for (path, created) in found {
            let pem = try PrivateFile.read(path, limit: self.maxFileBytes)
            guard let key = AssertionKey(pem: pem) else {
                let advice = "is not a P-256 private key in PEM (PKCS#8); correct it or move it away"
                throw Failure(.assertionBadKeyFile, "\(path) \(advice)")
            }
            guard !keys.contains(where: { $0.key.id == key.id }) else { continue }
            keys.append((key, created))
        }
        let roles = schedule.roles(of: keys.map(\.created), at: now)
        return zip(keys, roles).map { Entry(key: $0.key, created: $0.created, role: $1) }
    }
}
