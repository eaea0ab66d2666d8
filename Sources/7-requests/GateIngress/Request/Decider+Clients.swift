// SPDX-License-Identifier: Apache-2.0

internal import GateClients
internal import GateCore
internal import GateEndpoints
internal import GateIssuer
internal import GatePolicy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

// The rules of the clients to which tokens were issued.
extension Decider {
    /// Why the rules of the token's client, or of one whose token was exchanged for it, do not admit the user; nil if all do.
    func rejection(of session: CachedSession, at token: VerifiedToken) -> Failure? {
        guard !self.isOver(session, after: token.client.lifetime) else { return TokenCaller.over(token.client) }
        guard !session.isAdmitted(at: token) else { return nil }
        if let failure = self.rejection(of: session, by: token.client, of: token) { return failure }
        for id in session.session.client?.subjects ?? [] {
            guard let client = self.runtime.clients.issuer?.clients[id] else {
                let detail =
                    "the token was exchanged for one of the client '\(id)', which 'clients' does not have any more"
                return Failure(.tokenRejected, detail)
            }
            guard !self.isOver(session, after: client.lifetime) else { return TokenCaller.over(client) }
            if let failure = self.rejection(of: session, by: client, of: token) { return failure }
        }
        return nil
    }

    private func isOver(_ session: CachedSession, after lifetime: Duration?) -> Bool {
        lifetime.map { self.request.now.since(session.session.created) >= $0 } ?? false
    }

    /// Why the rules of one client do not admit the user of a session; nil if they do.
    private func rejection(
        of session: CachedSession,
        by client: ClientSettings,
        of token: VerifiedToken
    ) -> Failure? {
        switch session.decision(by: client, of: token, from: { self.request.ruledClient }, now: self.request.now) {
        case .admitted: return nil
        case .denied(let denial): return denial.failure(of: session.session.profile, app: client.id)
        case .signInNeeded, .authenticationNeeded, .openToAll, .openToNetwork, .scopesNeeded:
            return Failure(.tokenRejected, "the user has to sign in again for the client '\(client.id)'")
        case .passkeyNeeded:
            return Failure(.tokenRejected, "\(session.session.profile.user): \(TokenCaller.passkeyHelp(self.runtime))")
        }
    }
}

/// What a client of a token is denied with where a browser would be led on.
enum TokenCaller {
    /// The step of a request with an access token: a client cannot be led to a page.
    static func step(_ step: Step, of session: CachedSession, under runtime: RuntimeConfiguration) -> Step {
        let user = session.session.profile.user
        switch step {
        case .reject(_, let scopes) where !scopes.isEmpty && session.session.ends != nil:
            return .reject(Failure(.policyRefused, "\(user) is not admitted: \(MachineCaller.scopeHelp)"))
        case .signIn(_, let needed):
            let signIn = "the app needs a sign-in with another provider, or a later one"
            let help = needed == .passkey ? self.passkeyHelp(runtime) : signIn
            return .reject(Failure(.tokenRejected, "\(user): \(help)"))
        default: return step
        }
    }

    static func over(_ client: ClientSettings) -> Failure {
        Failure(.tokenRejected, "the sign-in at '\(client.id)' is older than its 'lifetime'")
    }

    /// What the user of a client has to do where a rule asks for a passkey.
    static func passkeyHelp(_ runtime: RuntimeConfiguration) -> String {
        "a rule asks for a passkey; the user has to open \(runtime.hosts.endpoints.path("passkey")) in a browser"
    }
}
