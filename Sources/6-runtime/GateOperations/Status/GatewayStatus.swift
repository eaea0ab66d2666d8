// SPDX-License-Identifier: Apache-2.0

package import GateCore
package import GateSessions

/// The state of a gateway, as `/status` returns it: the JSON, its schema, the warnings and the page are derived from it.
///
/// Within version 1 members are added, never renamed or removed, so a reader has to ignore those that it does not know.
package struct GatewayStatus: StatusObject {
    package var at = Instant(seconds: 0)
    package var gatewayVersion = ""
    package var startedAt = Instant(seconds: 0)
    package var configuration = ""
    package var configurationHash = ""
    package var loadedAt = Instant(seconds: 0)
    package var lastReloadFailed = false
    package var lastReload: Reload?
    package var refusedReload: RefusedReload?
    package var isDraining = false
    package var publicURL = ""
    package var listeners: [String] = []
    package var operations = ""
    package var providers: [String] = []
    package var providerStates: [Provider] = []
    package var apps = 0
    package var appStates: [App] = []
    package var upstreams: [Upstream] = []
    package var connections = 0
    package var requestsInFlight = 0
    package var sessions: Int?
    package var isStoreAvailable = true
    package var storeFailure: StoreFileFailure?
    package var overload = Overload()
    package var stuckLoops: [Int] = []
    package var logLinesDropped = 0
    package var history = History()
    package var listenerCertificates: [Listener] = []
    package var providerHosts: [Host] = []
    package var securityEvents: [SecurityEvent] = []
    package var denials: [Denial] = []
    package var warnings: [Warning] = []

    /// How many of the latest denials it has.
    package static let maxDenials = 50

    /// The state of a gateway of which nothing is known.
    package init() {}

    /// The JSON Schema, which is `docs/status.schema.json`, with a line break at its end.
    package static var schemaText: String {
        var schema = self.schema
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "The state of a gateway, as GET /status of the operations listener returns it"
        return JSON.object(schema).pretty() + "\n"
    }

    package static let members: [StatusMember<GatewayStatus>] = [
        StatusMember("version", constant: 1, "The version of this document."),
        StatusMember("at", \.at, "When it was made, in Unix time, as all times."),
        StatusMember("gateway_version", \.gatewayVersion, "The version of the gateway."),
        StatusMember("started_at", \.startedAt, "When the process was started."),
        StatusMember("configuration", \.configuration, "The configuration file."),
        StatusMember("configuration_hash", \.configurationHash, "The start of the SHA-256 of the file in force."),
        StatusMember("loaded_at", \.loadedAt, "When the configuration in force was loaded."),
        StatusMember(
            "last_reload_failed",
            \.lastReloadFailed,
            "Whether the last reload failed, so that an older configuration is in force."
        ),
        StatusMember("last_reload", \.lastReload, "The last reload since the start; null before the first."),
        StatusMember(
            "refused_reload",
            \.refusedReload,
            "The reload that `--guard` has refused; null if it has not."
        ),
        StatusMember("draining", \.isDraining, "Whether the gateway is shutting down."),
        StatusMember("public_url", \.publicURL, "`gateway.public_url`."),
        StatusMember("listeners", \.listeners, "The addresses for clients."),
        StatusMember("operations", \.operations, "The address of the operations listener."),
        StatusMember("providers", \.providers, "The names of the providers."),
        StatusMember("provider_states", \.providerStates, "The providers, in the order of the file."),
        StatusMember("apps", \.apps, "The number of apps."),
        StatusMember("app_states", \.appStates, "The apps, in the order of the file."),
        StatusMember(
            "upstreams",
            \.upstreams,
            "The targets of apps with several targets or with health checks."
        ),
        StatusMember("connections", \.connections, "Client connections that are open."),
        StatusMember("requests_in_flight", \.requestsInFlight, "Requests in progress."),
        StatusMember(
            "sessions",
            \.sessions,
            "Sessions in the store; null if it does not respond, or keeps none."
        ),
        StatusMember("store_available", \.isStoreAvailable, "Whether the session store responds."),
        StatusMember(
            "store_fault",
            \.storeFailure,
            "What has happened to the file of the session store, or what is wrong with its servers; null for nothing."
        ),
        StatusMember("overload", \.overload, "What is used of the resources."),
        StatusMember("stuck_loops", \.stuckLoops, "The event loops that have not run for five seconds."),
        StatusMember("log_lines_dropped", \.logLinesDropped, "Log lines that were not written since the start."),
        StatusMember("history", \.history, "The last hour by minute."),
        StatusMember(
            "listener_certificates",
            \.listenerCertificates,
            "The listeners with certificates or revocation lists."
        ),
        StatusMember("provider_hosts", \.providerHosts, "The hosts of providers that were connected to."),
        StatusMember("security_events", \.securityEvents, "The latest security events, the newest first."),
        StatusMember(
            "denials",
            \.denials,
            "The latest denials by rules since the start, the newest first; with `forward_auth: shadow` those that were not enforced.",
            limits: ["maxItems": .int(Int64(maxDenials))]
        ),
        StatusMember("warnings", \.warnings, "What needs attention, the most urgent first."),
    ]
}

extension StoreFileFailure: StatusValue {}

// MARK: Reloads

extension GatewayStatus {
    package struct Reload: StatusObject {
        package let at: Instant
        package let isGood: Bool
        package let cause: String
        package let detail: String

        package init(at: Instant, isGood: Bool, cause: String, detail: String) {
            (self.at, self.isGood, self.cause, self.detail) = (at, isGood, cause, detail)
        }

        package static let members: [StatusMember<Reload>] = [
            StatusMember("at", \.at, "When it was."),
            StatusMember("ok", \.isGood, "Whether the new configuration is in force."),
            StatusMember("by", \.cause, "What has caused it: `file`, `signal` or `confirm`."),
            StatusMember("detail", \.detail, "Why it failed; empty if it succeeded."),
        ]
    }

    package struct RefusedReload: StatusObject {
        package let content: String
        package let at: Instant
        package let expires: Instant
        package let detail: String

        package init(content: String, at: Instant, expires: Instant, detail: String) {
            (self.content, self.at, self.expires, self.detail) = (content, at, expires, detail)
        }

        package static let members: [StatusMember<RefusedReload>] = [
            StatusMember("content", \.content, "Names the content of the refused files."),
            StatusMember("at", \.at, "When it was refused."),
            StatusMember("expires", \.expires, "Until when it can be confirmed."),
            StatusMember("detail", \.detail, "What it would take from which users."),
        ]
    }
}

// MARK: Providers

extension GatewayStatus {
    package struct Provider: StatusObject {
        package enum State: String, StatusValue, CaseIterable {
            case ok
            case failing
            /// Before the first call.
            case unknown
        }

        package struct Failed: StatusObject {
            package let at: Instant
            package let reason: Failure.Reason
            package let detail: String

            package init(at: Instant, reason: Failure.Reason, detail: String) {
                (self.at, self.reason, self.detail) = (at, reason, detail)
            }

            package static let members: [StatusMember<Failed>] = [
                StatusMember("at", \.at, "When it was."),
                StatusMember("code", \.reason.code, "The error code."),
                StatusMember("detail", \.detail, "What happened."),
            ]
        }

        package let name: String
        package var state = State.unknown
        package var lastSuccess: Instant?
        package var lastFailure: Failed?
        package var isBreakerOpen = false
        package var signInsWaiting = 0
        /// In seconds.
        package var keyAge: Int?
        package var areKeysStale = false

        package init(_ name: String) {
            self.name = name
        }

        package static let members: [StatusMember<Provider>] = [
            StatusMember("name", \.name, "The name in the file."),
            StatusMember("state", \.state, "How the last call ended; `unknown` before the first."),
            StatusMember("last_success", \.lastSuccess, "When a call last got a response below 500."),
            StatusMember("last_failure", \.lastFailure, "The last call that failed."),
            StatusMember(
                "breaker_open",
                \.isBreakerOpen,
                "Whether it is asked for re-checks only now and then."
            ),
            StatusMember("sign_ins_waiting", \.signInsWaiting, "Sign-ins that wait for a call to it."),
            StatusMember("keys_age_seconds", \.keyAge, "The age of its keys; null as long as none were fetched."),
            StatusMember("keys_stale", \.areKeysStale, "Whether keys are used that could not be refreshed."),
        ]
    }
}

// MARK: Apps

extension GatewayStatus {
    package struct App: StatusObject {
        package struct Target: StatusObject {
            package let target: String
            package let isHealthy: Bool
            package let isChecked: Bool
            package let connections: Int
            package let requests: Int

            package init(_ target: String, isHealthy: Bool, isChecked: Bool, connections: Int, requests: Int) {
                (self.target, self.isHealthy, self.isChecked) = (target, isHealthy, isChecked)
                (self.connections, self.requests) = (connections, requests)
            }

            package static let members: [StatusMember<Target>] = [
                StatusMember("target", \.target, "The address."),
                StatusMember("healthy", \.isHealthy, "Whether it gets requests."),
                StatusMember("checked", \.isChecked, "Whether its health is checked."),
                StatusMember("connections", \.connections, "Connections to it."),
                StatusMember("requests", \.requests, "Requests in progress."),
            ]
        }

        package let name: String
        package var hosts: [String] = []
        package var path = ""
        package var isInMaintenance = false
        package var targets: [Target] = []

        package init(_ name: String) {
            self.name = name
        }

        package static let members: [StatusMember<App>] = [
            StatusMember("name", \.name, "The name in the file."),
            StatusMember("hosts", \.hosts, "Its hosts."),
            StatusMember("path", \.path, "Its path prefix."),
            StatusMember("maintenance", \.isInMaintenance, "Whether it is in maintenance."),
            StatusMember("targets", \.targets, "Its targets; empty if the gateway itself responds."),
        ]
    }

    package struct Upstream: StatusObject {
        package let app: String
        package let target: String
        package var isHealthy = true
        package var isUp = true
        package var ejections = 0
        package var connections = 0
        package var requests = 0
        package var waiting = 0

        package init(app: String, target: String) {
            (self.app, self.target) = (app, target)
        }

        package static let members: [StatusMember<Upstream>] = [
            StatusMember("app", \.app, "The app."),
            StatusMember("target", \.target, "The address."),
            StatusMember("healthy", \.isHealthy, "Whether it gets requests."),
            StatusMember("checked_healthy", \.isUp, "Whether its health checks pass; true without any."),
            StatusMember("ejected_by_loops", \.ejections, "On how many event loops it is ejected."),
            StatusMember("connections", \.connections, "Connections to it."),
            StatusMember("requests", \.requests, "Requests in progress."),
            StatusMember("waiting", \.waiting, "Requests that wait for a connection."),
        ]
    }
}

// MARK: Load

extension GatewayStatus {
    package struct Overload: StatusObject {
        package var level = "normal"
        package var usedPercent = 0
        package var memory = 0
        package var memoryAtStart = 0
        package var memoryLimit = 0
        package var descriptors = 0
        package var descriptorLimit = 0
        /// In milliseconds.
        package var loopLag = 0
        package var connectionLimit = 0
        package var signInsInFlight = 0

        package init() {}

        package static let members: [StatusMember<Overload>] = [
            StatusMember("stage", \.level, "The overload level; `normal` without overload."),
            StatusMember("used_percent", \.usedPercent, "How much of the scarcest resource is used."),
            StatusMember("memory", \.memory, "Bytes of memory in use."),
            StatusMember("memory_at_start", \.memoryAtStart, "Bytes that were in use before the first client."),
            StatusMember("memory_limit", \.memoryLimit, "Bytes that may be used."),
            StatusMember("descriptors", \.descriptors, "Open file descriptors."),
            StatusMember("descriptor_limit", \.descriptorLimit, "File descriptors that may be open."),
            StatusMember("loop_lag_ms", \.loopLag, "How late the event loops run what is due."),
            StatusMember("connection_limit", \.connectionLimit, "Client connections that may be open."),
            StatusMember("sign_ins_in_flight", \.signInsInFlight, "Sign-ins in progress."),
        ]
    }

    /// A number for each minute of the last hour, the oldest first, the one in progress last.
    package struct Minutes: StatusValue {
        package let counts: [Int64]

        package init(_ counts: [Int64]) {
            self.counts = counts
        }

        package static var schema: [String: JSON] {
            let count = JSON.int(Int64(MinuteHistory.minutes))
            return ["type": "array", "items": .object(Int.schema), "minItems": count, "maxItems": count]
        }

        package var json: JSON { self.counts.json }

        func sum(ofLast minutes: Int) -> Int64 { self.counts.suffix(minutes).reduce(0, +) }
    }

    package struct History: StatusObject {
        package var signIns = Minutes([])
        package var failedSignIns = Minutes([])
        package var rejections = Minutes([])
        package var requests = Minutes([])

        package init() {}

        package static let members: [StatusMember<History>] = [
            StatusMember(
                "sign_ins",
                \.signIns,
                "Sign-ins that succeeded, the oldest minute first, the one in progress last."
            ),
            StatusMember("failed_sign_ins", \.failedSignIns, "Sign-ins that failed."),
            StatusMember("rejections", \.rejections, "Rejected requests, without redirects to the sign-in."),
            StatusMember("requests", \.requests, "Responses to requests of a route."),
        ]
    }
}

// MARK: Certificates and pins

extension GatewayStatus {
    package struct Listener: StatusObject {
        package struct Certificate: StatusObject {
            package let file: String
            package let notAfter: Instant
            package let daysLeft: Int64

            package init(file: String, notAfter: Instant, daysLeft: Int64) {
                (self.file, self.notAfter, self.daysLeft) = (file, notAfter, daysLeft)
            }

            package static let members: [StatusMember<Certificate>] = [
                StatusMember("file", \.file, "The file."),
                StatusMember("not_after", \.notAfter, "When it expires."),
                StatusMember("days_left", \.daysLeft, "Days until then, negative afterwards."),
            ]
        }

        struct RevocationList: StatusObject {
            let issuer: String
            let notAfter: Instant
            let daysLeft: Int64

            static let members: [StatusMember<RevocationList>] = [
                StatusMember("issuer", \.issuer, "The authority."),
                StatusMember("not_after", \.notAfter, "When the first of its lists expires."),
                StatusMember("days_left", \.daysLeft, "Days until then, negative afterwards."),
            ]
        }

        package let address: String
        package var certificates: [Certificate] = []
        var revocationLists: [RevocationList] = []
        var findings: [CertificateFinding] = []

        package init(_ address: String) {
            self.address = address
        }

        package static let members: [StatusMember<Listener>] = [
            StatusMember("listener", \.address, "The address."),
            StatusMember("certificates", \.certificates, "Its certificates."),
            StatusMember(
                "revocation_lists",
                \.revocationLists,
                "The revocation lists for certificates of clients, by authority."
            ),
            StatusMember(
                "findings",
                \.findings,
                "Why clients reject the certificates, or are rejected for want of a list; now or soon."
            ),
        ]
    }

    package struct Host: StatusObject {
        package struct Certificate: StatusObject {
            let position: Int
            let subject: String
            let publicKeyPin: Pin?
            package let daysLeft: Int64
            let pin: Int?

            package static let members: [StatusMember<Certificate>] = [
                StatusMember("position", \.position, "0 for the certificate of the host itself."),
                StatusMember("subject", \.subject, "Its subject."),
                StatusMember("public_key_sha256", \.publicKeyPin?.description, "The pin of its public key."),
                StatusMember("days_left", \.daysLeft, "Days until it expires, negative afterwards."),
                StatusMember("pin", \.pin, "The number of the pin that it matches."),
            ]
        }

        package struct Pins: StatusObject {
            package var match = ""
            package var mode = ""
            package var demand = ""
            package var count = 0
            package var unused = 0
            package var preset: String?
            package var expires: String?
            package var daysLeft: Int64?
            package var matchedAt: Instant?
            package var mismatchedAt: Instant?
            package var isRejected = false

            package init() {}

            package static let members: [StatusMember<Pins>] = [
                StatusMember(
                    "match",
                    \.match,
                    "What the pins are compared with. This and the following only if it has pins."
                ),
                StatusMember("mode", \.mode, "`enforce` or `report`."),
                StatusMember("demand", \.demand, "What holds now, also after the pins have expired."),
                StatusMember("pins", \.count, "The number of pins."),
                StatusMember("unused_pins", \.unused, "The pins that match no certificate of the chain."),
                StatusMember("preset", \.preset, "The list of pins that is built in."),
                StatusMember("expires", \.expires, "The date on which the pins expire."),
                StatusMember(
                    "expires_days_left",
                    \.daysLeft,
                    "Days until then, negative afterwards; null if they do not expire."
                ),
                StatusMember("matched_at", \.matchedAt, "When a pin matched last."),
                StatusMember("mismatched_at", \.mismatchedAt, "When no pin matched."),
                StatusMember("refused", \.isRejected, "Whether it is not called because no pin matches."),
            ]
        }

        package let provider: String
        package let host: String
        package var chain: [Certificate] = []
        var surveyedAt: Instant?
        /// Nil without pins.
        package var pins: Pins?

        package init(_ host: String, of provider: String) {
            (self.host, self.provider) = (host, provider)
        }

        package static let members: [StatusMember<Host>] =
            [
                StatusMember("provider", \.provider, "The provider."),
                StatusMember("host", \.host, "The origin."),
                StatusMember("chain", \.chain, "The certificates that it showed last."),
                StatusMember("surveyed_at", \.surveyedAt, "When its whole chain was looked at last."),
            ] + StatusMember.all(of: \.pins)
    }
}

extension SecurityEvent.Severity: StatusValue {}

extension CertificateFinding: StatusObject {
    package static let members: [StatusMember<CertificateFinding>] = [
        StatusMember("event", \.name.code, "What it is."),
        StatusMember("severity", \.severity, "How urgent it is."),
        StatusMember("file", \.file, "The file; null if it is about all."),
        StatusMember("detail", \.detail, "What is wrong, and what to do."),
    ]
}

extension SecurityEvent: StatusObject {
    package static let members: [StatusMember<SecurityEvent>] = [
        StatusMember("event", \.name.rawValue, "What it is."),
        StatusMember("severity", \.severity, "How urgent it is."),
        StatusMember("provider", \.provider, "The provider."),
        StatusMember("host", \.host, "The host; null for all of the provider."),
        StatusMember("presented", \.presentedTexts, "The pins of the keys that it showed."),
        StatusMember("detail", \.detail, "What happened, and what to do."),
        StatusMember("at", \.at, "When it was."),
    ]

    private var presentedTexts: [String] { self.presented.map(\.description) }
}

// MARK: Denials and warnings

extension GatewayStatus {
    package struct Denial: StatusObject {
        package let at: Instant
        package var app: String?
        package var user: String?
        package let reason: Failure.Reason
        package var rule: String?
        package var incident: String?

        package init(at: Instant, _ reason: Failure.Reason) {
            (self.at, self.reason) = (at, reason)
        }

        package static let members: [StatusMember<Denial>] = [
            StatusMember("at", \.at, "When it was."),
            StatusMember("app", \.app, "The app."),
            StatusMember(
                "user",
                \.user,
                "The user as access lines show it (`logs.users`); the hash of the user key if none are written."
            ),
            StatusMember("code", \.reason.code, "The error code."),
            StatusMember(
                "rule",
                \.rule,
                "The entry that decided, as `file:line`; null if no entry of `allow` matches."
            ),
            StatusMember("incident", \.incident, "The incident that the user was shown, for `gatehouse explain`."),
        ]
    }

    package struct Warning: StatusObject {
        package let severity: SecurityEvent.Severity
        package let text: String
        package let runBook: RunBook?

        package init(_ severity: SecurityEvent.Severity, _ text: String, _ runBook: RunBook?) {
            (self.severity, self.text, self.runBook) = (severity, text, runBook)
        }

        package static let members: [StatusMember<Warning>] = [
            StatusMember("severity", \.severity, "How urgent it is."),
            StatusMember("text", \.text, "What needs attention."),
            StatusMember(
                "run_book",
                \.runBook?.rawValue,
                "The section of `docs/alerts.md` about it; null without one."
            ),
        ]
    }
}
