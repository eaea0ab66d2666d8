// SPDX-License-Identifier: Apache-2.0

internal import GateEndpoints
internal import GateRuntime

/// Reads the session of the one well-formed cookie of ours, live, and made for the host of the request.
enum CookieReader: CredentialReader {
    /// A cached session that the route does not accept any more is looked up again first: the browser may have a newer one
    /// from another connection.
    ///
    /// Inlined, since the call costs more than the look-up in the cache.
    @inline(__always)
    static func read(_ request: IngressRequest, on route: RuntimeRoute, _ known: some KnownCallers) -> Credential {
        guard let key = request.runtime.cookieKey(of: request.head) else { return .absent }
        let cached = known.session(key, on: request.host, at: request.tick)
        if let cached, cached.isCurrent(on: route, runtime: request.runtime, now: request.now) {
            return .caller(.session(cached))
        }
        switch request.lookedUp {
        case nil:
            guard let ticket = request.runtime.ticket(of: request.head) else { return .absent }
            return .need(.session(SoughtSession(ticket, host: request.host)))
        case .unavailable(let failure): return .rejected(failure)
        case .needsUser(let provider):
            return .signIn(
                request.runtime.providers.isAccepted(provider, by: route) ? .recheck(with: provider) : .signIn
            )
        case .done: return cached.map { .caller(.session($0)) } ?? .absent
        }
    }

    /// The session of the cookie that is known, whatever token is beside it.
    static func session(of request: IngressRequest, _ known: some KnownCallers) -> CachedSession? {
        request.runtime.cookieKey(of: request.head).flatMap { known.session($0, on: request.host, at: request.tick) }
    }
}
