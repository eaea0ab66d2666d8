// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
package import GateCore
internal import GateHeaders
internal import GateOpenID
internal import GateOperations
internal import GateProviders
package import GateSessions

/// Finds the session of a ticket, and has it confirmed by its provider when that is due.
package struct SessionLookUp: Sendable {
    let runtime: RuntimeConfiguration
    /// When the provider is asked again, on the app that is used.
    package let policy: RecheckPolicy

    /// How long a request waits for a re-check.
    private let patience: Duration
    private let route: RuntimeRoute?

    /// The look-up for a route, or for an endpoint of the gateway.
    package init(runtime: RuntimeConfiguration, route: RuntimeRoute? = nil, patience: Duration = .seconds(3)) {
        self.runtime = runtime
        self.policy = runtime.recheck(on: route)
        self.patience = patience
        self.route = route
    }

    /// Whether it had an expired access token refreshed, since the app gets that.
    package var refreshesAccessToken: Bool { self.route?.sendsAccessToken ?? false }

    /// How long the calls of a re-check may take together, so that they end before the reservation of the session.
    private static let maxCallTime = Duration.seconds(30)
    /// How often the result of another gateway is looked for.
    private static let pollInterval = Duration.milliseconds(100)
    /// How often a result is written to a store that fails.
    private static let maxWrites = 4

    package enum Found: Sendable {
        /// The ticket has no session.
        case none
        /// A session that may be served.
        case session(Session)
        /// Only the user can have it confirmed, by a navigation to the provider, and it is not served before.
        case needsUser(Session)
    }

    /// The session of a ticket on a host.
    ///
    /// - Parameters:
    ///   - ticket: The ticket.
    ///   - host: The host.
    ///   - mayAskUser: Whether the request is a navigation, which can lead over the provider.
    /// - Returns: What was found.
    /// - Throws: If the store is unavailable, or the provider has been for longer than `sessions.max_stale`.
    package func session(for ticket: Ticket, host: String, mayAskUser: Bool) async throws(Failure) -> Found {
        let sessions = self.runtime.sessions
        let now = self.runtime.services.clock.now
        guard let session = try await sessions.session(for: ticket, host: host, now: now) else { return .none }
        let state = self.policy.state(of: session, at: now)
        guard state != .confirmed else { return .session(session) }
        let recheck = self.runtime.services.rechecks.recheck(of: session.familyKey) {
            await self.recheck(session, ticket)
        }
        // An app that gets the access token gets a new one rather than none.
        let isTokenDue = self.route?.lacksAccessToken(session, at: now) ?? false
        // A navigation is led over the provider before it is overdue: a page that only fetches cannot be.
        let leadsUser = mayAskUser && self.policy.leadsUserEarly && session.grant?.isUsable(at: now) != true
        guard state != .due || isTokenDue || leadsUser else { return .session(session) }
        switch await recheck?.outcome(within: self.patience) {
        case .changed:
            let now = self.runtime.services.clock.now
            guard let changed = try await sessions.session(for: ticket, host: host, now: now) else { return .none }
            // What changed may be something else: tokens only, or the idle time.
            let state = self.policy.state(of: changed, at: now)
            guard state == .stale else { return .session(changed) }
            let failure = self.runtime.services.rechecks.recentFailure(of: changed.familyKey)
            let detail = "the session changed meanwhile, and is not confirmed"
            return try self.unconfirmed(changed, state, failure ?? Failure(.providerTimeout, detail))
        case .ended: return .none
        case .failed where state == .due && isTokenDue:
            // The token may have been refreshed although the user could not be confirmed. If the store fails now, the session
            // is served as it was.
            let current = try? await sessions.session(for: ticket, host: host, now: self.runtime.services.clock.now)
            return .session(current ?? session)
        case .needsUser where state == .stale || mayAskUser && (state != .due || leadsUser): return .needsUser(session)
        case .needsUser,
            .failed where state == .due, nil where state == .due:
            return .session(session)
        case .failed(let failure):
            // A new sign-in helps where the provider responds and only this session cannot be confirmed.
            let isOutage = RelyingParty.isOutage(failure) || failure.reason == .openIDClientRefused
            guard state != .stale || isOutage || failure.kind == .overloaded || !mayAskUser else {
                return .needsUser(session)
            }
            return try self.unconfirmed(session, state, failure)
        case nil:
            let detail = "\(session.provider) has not responded for \(self.patience.wholeSeconds) s"
            return try self.unconfirmed(session, state, Failure(.providerTimeout, detail))
        }
    }

    /// The same as a value, for a task.
    package func result(for ticket: Ticket, host: String, mayAskUser: Bool) async -> Result<Found, Failure> {
        do throws(Failure) {
            return .success(try await self.session(for: ticket, host: host, mayAskUser: mayAskUser))
        } catch {
            return .failure(error)
        }
    }

    /// A session whose provider does not respond: served for a time, then kept.
    private func unconfirmed(
        _ session: Session,
        _ state: RecheckPolicy.State,
        _ failure: Failure
    ) throws(Failure) -> Found {
        self.runtime.services.metrics.stale(session.provider, isServed: state != .stale)
        guard state == .stale else { return .session(session) }
        let detail = "\(session.provider) has not confirmed the user for too long: \(failure.detail)"
        throw Failure(.sessionNotConfirmed, detail, retryAfter: failure.retryAfter)
    }
}

extension RuntimeRoute {
    /// Whether the app gets the access token.
    package var sendsAccessToken: Bool { self.identity.providerToken == .accessToken }

    /// Whether the app gets the access token, and a session has none that can still be sent.
    package func lacksAccessToken(_ session: Session, at now: Instant) -> Bool {
        guard self.sendsAccessToken, let grant = session.grant else { return false }
        return !grant.hasCurrentAccessToken(at: now.advanced(by: ProviderToken.margin))
    }
}

extension RuntimeConfiguration {
    /// For how many seconds a session may be cached: no longer than an access token that some app gets may be sent, so that the
    /// look-up after that refreshes it.
    package func secondsInCache(
        of session: Session,
        readBy manager: SessionManager,
        under recheck: RecheckPolicy,
        now: Instant
    ) -> Int64 {
        let remaining = manager.remaining(session, under: recheck, now: now).wholeSeconds
        guard self.providers.sendsAccessToken(of: session.provider), let expiry = session.grant?.accessExpiry else {
            return remaining
        }
        let left = expiry.since(now) - ProviderToken.margin
        return left > .zero ? min(remaining, max(1, left.wholeSeconds)) : remaining
    }
}

// MARK: Re-check

extension SessionLookUp {
    /// Has the first session of a family confirmed, if no other gateway is at it.
    private func recheck(_ seen: Session, _ ticket: Ticket) async -> RecheckOutcome {
        let sessions = self.runtime.sessions
        guard let provider = self.runtime.providers[seen.provider] else { return .ended }
        if let failure = self.runtime.services.rechecks.recentFailure(of: seen.familyKey) { return .failed(failure) }
        do throws(Failure) {
            guard let stored = try await sessions.stored(ticket) else { return .changed }
            let now = self.runtime.services.clock.now
            // Another gateway may have been first.
            guard self.policy.state(of: stored.session, at: now) != .confirmed else { return .changed }
            if try await self.endsWithFirstAccount(stored.session) { return .ended }
            if let accounts = provider.accounts { return try await self.recheck(stored, with: accounts) }
            guard let grant = stored.session.grant, grant.isUsable(at: now) else {
                // A provider that is down would show the user nothing.
                if let wait = self.runtime.services.rechecks.pause(of: provider.id) {
                    return self.paused(provider, wait)
                }
                self.runtime.services.metrics.rechecked(provider.id, result: "needs_user")
                return .needsUser
            }
            if let wait = self.runtime.services.rechecks.admit(provider.id) { return self.paused(provider, wait) }
            guard try await sessions.reserveRecheck(of: stored, now: now) else {
                return try await self.resultElsewhere(stored, ticket)
            }
            // Another gateway may have ended its re-check between the two.
            guard let current = try await sessions.stored(ticket), current.isSameRecord(as: stored) else {
                await sessions.endRecheck(of: stored)
                return .changed
            }
            let outcome = await self.recheck(stored, grant, provider)
            await sessions.endRecheck(of: stored)
            switch outcome {
            case .failed(let failure):
                let isOutage = RelyingParty.isOutage(failure)
                self.runtime.services.rechecks.failed(seen.familyKey, failure, isOutage: isOutage)
            case .changed, .ended, .needsUser: self.runtime.services.rechecks.succeeded(seen.familyKey)
            }
            return outcome
        } catch {
            return .failed(error)
        }
    }

    private func paused(_ provider: RuntimeProvider, _ wait: Duration) -> RecheckOutcome {
        let detail = "\(provider.id) has not responded to re-checks lately"
        return .failed(Failure(.providerUnavailable, detail, retryAfter: wait))
    }

    /// Waits for the gateway that has reserved a re-check.
    private func resultElsewhere(_ stored: StoredSession, _ ticket: Ticket) async throws(Failure) -> RecheckOutcome {
        let end = ContinuousClock.now + self.patience
        while ContinuousClock.now < end {
            try? await Task.sleep(for: SessionLookUp.pollInterval)
            guard let current = try await self.runtime.sessions.stored(ticket) else { return .changed }
            if !current.isSameRecord(as: stored) { return .changed }
        }
        return .failed(Failure(.providerTimeout, "the re-check of another gateway takes long"))
    }

    private func recheck(
        _ stored: StoredSession,
        _ grant: ProviderGrant,
        _ provider: RuntimeProvider
    ) async -> RecheckOutcome {
        let session = stored.session
        switch await self.ask(provider, about: session, grant) {
        case .success(.confirmed(let signIn)):
            self.runtime.services.rechecks.succeeded(provider.id)
            return await self.store(signIn, of: provider, in: stored, isPartial: false)
        case .success(.partial(let signIn, let failure)):
            if RelyingParty.isOutage(failure) {
                self.failed(failure, provider)
            } else {
                self.runtime.services.rechecks.succeeded(provider.id)
            }
            return await self.store(signIn, of: provider, in: stored, isPartial: true)
        case .success(.refreshed(let grant, let failure)):
            var change = SignIn(profile: session.profile)
            change.grant = grant.kept(withAccessToken: self.runtime.providers.sendsAccessToken(of: provider.id))
            // A failure about one user is not one of the provider.
            if RelyingParty.isOutage(failure) {
                self.failed(failure, provider)
            } else {
                self.runtime.services.rechecks.succeeded(provider.id)
                self.runtime.services.metrics.rechecked(provider.id, result: failure.code)
            }
            let outcome = await self.store(change, in: stored, confirmed: nil)
            guard case .changed = outcome else { return outcome }
            return .failed(failure)
        case .success(.ended(let failure)):
            self.runtime.services.rechecks.succeeded(provider.id)
            self.runtime.services.metrics.rechecked(provider.id, result: "ended")
            self.runtime.services.metrics.ended(.recheck)
            self.runtime.services.log.sessionEnded(session.profile.user, session: session.id, by: failure)
            // If the store is down, the next re-check ends it there as well.
            try? await self.runtime.sessions.endFamily(session.familyKey)
            return .ended
        case .success(.needsUser):
            self.runtime.services.metrics.rechecked(provider.id, result: "needs_user")
            return .needsUser
        case .failure(let failure):
            if RelyingParty.isOutage(failure) || failure.reason == .openIDClientRefused {
                self.failed(failure, provider)
            } else {
                self.runtime.services.metrics.rechecked(provider.id, result: failure.code)
            }
            return .failed(failure)
        }
    }

    /// Calls the provider, for a bounded time.
    private func ask(
        _ provider: RuntimeProvider,
        about session: Session,
        _ grant: ProviderGrant
    ) async -> Result<RecheckResult, Failure> {
        let user = RecheckedUser(grant: grant, profile: session.profile, idToken: session.idToken)
        let isStale = self.policy.state(of: session, at: self.runtime.services.clock.now) == .stale
        let looksUpGroups = self.runtime.providers.needsGroups(of: provider.id)
        guard let party = provider.relyingParty else {
            return .failure(Failure(.providerNone, "\(provider.id) has no server to ask"))
        }
        let work = Task { () -> Result<RecheckResult, Failure> in
            do throws(Failure) {
                return .success(
                    try await party.recheck(
                        user,
                        looksUpGroups: looksUpGroups,
                        acceptsPartial: isStale
                    )
                )
            } catch {
                return .failure(error)
            }
        }
        // The result counts also when the time is over: the refresh token may have been redeemed.
        let timer = Task {
            try await Task.sleep(for: SessionLookUp.maxCallTime)
            work.cancel()
        }
        defer { timer.cancel() }
        return await work.value
    }

    private func failed(_ failure: Failure, _ provider: RuntimeProvider) {
        self.runtime.services.metrics.rechecked(provider.id, result: failure.code)
        let failures = self.runtime.services.rechecks.failed(provider.id, failure)
        guard failures == 1 || failures.isMultiple(of: RecheckBreaker.maxFailures) else { return }
        self.runtime.services.log.recheckFailed(failure, provider: provider.id, failures: failures)
    }

    private func store(
        _ signIn: SignIn,
        of provider: RuntimeProvider,
        in stored: StoredSession,
        isPartial: Bool
    ) async -> RecheckOutcome {
        self.runtime.services.metrics.rechecked(provider.id, result: isPartial ? "partial" : "confirmed")
        var change = signIn
        self.runtime.dropUnneeded(of: &change)
        let policy = self.policy
        let pause = provider.relyingParty?.definition.recheckPause ?? .zero
        let confirmed = policy.confirmation(at: self.runtime.services.clock.now, isPartial: isPartial, pause: pause)
        return await self.store(change, in: stored, confirmed: confirmed)
    }

    /// Writes a result, more than once if the store fails: what the provider issued is lost otherwise.
    func store(
        _ change: SignIn,
        in stored: StoredSession,
        confirmed: Instant?
    ) async -> RecheckOutcome {
        var stored = stored
        let redeemed = stored.session.grant
        var count = 1
        while true {
            do throws(Failure) {
                if try await self.runtime.sessions.update(stored, with: change, confirmed: confirmed) {
                    return .changed
                }
                // Something else of the session changed: the same result goes into what is there now.
                guard let current = try await self.runtime.sessions.current(stored),
                    current.session.grant == redeemed, count < SessionLookUp.maxWrites
                else { return .changed }
                stored = current
                count += 1
            } catch {
                guard count < SessionLookUp.maxWrites else {
                    let session = stored.session
                    self.runtime.services.log.grantLost(error, user: session.profile.user, session: session.id)
                    return .failed(error)
                }
                try? await Task.sleep(for: .milliseconds(250) * count)
                count += 1
            }
        }
    }
}
