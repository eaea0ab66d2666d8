// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateOpenID
package import GateOperations
internal import Metrics

/// The metrics of this module: requests, sign-ins, sessions.
///
/// Label values come from the configuration or from fixed lists, never from clients.
package struct IngressMetrics: Sendable {
    static let requests = MetricSeries.counter(
        "gatehouse_requests_total",
        labels: ["app", "class"],
        unit: "responses",
        help: "Responses to requests of a route, by app and class of the status, such as 2xx"
    ).only(when: "there was a response")
    static let requestDuration = MetricSeries.histogram(
        "gatehouse_request_duration_seconds",
        labels: ["app"],
        help: "Time from the first byte of a request to the end of its response"
    ).only(when: "there was a response")
    static let rejections = MetricSeries.counter(
        "gatehouse_request_rejections_total",
        labels: ["app", "phase", "reason", "status"],
        unit: "requests",
        help:
            "Requests to which the gateway responded with a failure or a redirect to the sign-in, by phase (load, request, route, session, policy, endpoint, upstream), code of the failure and status; app is - where no app is known"
    ).only(when: "a request was rejected")
    static let redirects = MetricSeries.counter(
        "gatehouse_https_redirects_total",
        labels: ["status"],
        unit: "responses",
        help:
            "Responses of listeners with redirect: https to valid requests, by status: 308, or 404 for a host without an app"
    ).only(when: "such a listener had a request")
    static let upstreamRequests = MetricSeries.counter(
        "gatehouse_upstream_requests_total",
        labels: ["app", "target", "outcome"],
        unit: "requests",
        help: "Requests to a target of an app, by outcome: the class of the status, such as 2xx, "
            + "or why there was no response"
    ).only(when: "a request was forwarded")
    static let upstreamDuration = MetricSeries.histogram(
        "gatehouse_upstream_duration_seconds",
        labels: ["app", "target"],
        help: "Time from when a request asks for a connection to a target to the head of the target's response"
    ).only(when: "a request was forwarded")
    private static let signInSteps = MetricSeries.counter(
        "gatehouse_sign_in_steps_total",
        labels: ["provider", "phase", "result"],
        unit: "steps",
        help:
            "Steps of sign-ins by result, ok or the code of the failure: start sends the browser to the provider, callback takes its response"
    ).only(when: "a sign-in began")
    private static let signInDuration = MetricSeries.histogram(
        "gatehouse_sign_in_duration_seconds",
        labels: ["provider", "phase"],
        help:
            "Time that the gateway takes for a step of a sign-in, provider calls included, by phase: start or callback"
    ).only(when: "a sign-in began")
    private static let sessionStarts = MetricSeries.counter(
        "gatehouse_session_starts_total",
        labels: ["provider", "kind"],
        unit: "sessions",
        help: "Sessions that began: by a sign-in (sign_in), or by transfer to the host of an app (transfer)"
    ).only(when: "a session began")
    /// Sessions that ended; ``SessionEnd`` has the reasons.
    package static let sessionEnds = MetricSeries.counter(
        "gatehouse_session_ends_total",
        labels: ["reason"],
        unit: "sessions",
        help:
            "Sign-ins whose sessions ended: by the user (sign_out), the provider (provider), a re-check (recheck), an operator (operator), the limit per user (limit), or with time (expired, which counts sessions)"
    ).only(when: "a session ended")
    private static let rejected = MetricSeries.counter(
        "gatehouse_rejected_requests_total",
        labels: ["reason"],
        unit: "messages",
        help: "Messages that were rejected because they are not a valid HTTP request, by reason"
    ).only(when: "there was such a message")
    private static let irregularHeaderNames = MetricSeries.counter(
        "gatehouse_irregular_header_names_total",
        unit: "requests",
        help: "Requests with header names that have '_', '.' or another such character"
    ).only(when: "there was such a request")
    private static let signIns = MetricSeries.counter(
        "gatehouse_sign_ins_total",
        labels: ["provider", "result"],
        unit: "sign-ins",
        help: "Sign-ins that ended, by provider and result: ok or the code of the failure"
    ).only(when: "a sign-in ended")
    private static let signOuts = MetricSeries.counter(
        "gatehouse_sign_outs_total",
        unit: "sign-outs",
        help: "Sessions that ended because the user signed out"
    ).only(when: "a user signed out")
    private static let clientRequests = MetricSeries.counter(
        "gatehouse_client_requests_total",
        labels: ["client", "endpoint", "result"],
        unit: "requests",
        help:
            "Requests of clients at the endpoints authorize, par, token, device_authorization, introspect and revoke, and at session_api, by "
            + "result: ok or the error of OAuth 2.0 or of the session API; the client is 'unknown' where it did not prove to be itself"
    ).only(when: "a client sent one")
    private static let providerLogouts = MetricSeries.counter(
        "gatehouse_provider_logouts_total",
        labels: ["provider", "channel", "result"],
        unit: "requests",
        help: "Logouts that providers requested, by channel (back or front) and result: ok or the code of the failure"
    ).only(when: "a provider requested a logout")
    private static let revocations = MetricSeries.counter(
        "gatehouse_token_revocations_total",
        labels: ["provider", "result"],
        unit: "revocations",
        help: "Revocations of tokens at the provider after a sign-out, by result: ok or the code of the failure"
    ).only(when: "tokens were to be revoked")
    private static let droppedGroups = MetricSeries.counter(
        "gatehouse_groups_cut_total",
        labels: ["provider"],
        unit: "groups",
        help: "Groups that were left out of a session because the user has more than a session keeps"
    ).only(when: "groups were left out")
    private static let rechecks = MetricSeries.counter(
        "gatehouse_session_rechecks_total",
        labels: ["provider", "result"],
        unit: "re-checks",
        help:
            "Re-checks of sessions with their provider, by result: confirmed, ended, needs_user or the code of a failure"
    ).only(when: "a session was re-checked")
    private static let staleSessions = MetricSeries.counter(
        "gatehouse_stale_sessions_total",
        labels: ["provider", "result"],
        unit: "lookups",
        help: "Lookups of sessions that are due for a re-check while the provider does not respond: served or rejected"
    ).only(when: "a session was due for a re-check while the provider did not respond")

    private static let verifications = MetricSeries.counter(
        "gatehouse_token_verifications_total",
        labels: ["issuer", "result"],
        unit: "tokens",
        help:
            "Tokens of machines that an issuer's keys or its introspection have verified, by result: ok or the code of the failure"
    ).only(when: "a machine brought a token of an issuer")

    private static let omittedTokens = MetricSeries.counter(
        "gatehouse_identity_tokens_omitted_total",
        labels: ["app", "token", "reason"],
        unit: "identities",
        help:
            "Identities for an app with 'authorization: access_token' or 'id_token' that were made without the token, by "
            + "reason: absent or expired"
    ).only(when: "a token was left out")

    private static let shadowed = MetricSeries.counter(
        "gatehouse_forward_auth_shadow_total",
        labels: ["app", "decision", "reason"],
        unit: "requests",
        help: "Requests of apps with 'forward_auth: shadow' that would not pass, by decision (sign_in, denied or "
            + "rejected) and code of the failure"
    ).only(when: "there was such a request")

    private static let shadowDifferences = MetricSeries.counter(
        "gatehouse_forward_auth_shadow_differences_total",
        labels: ["app", "decision", "other"],
        unit: "requests",
        help:
            "Requests of apps with 'forward_auth: shadow' about which the gateway (decision: allowed, public, sign_in, denied or "
            + "rejected) and the proxy in front (other: allowed, sign_in or denied) have decided differently"
    ).only(when: "a proxy reports its own decisions")

    /// All metrics of this module.
    package static let all = [
        requests, requestDuration, rejections, redirects, upstreamRequests, upstreamDuration, signInSteps,
        signInDuration,
        sessionStarts, sessionEnds, rejected, irregularHeaderNames, signIns, signOuts, clientRequests, providerLogouts,
        rechecks,
        staleSessions, revocations, droppedGroups, shadowed, verifications,
        omittedTokens, shadowDifferences,
    ]

    /// How many sign-ins succeeded, how many failed, how many requests were rejected, without redirects to the sign-in, and
    /// how many had a response of a route since the start.
    package static var activity: [Int64] {
        let registry = PrometheusRegistry.shared
        let good = registry.total(of: self.signIns) { $0.last == "ok" }
        let all = registry.total(of: self.signIns)
        let rejected = registry.total(of: self.rejections) { $0.last != "303" }
        return [good, all - good, rejected, registry.total(of: self.requests)]
    }

    /// The counters of the process.
    package init() {}

    /// A message was rejected by the HTTP parser.
    package func rejected(_ reason: String) {
        IngressMetrics.rejected.counter(reason).increment()
    }

    /// A request had header names with `_`, `.` or the like, which are left out unless an app wants them.
    package func irregularNames() {
        IngressMetrics.irregularHeaderNames.counter().increment()
    }

    /// A sign-in ended.
    package func signIn(provider: String, result: String) {
        IngressMetrics.signIns.counter(provider, result).increment()
    }

    /// A session ended because the user signed out.
    package func signedOut() {
        IngressMetrics.signOuts.counter().increment()
        self.ended(.signOut)
    }

    /// A step of a sign-in ended.
    package func signInStep(_ phase: SignInPhase, provider: String, result: String, took time: Duration) {
        IngressMetrics.signInSteps.counter(provider, phase.rawValue, result).increment()
        IngressMetrics.signInDuration.timer(provider, phase.rawValue).recordNanoseconds(time.wholeNanoseconds)
    }

    /// A session began.
    package func began(with provider: String, byTransfer: Bool) {
        IngressMetrics.sessionStarts.counter(provider, byTransfer ? "transfer" : "sign_in").increment()
    }

    package func ended(_ reason: SessionEnd, count: Int = 1) {
        guard count > 0 else { return }
        IngressMetrics.sessionEnds.counter(reason.rawValue).increment(by: count)
    }

    /// A re-check of a session ended.
    package func rechecked(_ provider: String, result: String) {
        IngressMetrics.rechecks.counter(provider, result).increment()
    }

    /// A session was looked up whose provider does not respond.
    func stale(_ provider: String, isServed: Bool) {
        IngressMetrics.staleSessions.counter(provider, isServed ? "served" : "rejected").increment()
    }

    /// A client had a request at an endpoint.
    package func clientRequest(_ client: String, endpoint: String, result: String) {
        IngressMetrics.clientRequests.counter(client, endpoint, result).increment()
    }

    /// A provider requested a logout; those through the front channel count if a session ended.
    package func providerLogout(provider: String, channel: String, result: String) {
        IngressMetrics.providerLogouts.counter(provider, channel, result).increment()
    }

    /// The provider was asked to revoke the tokens of a session.
    func tokensRevoked(provider: String, result: String) {
        IngressMetrics.revocations.counter(provider, result).increment()
    }

    /// The gateway and the proxy in front of an app with `forward_auth: shadow` have decided differently.
    func shadowDiffers(app: String, decision: AccessDecision, other: String) {
        IngressMetrics.shadowDifferences.counter(app, decision.rawValue, other).increment()
    }

    /// The identity of a user for an app was made without the provider's token.
    func tokenOmitted(app: String, token: String, reason: String) {
        IngressMetrics.omittedTokens.counter(app, token, reason).increment()
    }

    /// A request may pass only because the app has `forward_auth: shadow`.
    func shadowed(app: String, decision: AccessDecision, reason: String) {
        IngressMetrics.shadowed.counter(app, decision.rawValue, reason).increment()
    }

    /// A token of a machine was verified.
    package func verified(_ issuer: String, result: Result<TokenIssuer.Verified, Failure>) {
        let code =
            switch result {
            case .success: "ok"
            case .failure(let failure): failure.code
            }
        IngressMetrics.verifications.counter(issuer, code).increment()
    }

    /// A user has more groups than a session keeps.
    func groupsDropped(_ provider: String, count: Int) {
        IngressMetrics.droppedGroups.counter(provider).increment(by: count)
    }
}

/// The steps of a sign-in that the gateway takes part in.
package enum SignInPhase: String, Sendable {
    /// The browser is sent to the provider.
    case start
    /// The provider's response is taken.
    case callback
}

/// Why sessions end.
package enum SessionEnd: String, Sendable {
    /// The user signed out.
    case signOut = "sign_out"
    /// The provider requested a logout.
    case provider
    /// A re-check found that the provider no longer confirms the user.
    case recheck
    /// An operator revoked them.
    case `operator`
    /// The user has more sign-ins than are allowed.
    case limit
    /// Their time was over.
    case expired
}
