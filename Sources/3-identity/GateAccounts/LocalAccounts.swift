// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateProviders

/// The local accounts of one provider: who signs in with a password, and how accounts change.
///
/// What is kept here beside the store outlives a reload.
package struct LocalAccounts: Sendable {
    /// What all providers with local accounts share.
    package struct Services: Sendable {
        /// Hashes passwords.
        package let workers: PasswordWorkers
        /// Slows down guessing.
        package let throttle: PasswordThrottle

        /// Services that have done nothing yet.
        package init(workers: PasswordWorkers = PasswordWorkers(), throttle: PasswordThrottle = PasswordThrottle()) {
            (self.workers, self.throttle) = (workers, throttle)
        }
    }

    /// The name of the provider.
    package let provider: String
    package let store: AccountStore
    let settings: LocalAccountSettings
    let services: Services
    let rules: PasswordRules
    let sealer: Sealer
    let clock: WallClock
    let random: RandomBytes

    /// The accounts of a provider.
    ///
    /// - Parameters:
    ///   - provider: The name of the provider.
    ///   - settings: Its settings.
    ///   - host: The host of the gateway, which no password may contain.
    ///   - entries: Where the accounts are kept.
    ///   - sealer: Seals them.
    ///   - services: What all such providers share.
    ///   - clock: The time.
    ///   - random: The source of ids, links and secrets.
    package init(
        provider: String,
        settings: LocalAccountSettings,
        host: String,
        entries: SealedEntries,
        sealer: Sealer,
        services: Services,
        clock: WallClock,
        random: RandomBytes
    ) {
        self.provider = provider
        self.store = AccountStore(of: provider, in: entries, clock: clock)
        self.settings = settings
        self.services = services
        self.rules = PasswordRules(host: host, breached: settings.breachedPasswords.map(BreachedPasswords.init(path:)))
        (self.sealer, self.clock, self.random) = (sealer, clock, random)
    }

    /// Where a sign-in comes from.
    package struct Origin: Sendable {
        package let client: IPAddress?
        /// The mark of the browser; nil if it has none.
        package let device: DeviceMark?

        /// A client with a browser.
        package init(client: IPAddress?, device: DeviceMark?) {
            (self.client, self.device) = (client, device)
        }

        /// What the attempts are counted under: the device if the user of the account has signed in from it.
        fileprivate func source(for account: Account?) -> PasswordThrottle.Source {
            if let device, let account, device.account == account.id, device.generation == account.generation {
                return .device(device.id)
            }
            return self.client.map { .network(ClientNetwork(of: $0)) } ?? .unknown
        }
    }

    /// What became of a password.
    package enum PasswordResult: Sendable {
        /// It is the right one, and nothing else is asked for.
        case admitted(Account)
        /// It is the right one, and a code is asked for.
        case needsCode(Account)
        /// There is no such account, or it has another password, or it is disabled; `detail` is for the log only.
        case rejected(detail: String)
        /// There were too many attempts; this one was not looked at.
        case tooMany(Duration)
    }

    /// Checks a name and a password.
    ///
    /// A name without an account takes as long as one with an account: the same calls of the store, and one hash.
    ///
    /// - Parameters:
    ///   - name: What the user typed as email address or user name.
    ///   - typed: What the user typed as password.
    ///   - origin: Where it comes from.
    /// - Returns: What became of it.
    /// - Throws: `account.busy`, or if the store is unavailable.
    package func check(
        _ name: String,
        _ typed: String,
        from origin: Origin
    ) async throws(Failure) -> PasswordResult {
        let known = AccountName(name)
        let account = try await self.store.account(named: known)
        let key = self.throttleKey(known.map { "name:\($0.text)" } ?? "typed:\(name)")
        let attempt: PasswordThrottle.Attempt
        do throws(TooManyAttempts) {
            attempt = try self.services.throttle.begin(key, from: origin.source(for: account))
        } catch {
            return .tooMany(error.wait)
        }
        let password = Password(typed)
        let isRight: Bool
        do throws(Failure) {
            isRight = try await self.services.workers.verify(
                password?.secret ?? Secret([]),
                account?.password,
                from: origin.client
            )
        } catch {
            // No password was looked at, so this attempt does not count.
            attempt.withdrawn()
            throw error
        }
        guard let account else { return .rejected(detail: "no account of \(self.provider) has the name") }
        let user = "\(self.provider):\(account.id)"
        guard account.password != nil else { return .rejected(detail: "\(user) has no password yet") }
        guard isRight, let password else { return .rejected(detail: "another password than that of \(user)") }
        guard !account.isDisabled else { return .rejected(detail: "\(user) is disabled") }
        attempt.succeeded()
        await self.renewHash(of: account, password, from: origin.client)
        return account.hasSecondFactor ? .needsCode(account) : .admitted(account)
    }

    /// Checks a time-based code or a recovery code, once the password was right.
    ///
    /// - Parameters:
    ///   - typed: What the user typed.
    ///   - step: The proof of the password.
    ///   - origin: Where it comes from.
    /// - Returns: What became of it; never that a code is asked for.
    /// - Throws: If the store is unavailable.
    package func check(
        code typed: String,
        after step: PasswordProof,
        from origin: Origin
    ) async throws(Failure) -> PasswordResult {
        guard let account = try await self.store.account(step.account), !account.isDisabled,
            account.generation == step.generation
        else { return .rejected(detail: "\(self.provider):\(step.account) has changed since the password") }
        return try await self.check(code: typed, of: account, from: origin)
    }

    /// The same for an account whose password was right just now.
    package func check(
        code typed: String,
        of account: Account,
        from origin: Origin
    ) async throws(Failure) -> PasswordResult {
        let attempt: PasswordThrottle.Attempt
        do throws(TooManyAttempts) {
            let key = self.throttleKey("code:\(account.id)")
            attempt = try self.services.throttle.begin(key, from: origin.source(for: account))
        } catch {
            return .tooMany(error.wait)
        }
        guard let changed = try await self.use(typed, of: account) else {
            return .rejected(detail: "a wrong or used code of \(self.provider):\(account.id)")
        }
        attempt.succeeded()
        return .admitted(changed)
    }

    /// Uses a code up, so that it works once on all gateways; nil if it is not one of the account.
    private func use(_ typed: String, of known: Account) async throws(Failure) -> Account? {
        let (now, id) = (self.clock.now, known.id)
        return try await self.store.update(id) { account in
            guard !account.isDisabled, account.generation == known.generation, var codes = account.codes else {
                return false
            }
            if let step = TimeCode.step(of: typed, codes.secret, at: now, after: codes.lastStep) {
                codes.lastStep = step
            } else if let hash = RecoveryCode.hash(of: typed, account: id),
                let index = codes.recovery.firstIndex(where: { constantTimeEquals($0, hash) })
            {
                codes.recovery.remove(at: index)
            } else {
                return false
            }
            account.codes = codes
            return true
        }
    }

    /// Hashes a password again if its hash has another cost than new ones; a failure only means that it stays as it is.
    private func renewHash(of account: Account, _ password: Password, from client: IPAddress?) async {
        guard let old = account.password, self.services.workers.isOutdated(old) else { return }
        guard let new = try? await self.services.workers.hash(password.secret, from: client) else { return }
        _ = try? await self.store.update(account.id) { account in
            guard account.password == old else { return false }
            account.password = new
            return true
        }
    }

    /// The profile of an account for a session, as of an authentication now.
    package func profile(of account: Account) -> Profile {
        var profile = account.profile(at: self.provider)
        profile.authTime = self.clock.now
        return profile
    }

    private func throttleKey(_ text: String) -> [UInt8] { accountDigest("throttle", "\(self.provider):\(text)".utf8) }
}
