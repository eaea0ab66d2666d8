// SPDX-License-Identifier: Apache-2.0

package import GateClients
package import GateCore
package import GatePolicy
package import GateRuntime
package import GateSessions

extension RouteMap {
    /// The app whose assertions have an audience; nil for that of the gateway.
    package func route(withAudience audience: String) -> RuntimeRoute? {
        self.all.first { isIdentical($0.route.audience, audience) }
    }

    /// Whether all apps of some audiences accept a session by its age and use.
    package func accepts(_ session: Session, at audiences: [String], now: Instant) -> Bool {
        audiences.allSatisfy { self.route(withAudience: $0)?.isCurrent(session, now: now) ?? true }
    }

    /// What a client may do for a user, in words for the user: the apps, what each scope permits in them, and the claims that a scope of its
    /// own gives.
    package func permissions(of audiences: [String], _ scopes: [String], by client: ClientSettings) -> [String] {
        let learned = scopes.compactMap { scope in
            client.scopes[scope].map { "\(scope): \($0.sorted().joined(separator: ", "))" }
        }
        return audiences.compactMap { self.route(withAudience: $0) }.flatMap { route in
            let granted = route.route.scopes.filter { scopes.contains($0.name) }
            return [route.title] + granted.map { "\(route.title): \($0.text)" }
        } + learned
    }

    /// Whether an app with one of these audiences asks the user of a session for a passkey, at its front page.
    package func needsPasskey(_ session: Session, for audiences: [String], _ address: IPAddress?, now: Instant) -> Bool
    {
        let facts = RequestFacts(of: session, from: address, now: now)
        return self.needsPasskey(session.profile, facts, for: audiences)
    }

    /// The same for a user who authenticates now, without a passkey.
    package func needsPasskey(_ profile: Profile, for audiences: [String], _ address: IPAddress?, now: Instant) -> Bool
    {
        self.needsPasskey(profile, RequestFacts(ofSignInFrom: address, now: now), for: audiences)
    }

    private func needsPasskey(_ profile: Profile, _ facts: RequestFacts, for audiences: [String]) -> Bool {
        audiences.compactMap { self.route(withAudience: $0) }.contains { route in
            let path = Array(route.route.path.utf8)
            let decision = route.route.decision(for: facts, path: path, profile: profile)
            if case .passkeyNeeded = decision { return true }
            return false
        }
    }

    /// The audiences of the apps that a user may enter now, as far as that does not depend on the request, and that of userinfo; none if the
    /// user may enter none of the apps.
    package func permitted(_ audiences: [String], to profile: Profile, at now: Instant) -> [String] {
        let apps = audiences.compactMap { self.route(withAudience: $0) }
        let denied = apps.filter { $0.route.access(of: profile, at: now) == .denied }.map(\.route.audience)
        guard apps.isEmpty || denied.count < apps.count else { return [] }
        return audiences.filter { !denied.contains($0) }
    }

    /// How long a token for apps may be valid: at most until a date in the rules of one of them, or of the clients, ends the access of the user.
    package func lifetime(
        _ lifetime: Duration,
        ofTokenFor audiences: [String],
        to profile: Profile,
        at clients: [ClientSettings],
        now: Instant
    ) -> Duration {
        let routes = clients.map(\.route) + audiences.compactMap { self.route(withAudience: $0)?.route }
        return routes.filter(\.hasDates).reduce(lifetime) { lifetime, route in
            guard case .possible(let until?) = route.access(of: profile, at: now) else { return lifetime }
            return min(lifetime, until.since(now))
        }
    }
}

extension ClientSettings {
    /// The decision about a user by the client's own rules.
    package func decision(
        about session: Session,
        from address: IPAddress?,
        now: Instant
    ) -> Decision {
        let facts = RequestFacts(of: session, from: address, now: now)
        return self.route.decision(for: facts, path: Array("/".utf8), profile: session.profile)
    }

    /// The decision about a user who authenticates now, without a passkey, at a client.
    package func decision(
        about profile: Profile,
        from address: IPAddress?,
        now: Instant
    ) -> Decision {
        let facts = RequestFacts(ofSignInFrom: address, now: now)
        return self.route.decision(for: facts, path: Array("/".utf8), profile: profile)
    }
}

extension RequestFacts {
    /// What rules read of a user who does not ask an app at the moment.
    fileprivate init(of session: Session, from address: IPAddress?, now: Instant) {
        self.init(method: "GET", client: address, time: now, authenticated: session.authenticated)
        self.passkeyUsed = session.passkeyUsed
    }

    /// The same of one who authenticates now, without a passkey.
    fileprivate init(ofSignInFrom address: IPAddress?, now: Instant) {
        self.init(method: "GET", client: address, time: now, authenticated: now)
    }
}
