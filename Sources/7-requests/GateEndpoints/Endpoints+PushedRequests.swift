// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateIssuer
internal import GateRuntime
internal import GateSessions

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
        guard isFirst else {
            let form = pushed.parameters(by: self.runtime.sealer)
            return try self.reject(issuer.authorizationRequest(in: form, by: nil, now: request.now))
        }
        let cookie = self.pushedCookie
        let browser =
            request.value(of: cookie).flatMap { BrowserBinding($0) }
            ?? BrowserBinding(from: self.runtime.services.random)
        let form = pushed.inUse(by: browser.hash, now: request.now).parameters(by: self.runtime.sealer)
        var response = Rendering.redirect(to: "\(self.runtime.address(.authorize))?\(form.encoded)")
        response.addCookie(cookie.setting(browser.text))
        return response
    }

    private var pushedCookie: GatewayCookie {
        .pushedRequest(at: self.runtime.hosts.publicOrigin, for: PushedRequest.timeToSignIn)
    }

    /// The hash of the value that a browser has for the pushed requests that it has brought; nil if it has none.
    func browser(of request: EndpointRequest) -> [UInt8]? {
        request.value(of: self.pushedCookie).flatMap { BrowserBinding($0) }?.hash
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
