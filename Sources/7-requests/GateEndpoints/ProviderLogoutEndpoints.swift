// SPDX-License-Identifier: Apache-2.0

internal import GateConfiguration
internal import GateCore
internal import GateHTTP
internal import GateHeaders
internal import GateOpenID
internal import GateOperations
internal import GatePages
internal import GateProviders
internal import GateRuntime
internal import GateSessions

/// The endpoints by which a provider ends the sessions of a user who has signed out there.
struct ProviderLogoutEndpoints: Sendable {
    let runtime: RuntimeConfiguration

    /// The response to a posted logout token; JSON for every client.
    ///
    /// OpenID Connect Back-Channel Logout §2.8. It is 200 only after the sessions have ended.
    func backChannel(_ request: EndpointRequest, provider id: String) async -> Response {
        do throws(Failure) {
            let (provider, party) = try self.provider(id, for: request)
            try await self.endSessions(request, provider, party)
            self.runtime.services.metrics.providerLogout(provider: id, channel: "back", result: "ok")
            return Response(200)
        } catch {
            var context = PageContext()
            context.provider = self.runtime.providers[id]?.id
            if let provider = context.provider {
                self.runtime.services.metrics.providerLogout(provider: provider, channel: "back", result: error.code)
            }
            return self.runtime.rendering.response(to: error, for: ClientKind(wantsPage: false), context: context)
        }
    }

    /// The page for a frame of the provider's; ends the session of the cookie if it is the one that the request names.
    ///
    /// OpenID Connect Front-Channel Logout §2, §3. The page is the same whether a session ended or not, and nothing is
    /// revoked at the provider.
    func frontChannel(_ request: EndpointRequest, provider id: String) async throws(Failure) -> Response {
        let party = try self.provider(id, for: request).party
        var page = Rendering.framedPage(by: party.pageOrigins)
        let (sessions, host, now) = (self.runtime.sessions, request.origin.host, request.now)
        guard let ticket = request.ticket, let issuer = request.query?["iss"], let named = request.query?["sid"],
            let session = try await sessions.session(for: ticket, host: host, now: now), session.provider == id,
            isIdentical(issuer, session.profile.issuer), let known = session.providerSession, isIdentical(known, named)
        else { return page }
        _ = try await uncancelled { () throws(Failure) in try await sessions.end(ticket) }
        self.runtime.services.metrics.providerLogout(provider: id, channel: "front", result: "ok")
        self.runtime.services.metrics.ended(.provider)
        self.runtime.services.log.signedOut(session.profile.user, session: session.id, by: "front-channel logout")
        page.addCookies(GatewayCookie.session(at: request.origin).deletions(in: request.cookies))
        return page
    }

    private func provider(
        _ id: String,
        for request: EndpointRequest
    ) throws(Failure) -> (provider: RuntimeProvider, party: RelyingParty) {
        guard let provider = self.runtime.providers[id], let party = provider.relyingParty,
            request.origin.host == self.runtime.hosts.publicOrigin.host
        else {
            throw Failure(.providerNone, "a logout of an unknown provider")
        }
        return (provider, party)
    }

    /// Verifies the token and ends the sessions that it names, also if the client disconnects meanwhile.
    private func endSessions(
        _ request: EndpointRequest,
        _ provider: RuntimeProvider,
        _ party: RelyingParty
    ) async throws(Failure) {
        guard provider.logouts.acquire() else { throw Failure(.logoutBusy, "too many logouts of \(provider.id)") }
        defer { provider.logouts.release() }
        // Before, so that the many logouts of a provider are not counted while they wait for its keys.
        _ = try? await party.prepare()
        let attempt = try self.runtime.services.signIns.logout(by: request.client, within: self.runtime.limits.signIns)
        do throws(Failure) {
            guard let text = request.form?["logout_token"] else {
                throw Failure(.logoutRequest, "the body is not a form with one logout_token")
            }
            let token = try await party.logoutToken(text)
            attempt.release()
            try await self.end(token, of: provider, party, now: request.now)
        } catch {
            // A provider's own retries, and keys that could not be fetched, do not count against the client.
            let counts = error.reason != .logoutReplayed && error.reason != .logoutUnverified
            if !counts || error.reason.entry.section != .logout { attempt.release() }
            throw error
        }
    }

    private func end(
        _ token: LogoutToken,
        of provider: RuntimeProvider,
        _ party: RelyingParty,
        now: Instant
    ) async throws(Failure) {
        let isProfiles = party.definition.usesSubjectClaim
        let logout = ProviderLogout(
            provider: provider.id,
            issuer: token.issuer,
            subject: token.subject.map { isProfiles ? .profile($0) : .claim($0) },
            session: token.session,
            id: token.id,
            until: token.expiry
        )
        let sessions = self.runtime.sessions
        switch try await uncancelled({ () throws(Failure) in try await sessions.end(logout, now: now) }) {
        case .replayed: throw Failure(.logoutReplayed, "a token with this jti was accepted before")
        case .ended(let count, let unremembered):
            self.runtime.services.metrics.ended(.provider, count: count)
            self.runtime.services.log.signedOut(
                by: provider.id,
                subject: token.subject,
                session: token.session,
                count: count
            )
            if let unremembered { self.runtime.services.log.logoutNotRemembered(unremembered, provider: provider.id) }
        }
    }
}
