// SPDX-License-Identifier: Apache-2.0

internal import GateHTTP
internal import GateOperations
internal import GateProxy
internal import GateSessions
internal import Metrics

/// The metrics of this module: connections, overload, the session store, providers, upstreams, reloads.
enum ServerMetrics {
    static let connections = MetricSeries.gauge(
        "gatehouse_connections",
        unit: "connections",
        help: "Client connections that are open"
    )
    static let connectionLimit = MetricSeries.gauge(
        "gatehouse_connection_limit",
        unit: "connections",
        help: "Client connections that may be open"
    )
    static let acceptFailures = MetricSeries.counter(
        "gatehouse_accept_failures_total",
        labels: ["reason"],
        unit: "connections",
        help: "Client connections that were not accepted, by reason"
    )
    static let tunnels = MetricSeries.gauge(
        "gatehouse_tunnels",
        unit: "tunnels",
        help: "WebSockets that are open or being opened"
    )
    static let requestsInFlight = MetricSeries.gauge(
        "gatehouse_requests_in_flight",
        unit: "requests",
        help: "Requests between their head and the end of their response"
    )
    static let signInsInFlight = MetricSeries.gauge(
        "gatehouse_sign_ins_in_flight",
        unit: "sign-ins",
        help: "Sign-ins that the gateway works on now"
    )
    static let sessions = MetricSeries.gauge(
        "gatehouse_sessions",
        unit: "sessions",
        help: "Sessions in the store"
    )
    static let storeFailed = MetricSeries.gauge(
        "gatehouse_session_store_fault",
        unit: "boolean",
        help: "1 while the file of the session store is gone or damaged, or its Redis is a replica or may evict"
    )
    static let revocationsPending = MetricSeries.gauge(
        "gatehouse_revocations_pending",
        unit: "sessions",
        help: "Sign-outs that are not written to the session store yet"
    )
    static let mails = MetricSeries.counter(
        "gatehouse_mails_total",
        labels: ["result"],
        unit: "messages",
        help:
            "Messages with links for local accounts, by result: sent, retried, or why the mail server did not take one"
    ).only(when: "a message was sent")
    static let overloadLevel = MetricSeries.gauge(
        "gatehouse_overload_stage",
        unit: "level",
        help: "The overload level, 0 for none to 5"
    )
    static let overloadShare = MetricSeries.gauge(
        "gatehouse_overload_share",
        unit: "ratio",
        help: "Share of the scarcest resource that is used, 1 for all of it"
    )
    static let memory = MetricSeries.gauge(
        "gatehouse_memory_bytes",
        unit: "bytes",
        help: "Memory in use"
    )
    static let memoryAtStart = MetricSeries.gauge(
        "gatehouse_memory_at_start_bytes",
        unit: "bytes",
        help: "Memory that the process used before its first client"
    )
    static let memoryLimit = MetricSeries.gauge(
        "gatehouse_memory_limit_bytes",
        unit: "bytes",
        help: "Memory that may be used"
    )
    static let openDescriptors = MetricSeries.gauge(
        "gatehouse_open_descriptors",
        unit: "descriptors",
        help: "Open file descriptors"
    )
    static let descriptorLimit = MetricSeries.gauge(
        "gatehouse_descriptor_limit",
        unit: "descriptors",
        help: "File descriptors that may be open"
    )
    static let loopLag = MetricSeries.gauge(
        "gatehouse_loop_lag_seconds",
        labels: ["loop"],
        unit: "seconds",
        help: "How late an event loop runs what is due, the 99th percentile of the last ten seconds"
    )
    static let loopBlocked = MetricSeries.gauge(
        "gatehouse_loop_blocked",
        labels: ["loop"],
        unit: "turns",
        help: "Turns of an event loop that were over 100 ms late since the start"
    )
    static let providerFailures = MetricSeries.counter(
        "gatehouse_provider_failures_total",
        labels: ["provider"],
        unit: "calls",
        help: "Failed calls for a provider's metadata or keys"
    ).only(when: "a call failed")
    static let groupsIncomplete = MetricSeries.counter(
        "gatehouse_groups_incomplete_total",
        labels: ["provider"],
        unit: "sign-ins",
        help: "Sign-ins in which the provider did not send all groups of the user"
    ).only(when: "there was such a sign-in")
    static let userinfoUnavailable = MetricSeries.counter(
        "gatehouse_userinfo_unavailable_total",
        labels: ["provider"],
        unit: "sign-ins",
        help: "Sign-ins that went on without userinfo because the endpoint did not respond"
    ).only(when: "there was such a sign-in")
    static let providerSignInsWaiting = MetricSeries.gauge(
        "gatehouse_provider_sign_ins_waiting",
        labels: ["provider"],
        unit: "sign-ins",
        help: "Sign-ins that wait for a call to the provider"
    )
    static let providerKeysAge = MetricSeries.gauge(
        "gatehouse_provider_keys_age_seconds",
        labels: ["provider"],
        unit: "seconds",
        help: "Age of the provider's keys"
    ).only(when: "the provider has keys that were fetched")
    static let providerKeysStale = MetricSeries.gauge(
        "gatehouse_provider_keys_stale",
        labels: ["provider"],
        unit: "boolean",
        help: "1 while keys are used that could not be refreshed"
    ).only(when: "the provider has keys that were fetched")
    static let upstreamHealthy = MetricSeries.gauge(
        "gatehouse_upstream_healthy",
        labels: ["app", "target"],
        unit: "boolean",
        help: "1 while a target of an app gets requests"
    ).only(when: "an app has several targets or health checks")
    static let upstreamEjections = MetricSeries.counter(
        "gatehouse_upstream_ejections_total",
        labels: ["target"],
        unit: "ejections",
        help: "How often a target was ejected because its requests failed"
    ).only(when: "a target was ejected")
    static let upstreamPinMismatches = MetricSeries.counter(
        "gatehouse_upstream_pin_mismatches_total",
        labels: ["target", "mode"],
        unit: "handshakes",
        help: "TLS handshakes with a target in which no pin matched, by mode"
    ).only(when: "there was such a handshake")
    static let operationsRejections = MetricSeries.counter(
        "gatehouse_operations_rejections_total",
        labels: ["reason"],
        unit: "requests",
        help: "Rejected requests to the operations API: without the token (token), or from another user (user)"
    ).only(when: "a request was rejected")
    static let reloads = MetricSeries.counter(
        "gatehouse_reloads_total",
        labels: ["result"],
        unit: "reloads",
        help: "Reloads of the configuration, by result: ok, failed, or refused by --guard"
    )
    static let lastReloadSuccess = MetricSeries.gauge(
        "gatehouse_config_last_reload_success",
        unit: "boolean",
        help: "1 if the last reload succeeded"
    )
    static let configurationLoaded = MetricSeries.gauge(
        "gatehouse_config_loaded_timestamp_seconds",
        unit: "seconds",
        help: "When the configuration in force was loaded, in Unix time"
    )

    static let openConnections = MetricSeries.gauge(
        "gatehouse_open_connections",
        labels: ["protocol", "state"],
        unit: "connections",
        help: "Client connections that speak HTTP, by protocol: with a request in progress (active) or without (idle)"
    )
    static let handshakeFailures = MetricSeries.counter(
        "gatehouse_handshake_failures_total",
        labels: ["reason"],
        unit: "handshakes",
        help: "TLS handshakes with clients that failed, by reason"
    )
    static let providerCalls = MetricSeries.counter(
        "gatehouse_provider_calls_total",
        labels: ["provider", "endpoint", "outcome"],
        unit: "calls",
        help:
            "Calls to a provider by endpoint and outcome: the class of the status, such as 2xx, or the code of the failure"
    ).only(when: "a provider was called")
    static let providerCallDuration = MetricSeries.histogram(
        "gatehouse_provider_call_duration_seconds",
        labels: ["provider", "endpoint"],
        help: "Time of a call to a provider, the wait for a connection included"
    ).only(when: "a provider was called")
    static let providerUp = MetricSeries.gauge(
        "gatehouse_provider_up",
        labels: ["provider"],
        unit: "boolean",
        help: "1 if the last call to the provider got a response below 500, 0 if it did not"
    ).only(when: "a provider was called")
    static let providerBreaker = MetricSeries.gauge(
        "gatehouse_provider_breaker_open",
        labels: ["provider"],
        unit: "boolean",
        help: "1 while the provider is asked for re-checks only now and then, because it did not respond"
    )
    static let storeOperations = MetricSeries.counter(
        "gatehouse_store_operations_total",
        labels: ["operation", "result"],
        unit: "operations",
        help: "Operations of the session store by result: ok or the code of the failure"
    )
    static let storeDuration = MetricSeries.histogram(
        "gatehouse_store_operation_duration_seconds",
        labels: ["operation"],
        help: "Time of an operation of the session store"
    )
    static let storeUp = MetricSeries.gauge(
        "gatehouse_store_up",
        unit: "boolean",
        help: "1 if the last operation of the session store succeeded, 0 if the store did not respond"
    )
    static let loopHeartbeat = MetricSeries.gauge(
        "gatehouse_loop_heartbeat_age_seconds",
        labels: ["loop"],
        unit: "seconds",
        help:
            "Time since an event loop ran its last tick, of which it has ten a second; over 5 the gateway is not alive"
    )
    static let configurationInfo = MetricSeries.gauge(
        "gatehouse_config_info",
        labels: ["hash"],
        unit: "info",
        help: "Always 1; hash is the start of the SHA-256 of the configuration file in force"
    )
    static let buildInfo = MetricSeries.gauge(
        "gatehouse_build_info",
        labels: ["version", "libcurl", "openssl", "nghttp2", "sqlite"],
        unit: "info",
        help: "Always 1; the version of the gateway and of the C libraries that it runs with"
    )

    static let spansExported = MetricSeries.counter(
        "gatehouse_trace_spans_exported_total",
        unit: "spans",
        help: "Spans that the trace collector has taken"
    ).only(when: "tracing is on and spans were exported")
    static let spansDropped = MetricSeries.counter(
        "gatehouse_trace_spans_dropped_total",
        labels: ["reason"],
        unit: "spans",
        help: "Spans that were not exported, by reason: queue_full or export_failed"
    ).only(when: "tracing is on and spans were dropped")

    /// All metrics of this module.
    static let all = [
        connections, connectionLimit, acceptFailures, tunnels, requestsInFlight, signInsInFlight, sessions, storeFailed,
        revocationsPending, mails, overloadLevel, overloadShare, memory, memoryAtStart, memoryLimit, openDescriptors,
        descriptorLimit, loopLag, loopBlocked, providerFailures, groupsIncomplete, userinfoUnavailable,
        providerSignInsWaiting, providerKeysAge, providerKeysStale, upstreamHealthy, upstreamEjections,
        upstreamPinMismatches, operationsRejections, reloads, lastReloadSuccess, configurationLoaded, openConnections,
        handshakeFailures, providerCalls, providerCallDuration, providerUp, providerBreaker, storeOperations,
        storeDuration, storeUp, loopHeartbeat, configurationInfo, buildInfo,
        spansExported, spansDropped,
    ]

    /// The session store reports something.
    static func store(_ event: StoreEvent) {
        switch event {
        case .revocationPending(let pending, _, _): self.revocationsPending.gauge().record(pending)
        case .revocationsWritten: self.revocationsPending.gauge().record(0)
        }
    }

    /// A target of an app has changed.
    static func upstream(_ event: UpstreamEvent) {
        switch event {
        case .ejected(let target, _, _): self.upstreamEjections.counter("\(target)").increment()
        case .pinMismatch(let target, let isEnforced, _):
            self.upstreamPinMismatches.counter("\(target)", isEnforced ? "enforce" : "report").increment()
        case .health: break
        }
    }

    /// The counters of connections that were not accepted; looked up once, because they may be many.
    static func acceptCounters() -> [AcceptFailure: Counter] {
        let all = AcceptFailure.allCases.map { ($0, self.acceptFailures.counter($0.rawValue)) }
        return Dictionary(all) { first, _ in first }
    }

    /// The counters of TLS handshakes that failed; looked up once, because they may be many.
    static func handshakeCounters() -> [HandshakeFailure: Counter] {
        let all = HandshakeFailure.allCases.map { ($0, self.handshakeFailures.counter($0.rawValue)) }
        return Dictionary(all) { first, _ in first }
    }

    /// The configuration was loaded, could not be, or was refused for what it takes from users.
    static func reloaded(ok: Bool, isRejected: Bool = false) {
        self.reloads.counter(ok ? "ok" : isRejected ? "refused" : "failed").increment()
        self.lastReloadSuccess.gauge().record(ok ? 1 : 0)
    }
}
