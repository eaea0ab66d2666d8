// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateRuntime
internal import GateSessions
internal import GateTokenEndpoints

extension Endpoints {
    /// Spends a pushed request that a browser brings, and leads the browser on with a reference that may be repeated.
    ///
    /// RFC 9126 §4 and §7.3.
    func begin(
        _ pushed: PushedRequest,
        _ request: EndpointRequest,
        _ issuer: Issuer
    ) async throws(Failure) -> Response {
        // A prefetch must not spend it.
        guard request.isNavigation || pushed.form["prompt"] == "none" else {
            throw Failure(.requestNotNavigation, "a sign-in begins with a navigation of the user")
        }
        let once = SingleUse("pushed-request", pushed.id, until: pushed.expires)
        let isFirst = try await self.runtime.sessions.spend(once)
        let next = isFirst ? pushed.inUse(now: request.now) : pushed
        let form = next.parameters(by: self.runtime.sealer)
        guard isFirst else { return try self.reject(issuer.authorizationRequest(in: form, now: request.now)) }
        return Rendering.redirect(to: "\(self.runtime.publicOrigin)\(AuthorizationSteps.path)?\(form.encoded)")
    }

    /// The response to a request that was rejected.
    private func reject(_ parsed: ParsedAuthorizationRequest) throws(Failure) -> Response {
        switch parsed {
        case .error(let error, let target): return try self.reject(error, to: target)
        case .untrusted(let why): throw Failure(.clientRequest, why)
        case .valid: throw Failure(.clientRequest, "the pushed request was used before")
        }
    }
}
