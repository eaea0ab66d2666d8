// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateHTTP
internal import GateOpenID
internal import GateRuntime
internal import GateSessions

/// The attempts that a browser has open, each in a cookie of its own.
struct AttemptCookies {
    private let request: EndpointRequest
    private let origin: Origin
    private let sealer: Sealer

    /// Those that came with a request.
    init(of request: EndpointRequest, at runtime: RuntimeConfiguration) {
        self.request = request
        self.origin = runtime.hosts.publicOrigin
        self.sealer = runtime.sealer
    }

    /// The attempt that the `state` of a callback or a form names, if this browser holds it.
    func attempt(named form: Form) -> Attempt? {
        guard let state = form["state"], let id = Attempt.id(inState: state), let cookie = self.cookie(of: id)
        else {
            return nil
        }
        return self.attempt(in: cookie)
    }

    /// The attempt that the browser has begun last.
    var newest: Attempt? {
        let prefix = GatewayCookie.attemptPrefix(at: self.origin)
        // RFC 6265 §5.4: the browser sends older cookies first.
        let tag = self.request.cookies.names(withPrefix: prefix).last?.dropFirst(prefix.count)
        let cookie = tag.flatMap { GatewayCookie.attempt(String($0), at: self.origin, isCrossSite: true) }
        return cookie.flatMap { self.attempt(in: $0) }
    }

    private func attempt(in cookie: GatewayCookie) -> Attempt? {
        guard let value = self.request.value(of: cookie) else { return nil }
        return Attempt(sealed: String(decoding: value, as: UTF8.self), by: self.sealer, cookie: cookie.name)
    }

    /// The response gives the browser the cookie of a new attempt, and takes the surplus ones.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - isCrossSite: Whether the callback is a form from the site of the provider.
    ///   - response: The response.
    /// - Throws: `openid.attempt_id`.
    func begin(_ attempt: Attempt, isCrossSite: Bool = false, in response: inout Response) throws(Failure) {
        guard let cookie = self.cookie(of: attempt.id, isCrossSite: isCrossSite) else {
            throw Failure(.openIDAttemptID, "an attempt without a proper id")
        }
        for old in GatewayCookie.surplusAttempts(in: self.request.cookies, at: self.origin) {
            if let dropped = self.attempt(in: old) { response.addCookies(self.keptReturnPath(of: dropped)) }
            response.addCookie(old.deletion)
        }
        response.addCookie(cookie.setting(attempt.sealed(by: self.sealer, cookie: cookie.name)))
    }

    /// The response takes the cookie of an attempt.
    func end(_ attempt: Attempt, in response: inout Response) {
        if let cookie = self.cookie(of: attempt.id, isCrossSite: true) { response.addCookie(cookie.deletion) }
    }

    /// Keeps the return path of an attempt whose cookie is dropped because the browser has too many, so that its tab
    /// ends where the user wanted to go once another tab has signed in.
    ///
    /// It is bound to the whole `state`, so that the callback of no other attempt leads there.
    private func keptReturnPath(of attempt: Attempt) -> [String] {
        guard attempt.returnPath != .root, self.request.now < attempt.expiry else { return [] }
        return self.returnCookie
            .settings(attempt.returnPath, as: attempt.state, replacing: self.request.cookies, now: self.request.now)
            ?? []
    }

    /// The return path of an attempt whose cookie was dropped, and the `Set-Cookie` values that take it; nil if there
    /// is no such attempt, or not any more.
    func returnPath(ofDropped callback: Form) -> (path: ReturnPath, deletions: [String])? {
        guard let state = callback["state"], Attempt.id(inState: state) != nil,
            let path = self.returnCookie.path(of: state, in: self.request.cookies, now: self.request.now)
        else { return nil }
        return (path, self.returnCookie.deletions(of: state, in: self.request.cookies))
    }

    private var returnCookie: ReturnCookie { ReturnCookie(at: self.request.origin, sealer: self.sealer) }

    /// The cookie of an attempt, named after the first bytes of its id.
    private func cookie(of attempt: String, isCrossSite: Bool = false) -> GatewayCookie? {
        guard let bytes = Base64URL.decode(attempt) else { return nil }
        return GatewayCookie.attempt(GatewayCookie.tag(of: bytes), at: self.origin, isCrossSite: isCrossSite)
    }
}
