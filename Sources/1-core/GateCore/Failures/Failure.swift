// SPDX-License-Identifier: Apache-2.0

/// What failed, as a case of the failure catalogue and a detail for the log.
///
/// ``Reason`` decides everything that clients, users and operators see of it; see ``Reason/entry``.
package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which side has to act, which also decides the status of the response where the entry has none.
    package enum Kind: String, Sendable, CaseIterable {
        /// 400: the client sent something that no browser sends.
        case malformedRequest
        /// 401 or a redirect to the sign-in page.
        case signInRequired
        /// 403: the user is known and has no access.
        case forbidden
        /// 404: no app has this host and path.
        case noSuchRoute
        /// 405: the endpoint or app does not accept the method.
        case methodNotAllowed
        /// 413: a body over its limit.
        case tooLarge
        /// 429: one client exceeded a rate limit.
        case tooMany
        /// 502: the provider sent a wrong response or none.
        case providerFailed
        /// 502: the app behind the gateway sent a wrong response or none.
        case upstreamFailed
        /// 504: the app behind the gateway took too long.
        case upstreamTimedOut
        /// 503: the gateway or its store cannot serve this now.
        case overloaded
        /// 500: a bug, or a gateway that cannot start.
        case internalError
    }

    /// The case of the catalogue; compare this, never ``code``.
    package let reason: Reason
    /// What happened, for the log: may name internals, but never holds a secret or a token.
    package let detail: String
    /// After which time the request may be repeated, where that is known.
    package let retryAfter: Duration?

    /// Creates a failure; what every failure of this reason has in common is in the catalogue.
    package init(_ reason: Reason, _ detail: String, retryAfter: Duration? = nil) {
        self.reason = reason
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// Which side has to act.
    package var kind: Kind { self.reason.entry.kind }

    /// The stable name in responses, logs and metrics, such as `openid.state_mismatch`.
    package var code: String { self.reason.entry.code }

    /// The failure in one log line.
    package var description: String { "\(self.kind.rawValue) \(self.code): \(self.detail)" }
}
