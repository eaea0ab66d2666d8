// SPDX-License-Identifier: Apache-2.0

package import GateOperations
internal import Metrics

/// The metrics of this module: requests, sign-ins, sessions.
///
/// Label values come from the configuration or from fixed lists, never from clients.
package struct IngressMetrics: Sendable {
    fileprivate static let requests = MetricSeries.counter(
        "gatehouse_requests_total",
        labels: ["app", "class"],
        unit: "responses",
        help: "Responses to requests of a route, by app and class of the status, such as 2xx"
    )
    fileprivate static let requestDuration = MetricSeries.histogram(
        "gatehouse_request_duration_seconds",
        help: "Time from the first byte of a request to the end of its response"
    )
    private static let rejected = MetricSeries.counter(
        "gatehouse_rejected_requests_total",
        labels: ["reason"],
        unit: "messages",
        help: "Messages that were rejected because they are not a valid HTTP request, by reason"
    )
    private static let irregularHeaderNames = MetricSeries.counter(
        "gatehouse_irregular_header_names_total",
        unit: "requests",
        help: "Requests with header names that have '_', '.' or another such character"
    )
    private static let signIns = MetricSeries.counter(
        "gatehouse_sign_ins_total",
        labels: ["provider", "result"],
        unit: "sign-ins",
        help: "Sign-ins that ended, by provider and result: ok or the code of the failure"
    )
    private static let signOuts = MetricSeries.counter(
        "gatehouse_sign_outs_total",
        unit: "sign-outs",
        help: "Sessions that ended because the user signed out"
    )
    private static let providerLogouts = MetricSeries.counter(
        "gatehouse_provider_logouts_total",
        labels: ["provider", "channel", "result"],
        unit: "requests",
        help: "Logouts that providers requested, by channel (back or front) and result: ok or the code of the failure"
    )
    private static let revocations = MetricSeries.counter(
        "gatehouse_token_revocations_total",
        labels: ["provider", "result"],
        unit: "revocations",
        help: "Revocations of tokens at the provider after a sign-out, by result: ok or the code of the failure"
    )
    private static let droppedGroups = MetricSeries.counter(
        "gatehouse_groups_cut_total",
        labels: ["provider"],
        unit: "groups",
        help: "Groups that were left out of a session because the user has more than a session keeps"
    )
    private static let rechecks = MetricSeries.counter(
        "gatehouse_session_rechecks_total",
        labels: ["provider", "result"],
        unit: "re-checks",
        help:
            "Re-checks of sessions with their provider, by result: confirmed, ended, needs_user or the code of a failure"
    )
    private static let staleSessions = MetricSeries.counter(
        "gatehouse_stale_sessions_total",
        labels: ["provider", "result"],
        unit: "lookups",
        help: "Lookups of sessions that are due for a re-check while the provider does not respond: served or rejected"
    )

    /// All metrics of this module.
    package static let all = [
        requests, requestDuration, rejected, irregularHeaderNames, signIns, signOuts, providerLogouts, rechecks,
        staleSessions, revocations, droppedGroups,
    ]

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
    }

    /// A re-check of a session ended.
    package func rechecked(_ provider: String, result: String) {
        IngressMetrics.rechecks.counter(provider, result).increment()
    }

    /// A session was looked up whose provider does not respond.
    func stale(_ provider: String, isServed: Bool) {
        IngressMetrics.staleSessions.counter(provider, isServed ? "served" : "rejected").increment()
    }

    /// A provider requested a logout; those through the front channel count if a session ended.
    package func providerLogout(provider: String, channel: String, result: String) {
        IngressMetrics.providerLogouts.counter(provider, channel, result).increment()
    }

    /// The provider was asked to revoke the tokens of a session.
    func tokensRevoked(provider: String, result: String) {
        IngressMetrics.revocations.counter(provider, result).increment()
    }

    /// A user has more groups than a session keeps.
    func groupsDropped(_ provider: String, count: Int) {
        IngressMetrics.droppedGroups.counter(provider).increment(by: count)
    }
}

/// The counters of a route; looked up once, so that a request only adds to them.
package struct RouteMetrics: Sendable {
    private let classes: [Counter]
    private let duration: Metrics.Timer

    init(app: String) {
        self.classes = (1...5).map { IngressMetrics.requests.counter(app, "\($0)xx") }
        self.duration = IngressMetrics.requestDuration.timer()
    }

    /// Counts a response and how long its request took.
    package func responded(_ status: Int, nanoseconds: Int64) {
        guard self.classes.indices.contains(status / 100 - 1) else { return }
        self.classes[status / 100 - 1].increment()
        self.duration.recordNanoseconds(nanoseconds)
    }
}
