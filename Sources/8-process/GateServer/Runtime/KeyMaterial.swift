// SPDX-License-Identifier: Apache-2.0

internal import GateAssertion
internal import GateClients
internal import GateConfiguration
internal import GateCore
internal import GateSessions

/// The keys of a gateway as its files have them at a time: those of assertions, and the gateway secrets.
struct KeyMaterial: Sendable {
    let assertion: AssertionKeys
    /// The keys of tokens for clients; nil without clients.
    let tokens: AssertionKeys?
    /// The gateway secrets, of which the first seals and all open.
    let secrets: [Secret]
    /// The secrets of the state folder; nil if the configuration has the secrets.
    let stateSecrets: GatewaySecrets?

    /// How much the clocks of apps and gateways may differ.
    private static let leeway = Duration.seconds(300)
    /// The longest time between two looks at the files.
    private static let maxInterval = Duration.seconds(60)

    /// Reads the keys; creates those that do not exist.
    static func load(
        for configuration: Configuration,
        now: Instant,
        random: RandomBytes
    ) throws(Failure) -> KeyMaterial {
        var stateSecrets: GatewaySecrets?
        if configuration.gateway.secrets?.isEmpty ?? true {
            stateSecrets = try GatewaySecrets.load(
                folder: configuration.gateway.stateFolder,
                schedule: self.secretSchedule(for: configuration),
                now: now,
                random: random
            )
        }
        return KeyMaterial(
            assertion: try AssertionKeys.load(
                folder: configuration.assertion.keysFolder,
                schedule: self.assertionSchedule(for: configuration),
                now: now,
                random: random
            ),
            tokens: try self.tokenKeys(for: configuration, now: now, random: random),
            secrets: stateSecrets?.inUse ?? configuration.gateway.secrets ?? [],
            stateSecrets: stateSecrets
        )
    }

    /// Whether other keys would give the same signatures, JWK set and seals.
    func isEquivalent(to other: KeyMaterial) -> Bool {
        self.assertion.signing.id == other.assertion.signing.id
            && self.assertion.entityTag == other.assertion.entityTag && self.secrets == other.secrets
            && self.tokens?.signing.id == other.tokens?.signing.id && self.tokens?.entityTag == other.tokens?.entityTag
    }

    /// When a new key signs, and how long the one before it is published: as long as its assertions are valid.
    static func assertionSchedule(for configuration: Configuration) -> RotationSchedule {
        let settings = configuration.assertion
        return RotationSchedule(publishAhead: settings.publishAhead, overlap: settings.lifetime + self.leeway)
    }

    /// The same for tokens: as long as an access token is valid at most.
    static func tokenSchedule(for configuration: Configuration) -> RotationSchedule {
        RotationSchedule(
            publishAhead: configuration.assertion.publishAhead,
            overlap: ClientSettings.accessTokenLifetimes.upperBound + self.leeway
        )
    }

    /// The folder of the keys of tokens, so that all gateways that share the keys of assertions share these.
    private static func tokenFolder(of configuration: Configuration) -> String {
        "\(configuration.assertion.keysFolder)/tokens"
    }

    private static func tokenKeys(
        for configuration: Configuration,
        now: Instant,
        random: RandomBytes
    ) throws(Failure) -> AssertionKeys? {
        guard configuration.hasClients else { return nil }
        return try AssertionKeys.load(
            folder: self.tokenFolder(of: configuration),
            schedule: self.tokenSchedule(for: configuration),
            now: now,
            random: random
        )
    }

    /// When a new secret seals, and how long the one before it opens: as long as its sessions last.
    static func secretSchedule(for configuration: Configuration) -> RotationSchedule {
        RotationSchedule(
            publishAhead: configuration.assertion.publishAhead,
            overlap: configuration.sessions.lifetimes.absolute + self.leeway
        )
    }

    /// How often the files are read, so that every gateway knows a new key in time.
    static func interval(for configuration: Configuration) -> Duration {
        max(.seconds(1), min(self.maxInterval, configuration.assertion.publishAhead / 4))
    }

    /// Adds an assertion key if the latest is older than the configuration allows.
    ///
    /// - Returns: When the new key signs; nil if none was added.
    static func rotateIfDue(
        _ configuration: Configuration,
        now: Instant,
        random: RandomBytes
    ) throws(Failure) -> Instant? {
        guard let age = configuration.assertion.rotate else { return nil }
        return try self.rotate(configuration, now: now, ifOlderThan: age, random: random)
    }

    /// Adds an assertion key, and a key of tokens if there are clients.
    ///
    /// - Returns: When the new assertion key signs; nil if none was added.
    static func rotate(
        _ configuration: Configuration,
        now: Instant,
        ifOlderThan age: Duration = .zero,
        random: RandomBytes = .system
    ) throws(Failure) -> Instant? {
        if configuration.hasClients {
            _ = try AssertionKeys.rotate(
                folder: self.tokenFolder(of: configuration),
                schedule: self.tokenSchedule(for: configuration),
                now: now,
                ifOlderThan: age,
                random: random
            )
        }
        return try AssertionKeys.rotate(
            folder: configuration.assertion.keysFolder,
            schedule: self.assertionSchedule(for: configuration),
            now: now,
            ifOlderThan: age,
            random: random
        )
    }
}
