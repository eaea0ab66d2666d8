// SPDX-License-Identifier: Apache-2.0

/// Why a request is refused, as a name and a blame.
///
/// `code` is shown to the visitor beside an incident id; `detail` is for the log only and may name internals, but must
/// never hold a secret or a token.
package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Who has to act, which also decides the status of the answer.
    package enum Kind: String, Sendable, CaseIterable {
        /// 400: the visitor sent something that no browser sends.
        case malformedRequest
        /// 401 or a redirect to the sign-in page.
        case signInRequired
        /// 403: the person is known and may not enter.
        case forbidden
        /// 404: no app answers for this host and path.
        case noSuchRoute
        /// 405: the method is not one this address takes.
        case methodNotAllowed
        /// 413: a body over its bound.
        case tooLarge
        /// 429: too many of something from one visitor.
        case tooMany
        /// 502: the provider answered wrongly or not at all.
        case providerFailed
        /// 502: the app behind the gateway answered wrongly or not at all.
        case upstreamFailed
        /// 504: the app behind the gateway took too long.
        case upstreamTimedOut
        /// 503: the gateway or its store cannot serve this now.
        case overloaded
        /// 500: our own bug.
        case internalError
    }

    /// Who has to act.
    package let kind: Kind
    /// A stable dotted name, such as `openid.state_mismatch`, that documentation can be searched for.
    package let code: String
    /// What happened, for the log.
    package let detail: String
    /// After which time the request may be made again, where that is known.
    package let retryAfter: Duration?

    /// Makes a failure; `code` is a literal of ours, never received text.
    package init(_ kind: Kind, _ code: StaticString, _ detail: String, retryAfter: Duration? = nil) {
        self.kind = kind
        self.code = "\(code)"
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The failure in one log line.
    package var description: String { "\(self.kind.rawValue) \(self.code): \(self.detail)" }
}
