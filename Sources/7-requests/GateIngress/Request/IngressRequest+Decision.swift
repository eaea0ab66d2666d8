// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateEndpoints
internal import GateIssuer
internal import GateProxy
internal import GateRuntime
internal import GateSessions
internal import GateWire
internal import NIOCore

// The decision about a request, and what it spends.
extension IngressRequest {
    /// Decides about it, notes who sends it and by which rule, and decides again after what is spent by being looked up.
    func decide(_ known: some KnownCallers) -> Step {
        while true {
            var decider = Decider(self, known)
            let step = decider.step()
            self.note(decider.caller, decider.rule)
            guard case .need(.proof(let proof)) = step else { return step }
            self.note(proof: self.spend(proof))
        }
    }

    /// The session of its caller; where that was not asked, of whom the caches know.
    func session(_ known: some KnownCallers) -> CachedSession? {
        if case .unasked = self.caller { return Decider(self, known).knownSession }
        return self.caller.session
    }

    /// Decides about it again for a retry, with the certificate as it is verified now, and with a new assertion.
    func decideAgain(on loop: LoopState) -> Step {
        self.resume(at: (loop.tick, loop.now), after: .done)
        self.note(proof: .settled)
        if let route { Decider(self, loop).knownSession?.dropAuthorization(on: route) }
        return self.decide(loop)
    }

    /// A number for the session cookie in the head for the app, the same in every process; 0 if absent.
    ///
    /// Asked for only where an app's targets are chosen by session.
    func sessionKey(in head: RequestHead, _ known: some KnownCallers) -> UInt64 {
        guard let key = self.runtime.cookieKey(of: head) else { return 0 }
        guard !self.runtime.keepsSessions else { return key.number }
        // A cookie that is a session changes every minute; its family does not.
        return CookieReader.session(of: self, known).map { max(1, StableHash.seed(of: $0.session.family)) } ?? 0
    }

    /// Spends a proof; returns what became of it.
    ///
    /// RFC 9449 §4.3 and §7.1.
    private func spend(_ proof: TokenProof) -> Proof { self.failure(of: proof).map { .rejected($0) } ?? .settled }

    private func failure(of proof: TokenProof) -> Failure? {
        let request = self.head
        let fields = request.message.fields.filter { request.message.spells($0.nameRange, "dpop") }
        guard fields.count == 1, let field = fields.first else {
            return Failure(
                .tokenRejected,
                "the token is bound to a key, and the request has not exactly one header DPoP"
            )
        }
        let origin = self.runtime.hosts.origin(of: request)
        let target = DPoPProof.Target(
            method: request.method.rawValue,
            url: "\(origin)\(request.target.prefix { $0 != "?" })",
            accessToken: Array(proof.text.readableBytesView)
        )
        do throws(OAuthError) {
            let sent = try DPoPProof(Array(request.message.slice(field.valueRange)), for: target, now: self.now)
            guard isIdentical(sent.keyThumbprint, proof.key) else {
                return Failure(.tokenRejected, "the token is bound to another key than that of the header DPoP")
            }
            try self.runtime.services.proofs.spend(sent, beside: proof.token)
            return nil
        } catch {
            return Failure(.tokenRejected, "\(error.code.rawValue): \(error.detail)")
        }
    }
}
