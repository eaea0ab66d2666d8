// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GatePolicy
internal import GateRuntime
internal import GateSessions

extension RuntimeConfiguration {
    /// The decision about a user at a client, by the client's own rules.
    func decision(about session: Session, at client: ClientSettings, from address: IPAddress?, now: Instant) -> Decision
    {
        let facts = RequestFacts(of: session, from: address, now: now)
        return client.route.decision(for: facts, path: Array("/".utf8), profile: session.profile)
    }

    /// The app whose assertions have an audience; nil for that of the gateway.
    func route(withAudience audience: String) -> RuntimeRoute? {
        self.routes.first { isIdentical($0.route.audience, audience) }
    }

    /// Whether an app with one of these audiences asks the user of a session for a passkey, at its front page.
    func needsPasskey(_ session: Session, for audiences: [String], _ address: IPAddress?, now: Instant) -> Bool {
        let facts = RequestFacts(of: session, from: address, now: now)
        return audiences.compactMap { self.route(withAudience: $0) }.contains { route in
            let path = Array(route.route.path.utf8)
            let decision = route.route.decision(for: facts, path: path, profile: session.profile)
            if case .passkeyNeeded = decision { return true }
            return false
        }
    }

    /// The audiences of the apps that a user may enter, as far as that does not depend on the request.
    func permitted(_ audiences: [String], to profile: Profile) -> [String] {
        audiences.filter { audience in
            guard let route = self.route(withAudience: audience) else { return true }
            return route.route.decision(for: profile)?.isAdmission ?? true
        }
    }
}

extension RequestFacts {
    /// What rules read of a user who does not ask an app at the moment.
    fileprivate init(of session: Session, from address: IPAddress?, now: Instant) {
        self.init(method: "GET", client: address, time: now, authenticated: session.authenticated)
        self.passkeyUsed = session.passkeyUsed
    }
}
