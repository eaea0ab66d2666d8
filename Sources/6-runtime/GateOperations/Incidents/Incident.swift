// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What the gateway knows of a request that failed; each value is nil as long as it is not known.
///
/// The names of the members in JSON are those of log lines, so that both can be read in the same way.
package struct IncidentRequest: Sendable, Hashable {
    package var id: String?
    /// The client IP, behind trusted proxies that of the client before them.
    package var client: String?
    package var method: String?
    /// The requested host.
    package var host: String?
    /// The canonical path; never the query.
    package var path: String?
    /// The version of HTTP.
    package var version: String?
    /// The status of the response.
    package var status: Int?
    /// The name of the app.
    package var app: String?
    /// The path prefix of the app.
    package var route: String?
    /// The user key.
    package var user: String?
    /// The provider of the sign-in or the session.
    package var provider: String?
    /// What was decided.
    package var decision: AccessDecision?
    /// The rule that decided.
    package var rule: RulePlace?

    /// Nothing is known.
    package init() {}

    /// Takes over what another part of the gateway knows.
    mutating func add(_ other: IncidentRequest) {
        self.id = other.id ?? self.id
        self.client = other.client ?? self.client
        self.method = other.method ?? self.method
        self.host = other.host ?? self.host
        self.path = other.path ?? self.path
        self.version = other.version ?? self.version
        self.status = other.status ?? self.status
        self.app = other.app ?? self.app
        self.route = other.route ?? self.route
        self.user = other.user ?? self.user
        self.provider = other.provider ?? self.provider
        self.decision = other.decision ?? self.decision
        self.rule = other.rule ?? self.rule
    }

    /// The same with printable texts of a bounded length.
    var bounded: IncidentRequest {
        var bounded = self
        bounded.id = Incident.bounded(self.id)
        bounded.client = Incident.bounded(self.client)
        bounded.method = Incident.bounded(self.method)
        bounded.host = Incident.bounded(self.host)
        bounded.path = Incident.bounded(self.path)
        bounded.version = Incident.bounded(self.version)
        bounded.app = Incident.bounded(self.app)
        bounded.route = Incident.bounded(self.route)
        bounded.user = Incident.bounded(self.user)
        bounded.provider = Incident.bounded(self.provider)
        return bounded
    }

    fileprivate var members: [String: JSON] {
        let texts = [
            "request": self.id, "client": self.client, "method": self.method, "host": self.host, "path": self.path,
            "protocol": self.version, "app": self.app, "route": self.route, "user": self.user,
            "provider": self.provider, "decision": self.decision?.rawValue,
        ]
        var members = texts.compactMapValues { $0.map(JSON.string) }
        members["status"] = self.status.map { .int(Int64($0)) }
        members["rule"] = self.rule.map { .int(Int64($0.line)) }
        members["rule_file"] = self.rule?.includedFile.map(JSON.string)
        return members
    }
}

/// A failure and the request that it happened to, as ``IncidentHistory`` keeps it.
package struct Incident: Sendable, Hashable {
    /// How many scalars of a text are kept.
    private static let maxText = 300

    /// The random word that the client was shown; nil if its response had begun before.
    package let id: String?
    /// When it happened.
    package let time: Instant
    package let reason: Failure.Reason
    /// What happened, for operators.
    package let detail: String
    /// What is known of the request.
    package private(set) var request: IncidentRequest

    /// An incident; texts are cut, so that a thousand of them have a bounded size.
    package init(id: String?, time: Instant, _ reason: Failure.Reason, detail: String, of request: IncidentRequest) {
        self.id = id
        self.time = time
        self.reason = reason
        self.detail = PrintableText.escaped(detail, limit: Incident.maxText)
        self.request = request.bounded
    }

    /// Takes over what another part of the gateway knows of the request, texts of bounded size.
    mutating func add(_ request: IncidentRequest) { self.request.add(request) }

    /// Whether it is the same failure as one without an id, which an app's failure is before its page is made.
    func supersedes(_ other: Incident) -> Bool {
        other.id == nil && other.request.id != nil && other.request.id == self.request.id && other.reason == self.reason
    }

    /// Whether an id names the incident or its request.
    func isNamed(_ id: String) -> Bool { self.id == id || self.request.id == id }

    /// Whether the rules of an app denied a user.
    var isDenial: Bool {
        switch self.reason {
        case .policyRefused, .policyEmailNotAuthoritative, .policyDenied, .policyEmailUnknown, .policyGroupsUnknown,
            .policyFactUnknown, .policyAuthenticationStale, .policyCertificate:
            true
        default: false
        }
    }

    /// The incident for operators, without anything that a log line would not have.
    package var json: JSON {
        var members = self.request.members
        members["incident"] = self.id.map(JSON.string)
        members["time"] = .int(self.time.seconds)
        members["code"] = .string(self.reason.code)
        members["kind"] = .string(self.reason.entry.kind.rawValue)
        members["detail"] = .string(self.detail)
        return .object(members)
    }

    fileprivate static func bounded(_ text: String?) -> String? {
        text.map { PrintableText.escaped($0, limit: Incident.maxText) }
    }
}
