// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateCore

/// The gateway secrets in the state folder, which rotate like assertion keys.
///
/// The first secret is in the file `secret`, each later one in `secret-` and a random name. All gateways that share the
/// folder open with a new secret before one of them seals with it.
struct GatewaySecrets: Sendable {
    /// A secret with its time and role.
    struct Entry: Sendable {
        let secret: Secret
        let path: String
        let created: Instant
        let role: RotationSchedule.Role
    }

    /// The secrets, latest first, expired ones included.
    let entries: [Entry]

    private static let maxBytes = 4096
    private static let maxSecrets = 16
    private static let minBytes = 32

    /// The secrets of a folder; creates the folder and a first secret if it has no secret.
    static func load(
        folder: String,
        schedule: RotationSchedule,
        now: Instant,
        random: RandomBytes
    ) throws(Failure) -> GatewaySecrets {
        try PrivateFile.makeFolder(folder)
        let found = try GatewaySecrets(folder, schedule, now)
        guard found.entries.isEmpty else { return found }
        return try PrivateFile.locking(folder) { () throws(Failure) in
            // Another gateway may have been first.
            let found = try GatewaySecrets(folder, schedule, now)
            guard found.entries.isEmpty else { return found }
            try self.write("\(folder)/secret", random)
            return try GatewaySecrets(folder, schedule, now)
        }
    }

    /// Adds a secret, which seals when all gateways had the time to read it; removes files of expired ones first.
    ///
    /// - Returns: When it seals; nil if none was added, since one is pending already.
    static func rotate(
        folder: String,
        schedule: RotationSchedule,
        now: Instant,
        random: RandomBytes
    ) throws(Failure) -> Instant? {
        try PrivateFile.locking(folder) { () throws(Failure) in
            let secrets = try GatewaySecrets(folder, schedule, now)
            guard secrets.entries.first?.role == .active else { return nil }
            for entry in secrets.entries where entry.role == .expired {
                try PrivateFile.remove(entry.path)
            }
            guard secrets.entries.count(where: { $0.role != .expired }) < GatewaySecrets.maxSecrets else {
                let detail = "\(folder) has \(GatewaySecrets.maxSecrets) secrets that are in use; rotate later"
                throw Failure(.gatewaySecret, detail)
            }
            try self.write("\(folder)/secret-\(random.token(8))", random)
            return schedule.activation(of: now)
        }
    }

    /// The valid secrets, the one that seals first.
    var inUse: [Secret] {
        self.entries.filter { $0.role == .active }.map(\.secret)
            + self.entries.filter { $0.role != .active && $0.role != .expired }.map(\.secret)
    }

    private init(_ folder: String, _ schedule: RotationSchedule, _ now: Instant) throws(Failure) {
        let files = try KeyFiles(folder: folder).all { $0 == "secret" || $0.hasPrefix("secret-") }
        guard files.count <= GatewaySecrets.maxSecrets else {
            let count = "\(files.count) secrets, more than \(GatewaySecrets.maxSecrets)"
            throw Failure(.gatewaySecret, "\(folder) has \(count); remove the oldest")
        }
        let roles = schedule.roles(of: files.map(\.created), at: now)
        var entries: [Entry] = []
        for (file, role) in zip(files, roles) {
            let bytes = try PrivateFile.read(file.path, limit: GatewaySecrets.maxBytes)
            guard bytes.count >= GatewaySecrets.minBytes else {
                throw Failure(
                    .gatewaySecret,
                    "\(file.path) holds less than \(GatewaySecrets.minBytes) bytes; remove it to make another"
                )
            }
            entries.append(Entry(secret: Secret(bytes), path: file.path, created: file.created, role: role))
        }
        self.entries = entries
    }

    private static func write(_ path: String, _ random: RandomBytes) throws(Failure) {
        try PrivateFile.write(Array(Base64URL.encode(random.bytes(32)).utf8), to: path)
    }
}
