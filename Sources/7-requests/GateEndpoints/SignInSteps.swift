// SPDX-License-Identifier: Apache-2.0

internal import GateAccounts
internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateOperations
internal import GateRuntime
internal import GateSessions

/// The steps that all sign-ins have in common, in a browser and in an app: limits, counts, and the session.
struct SignInSteps: Sendable {
    /// A step of a sign-in as one of the guesses that a client's network may make: it counts as a wrong one until it is
    /// released.
    typealias Guess = AttemptLimiter<ClientNetwork>.Attempt

    let runtime: RuntimeConfiguration
    /// Called with each new session, before the client gets its response.
    let begun: @Sendable (IssuedSession) -> Void

    /// Carries out a step of a sign-in and counts its result and how long it took.
    func counted(
        _ phase: SignInPhase,
        _ provider: String,
        _ step: () async throws(Failure) -> Response
    ) async throws(Failure) -> Response {
        guard self.runtime.providers[provider] != nil else { return try await step() }
        let began = ContinuousClock.now
        let metrics = self.runtime.services.metrics
        do throws(Failure) {
            let response = try await step()
            let result = response.rejection?.reason.code ?? "ok"
            metrics.signInStep(phase, provider: provider, result: result, took: began.duration(to: .now))
            return response
        } catch {
            metrics.signInStep(phase, provider: provider, result: error.code, took: began.duration(to: .now))
            throw error
        }
    }

    /// Carries out a step of a sign-in for a client whose sign-ins do not fail too often.
    ///
    /// Only a wrong request of the browser and wrong credentials count as failures: neither a provider that is down nor
    /// a denied user is a sign of guessing.
    func limited(
        _ request: EndpointRequest,
        _ step: () async throws(Failure) -> Response
    ) async throws(Failure) -> Response {
        try await self.limited(request) { _ throws(Failure) in try await step() }
    }

    /// The same for a step that itself releases its guess before it waits for others, so that many who wait at once do
    /// not count as guesses either.
    func limited(
        _ request: EndpointRequest,
        _ step: (Guess) async throws(Failure) -> Response
    ) async throws(Failure) -> Response {
        let (signIns, bounds) = (self.runtime.services.signIns, self.runtime.limits.signIns)
        let guess = try signIns.attempt(by: request.client, within: bounds)
        do throws(Failure) {
            try signIns.acquire(within: bounds)
            defer { signIns.release() }
            let response = try await step(guess)
            let reason = response.rejection?.reason
            let hasFailed = reason == .accountCredentials || reason == .passkeyRejected
            hasFailed ? guess.fail() : guess.release()
            return response
        } catch {
            error.kind == .malformedRequest ? guess.fail() : guess.release()
            throw error
        }
    }

    /// Adds to a sign-in what the gateway knows beside the provider: where it comes from, and the key of a connected
    /// account.
    ///
    /// - Throws: `account.disabled` if apps know the user by a local account that was disabled.
    func complete(_ signIn: inout SignIn, _ request: EndpointRequest) async throws(Failure) {
        let user = signIn.profile.user
        signIn.profile.connectedKey = try await self.runtime.users.connections?.forwardedKey(of: user)
        if let key = signIn.profile.connectedKey, try await self.runtime.isDisabled(key) {
            throw Failure(.accountDisabled, "\(key), with which \(user) is connected, is disabled")
        }
        signIn.began = request.arrival
        signIn.device = request.userAgent.flatMap { DeviceSummary.text(of: $0) }
    }

    /// Issues the session of a user whom the rules admit, which is logged and counted.
    ///
    /// - Parameters:
    ///   - signIn: The sign-in.
    ///   - once: The single-use value that it spends.
    ///   - old: The ticket of the session that it replaces, which ends.
    ///   - request: The request.
    /// - Returns: The session at the gateway's host; nil if the value was spent before.
    /// - Throws: If the store is unavailable, or `signin.signed_out`.
    func issue(
        _ signIn: SignIn,
        spending once: SingleUse,
        replacing old: Ticket?,
        _ request: EndpointRequest
    ) async throws(Failure) -> IssuedSession? {
        let issued = try await self.runtime.sessions.issue(
            signIn,
            host: self.runtime.hosts.publicOrigin.host,
            now: request.now,
            spending: once,
            replacing: old
        )
        guard let issued else { return nil }
        let profile = signIn.profile
        if let old { _ = try? await self.runtime.sessions.end(old) }
        self.runtime.services.log.tooManySignIns(of: profile.user, ended: issued.ended, failure: issued.endFailure)
        self.begun(issued)
        self.runtime.services.metrics.signIn(provider: profile.provider, result: "ok")
        self.runtime.services.metrics.began(with: profile.provider, byTransfer: false)
        self.runtime.services.metrics.ended(.limit, count: issued.ended.count)
        self.runtime.services.log.signedIn(profile, session: issued.session.id, byPasskey: signIn.passkeyUsed != nil)
        return issued
    }
}
