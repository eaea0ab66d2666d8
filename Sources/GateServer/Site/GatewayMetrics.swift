// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProviderHTTP
internal import GateProxy
internal import GateSessions
internal import Metrics

/// The counters that do not belong to a route.
///
/// Labels come from the configuration or from lists of ours, never from
/// visitors.
struct GatewayMetrics: Sendable {
    /// A message was refused by the wire grammar.
    func refused(_ reason: String) {
        Counter(label: "gatehouse_rejected_requests_total", dimensions: [("reason", reason)]).increment()
    }

    /// A request had header names with `_`, `.` or their like, which are left out unless an app wants them.
    func irregularNames() {
        Counter(label: "gatehouse_irregular_header_names_total").increment()
    }

    /// A sign-in ended.
    func signIn(provider: String, result: String) {
        Counter(
            label: "gatehouse_sign_ins_total",
            dimensions: [("provider", provider), ("result", result)]
        ).increment()
    }

    /// Somebody is in more groups than a session keeps.
    func groupsCut(_ provider: String, count: Int) {
        Counter(label: "gatehouse_groups_cut_total", dimensions: [("provider", provider)]).increment(by: count)
    }

    /// A provider did not tell all groups of somebody.
    func groupsIncomplete(_ provider: String) {
        Counter(label: "gatehouse_groups_incomplete_total", dimensions: [("provider", provider)]).increment()
    }

    /// Userinfo did not respond, and the sign-in went on without it.
    func userinfoUnavailable(_ provider: String) {
        Counter(label: "gatehouse_userinfo_unavailable_total", dimensions: [("provider", provider)]).increment()
    }

    /// How it is with the calls to a provider, and with its keys.
    func provider(_ id: String, waiting: Int, keys: (age: Duration, isStale: Bool)?) {
        let provider = [("provider", id)]
        Gauge(label: "gatehouse_provider_sign_ins_waiting", dimensions: provider).record(waiting)
        guard let keys else { return }
        Gauge(label: "gatehouse_provider_keys_age_seconds", dimensions: provider).record(keys.age.components.seconds)
        Gauge(label: "gatehouse_provider_keys_stale", dimensions: provider).record(keys.isStale ? 1 : 0)
    }

    /// A session ended because somebody signed out.
    func signedOut() {
        Counter(label: "gatehouse_sign_outs_total").increment()
    }

    /// The session store reports something.
    func store(_ event: StoreEvent) {
        switch event {
        case .revocationPending(let pending, _, _):
            Gauge(label: "gatehouse_revocations_pending").record(pending)
        case .revocationsWritten:
            Gauge(label: "gatehouse_revocations_pending").record(0)
        }
    }

    /// A call to a provider failed.
    func providerFailed(_ provider: String) {
        Counter(label: "gatehouse_provider_failures_total", dimensions: [("provider", provider)]).increment()
    }

    /// A host that has pins made a handshake.
    func handshake(_ handshake: PinnedHandshake) {
        let place = [("provider", handshake.provider), ("host", handshake.origin.authority)]
        switch handshake.verdict {
        case .matched(let pin, let position):
            let which = [("pin", "\(handshake.set.pins[pin])"), ("position", "\(position)")]
            Counter(label: "gatehouse_pin_matches_total", dimensions: place + which).increment()
        case .mismatched:
            let mode = [("mode", handshake.isEnforced ? "enforce" : "report")]
            Counter(label: "gatehouse_pin_mismatches_total", dimensions: place + mode).increment()
        case .notChecked: break
        }
    }

    /// Something about a provider's certificates has to be known.
    func security(_ event: SecurityEvent) {
        Counter(
            label: "gatehouse_security_events_total",
            dimensions: [("event", event.name.rawValue), ("severity", event.severity.rawValue)]
        ).increment()
    }

    /// Something about a target of an app has changed.
    func upstream(_ event: UpstreamEvent) {
        switch event {
        case .ejected(let target, _, _):
            Counter(label: "gatehouse_upstream_ejections_total", dimensions: [("target", "\(target)")]).increment()
        case .pinMismatch(let target, let isEnforced, _):
            let labels = [("target", "\(target)"), ("mode", isEnforced ? "enforce" : "report")]
            Counter(label: "gatehouse_upstream_pin_mismatches_total", dimensions: labels).increment()
        case .health:
            break
        }
    }

    /// The configuration was read again.
    func reloaded(ok: Bool) {
        Counter(label: "gatehouse_reloads_total", dimensions: [("result", ok ? "ok" : "failed")]).increment()
        Gauge(label: "gatehouse_config_last_reload_success").record(ok ? 1 : 0)
    }
}
