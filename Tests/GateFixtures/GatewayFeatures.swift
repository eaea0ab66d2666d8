// SPDX-License-Identifier: Apache-2.0

package import GateAccounts
package import GateCore
internal import GatePasskeys
internal import GateProviders
internal import GateRuntime
package import GateSessions
internal import Testing

/// What a gateway has beside its OpenID providers and apps.
package struct GatewayFeatures: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// A provider `local`, whose users sign in here.
    package static let accounts = GatewayFeatures(rawValue: 1)
    /// Passkeys for `example.com`.
    package static let passkeys = GatewayFeatures(rawValue: 2)
    /// Connected accounts, which apps know by the first one.
    package static let connections = GatewayFeatures(rawValue: 4)
    /// A mail server; the messages are in ``GatewayFixture/mailbox``.
    package static let mail = GatewayFeatures(rawValue: 8)
    /// The session API, at `/api/session`.
    package static let sessionAPI = GatewayFeatures(rawValue: 16)
    /// That users with an email address of `example.org` may register at `local`.
    package static let registration = GatewayFeatures(rawValue: 32)

    /// What is kept of users with them.
    func users(
        in entries: SealedEntries,
        _ services: Services,
        _ origin: Origin,
        _ mailbox: TestMailbox
    ) throws -> UserAccounts {
        var users = UserAccounts(in: entries)
        if self.contains(.passkeys) {
            let party = try PasskeyRelyingParty(id: "example.com", name: "Acme", origins: [origin])
            users.passkeys = Passkeys(party, in: entries, clock: services.clock, random: services.random)
        }
        if self.contains(.connections) {
            users.connections = AccountConnections(forwardsFirst: true, in: entries, clock: services.clock)
        }
        if self.contains(.mail) { users.mailer = try mailbox.mailer() }
        return users
    }

    /// The provider with local accounts; nil without the feature.
    func provider(in entries: SealedEntries, _ services: Services, _ sealer: Sealer) -> RuntimeProvider? {
        guard self.contains(.accounts) else { return nil }
        var settings = LocalAccountSettings()
        if self.contains(.registration) {
            var registration = RegistrationSettings()
            registration.domains = ["example.org"]
            settings.registration = registration
        }
        // No time passes for the limits, however slow the machine is.
        let start = ContinuousClock.now
        let workers = PasswordWorkers(cost: PasswordCost(memory: 4096, passes: 1, lanes: 1))
        let accounts = LocalAccounts(
            provider: "local",
            settings: settings,
            host: GatewayFixture.gate,
            entries: entries,
            sealer: sealer,
            services: LocalAccounts.Services(workers: workers, throttle: PasswordThrottle { start }),
            clock: services.clock,
            random: services.random
        )
        return RuntimeProvider(id: "local", label: .password, accounts: accounts)
    }
}

extension GatewayFixture {
    /// The password of all local accounts.
    package static let password = "correct horse battery staple"

    /// The local accounts.
    package var accounts: LocalAccounts { get throws { try #require(self.runtime.providers["local"]?.accounts) } }

    /// A new local account, whose user has chosen the password and proved the address.
    @discardableResult
    package func addAccount(_ email: String = "ada@example.org") async throws -> Account {
        var draft = AccountDraft()
        (draft.email, draft.name) = (email, "Ada Lovelace")
        let accounts = try self.accounts
        let added = try await accounts.add(draft, linkVerifiesEmail: true)
        let token = try #require(added.token)
        let result = try await accounts.choose(GatewayFixture.password, byLink: token, from: nil)
        guard case .changed(let account) = result else { throw CancellationError() }
        return account
    }

    /// The cookies of a browser in which a user has signed in, and the session.
    package func signIn(_ browser: Browser, as profile: Profile = .staff()) async throws -> Session {
        let issued = try await self.session(of: profile)
        browser.jar[GatewayFixture.gate, default: [:]]["__Host-gatehouse"] = issued.ticket.text
        return issued.session
    }
}

extension SoftAuthenticator {
    /// Has its passkey added for a user, with a user handle.
    package func add(to passkeys: Passkeys, of user: String, handle: [UInt8] = [1, 2, 3]) async throws {
        let challenge = try PasskeyChallenge([UInt8](repeating: 7, count: 32))
        let names = try PasskeyRegistration.User(id: handle, name: "ada", displayName: "Ada")
        _ = try await passkeys.add(
            self.registration(challenge.text),
            to: PasskeyRegistration(passkeys.relyingParty, user: names, challenge: challenge),
            name: "Phone",
            user: user,
            handle: handle
        )
    }
}
