// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// The JSON Schema of `/status`, which is `docs/status.schema.json`.
///
/// Within version 1 members are added, never renamed or removed, so a reader has to ignore those that it does not know.
package enum StatusSchema {
    /// The schema, with a line break at its end.
    package static var text: String {
        var schema = self.status.object ?? [:]
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "The state of a gateway, as GET /status of the operations listener returns it"
        return JSON.object(schema).pretty() + "\n"
    }

    private struct Member {
        let name: String
        var schema: [String: JSON]
        var isOptional = false

        init(_ name: String, _ schema: JSON, _ description: String) {
            self.name = name
            self.schema = schema.object ?? [:]
            self.schema["description"] = .string(description)
        }

        /// A member that is absent where it does not apply.
        static func optional(_ name: String, _ schema: JSON, _ description: String) -> Member {
            var member = Member(name, schema, description)
            member.isOptional = true
            return member
        }
    }

    private static let string: JSON = ["type": "string"]
    private static let flag: JSON = ["type": "boolean"]
    private static let count: JSON = ["type": "integer", "minimum": 0]
    private static let whole: JSON = ["type": "integer"]
    private static let time: JSON = ["type": "integer"]

    private static func orNull(_ schema: JSON) -> JSON {
        var members = schema.object ?? [:]
        members["type"] = [members["type"] ?? "null", "null"]
        members["enum"] = members["enum"]?.array.map { .array($0 + [.null]) }
        return .object(members)
    }

    private static func oneOf(_ words: String...) -> JSON {
        ["type": "string", "enum": .array(words.map(JSON.string))]
    }

    private static func list(_ items: JSON) -> JSON { ["type": "array", "items": items] }

    private static func object(_ members: Member...) -> JSON {
        let properties = Dictionary(members.map { ($0.name, JSON.object($0.schema)) }) { first, _ in first }
        let required = members.filter { !$0.isOptional }.map(\.name).sorted()
        return [
            "type": "object", "properties": .object(properties), "required": .array(required.map(JSON.string)),
        ]
    }
}

// MARK: The members

extension StatusSchema {
    private static let status = object(
        Member("version", ["const": 1], "The version of this document."),
        Member("at", time, "When it was made, in Unix time, as all times."),
        Member("gateway_version", string, "The version of the gateway."),
        Member("started_at", time, "When the process was started."),
        Member("configuration", string, "The configuration file."),
        Member("configuration_hash", string, "The start of the SHA-256 of the file in force."),
        Member("loaded_at", time, "When the configuration in force was loaded."),
        Member(
            "last_reload_failed",
            flag,
            "Whether the last reload failed, so that an older configuration is in force."
        ),
        Member("last_reload", orNull(reload), "The last reload since the start; null before the first."),
        Member("refused_reload", orNull(refusedReload), "The reload that `--guard` has refused; null if it has not."),
        Member("draining", flag, "Whether the gateway is shutting down."),
        Member("public_url", string, "`gateway.public_url`."),
        Member("listeners", list(string), "The addresses for clients."),
        Member("operations", string, "The address of the operations listener."),
        Member("providers", list(string), "The names of the providers."),
        Member("provider_states", list(provider), "The providers, in the order of the file."),
        Member("apps", count, "The number of apps."),
        Member("app_states", list(app), "The apps, in the order of the file."),
        Member("upstreams", list(target), "The targets of apps with several targets or with health checks."),
        Member("connections", count, "Client connections that are open."),
        Member("requests_in_flight", count, "Requests in progress."),
        Member("sessions", orNull(count), "Sessions in the store; null if it does not respond, or keeps none."),
        Member("store_available", flag, "Whether the session store responds."),
        Member(
            "store_fault",
            orNull(oneOf("deleted", "replaced", "truncated", "damaged", "read_only", "evicting")),
            "What has happened to the file of the session store, or what is wrong with its servers; null for nothing."
        ),
        Member("overload", overload, "What is used of the resources."),
        Member("stuck_loops", list(count), "The event loops that have not run for five seconds."),
        Member("log_lines_dropped", count, "Log lines that were not written since the start."),
        Member("history", history, "The last hour by minute."),
        Member("listener_certificates", list(listener), "The listeners with certificates or revocation lists."),
        Member("provider_hosts", list(host), "The hosts of providers that were connected to."),
        Member("security_events", list(event), "The latest security events, the newest first."),
        Member(
            "denials",
            ["type": "array", "items": denial, "maxItems": 50],
            "The latest denials by rules since the start, the newest first; with `forward_auth: shadow` those that were not enforced."
        ),
        Member("warnings", list(warning), "What needs attention, the most urgent first.")
    )

    private static let severity = oneOf("notice", "warning", "critical")

    private static let reload = object(
        Member("at", time, "When it was."),
        Member("ok", flag, "Whether the new configuration is in force."),
        Member("by", string, "What has caused it: `file`, `signal` or `confirm`."),
        Member("detail", string, "Why it failed; empty if it succeeded.")
    )

    private static let refusedReload = object(
        Member("content", string, "Names the content of the refused files."),
        Member("at", time, "When it was refused."),
        Member("expires", time, "Until when it can be confirmed."),
        Member("detail", string, "What it would take from which users.")
    )

    private static let provider = object(
        Member("name", string, "The name in the file."),
        Member("state", oneOf("ok", "failing", "unknown"), "How the last call ended; `unknown` before the first."),
        Member("last_success", orNull(time), "When a call last got a response below 500."),
        Member(
            "last_failure",
            orNull(
                object(
                    Member("at", time, "When it was."),
                    Member("code", string, "The error code."),
                    Member("detail", string, "What happened.")
                )
            ),
            "The last call that failed."
        ),
        Member("breaker_open", flag, "Whether it is asked for re-checks only now and then."),
        Member("sign_ins_waiting", count, "Sign-ins that wait for a call to it."),
        Member("keys_age_seconds", orNull(count), "The age of its keys; null as long as none were fetched."),
        Member("keys_stale", flag, "Whether keys are used that could not be refreshed.")
    )

    private static let app = object(
        Member("name", string, "The name in the file."),
        Member("hosts", list(string), "Its hosts."),
        Member("path", string, "Its path prefix."),
        Member("maintenance", flag, "Whether it is in maintenance."),
        Member(
            "targets",
            list(
                object(
                    Member("target", string, "The address."),
                    Member("healthy", flag, "Whether it gets requests."),
                    Member("checked", flag, "Whether its health is checked."),
                    Member("connections", count, "Connections to it."),
                    Member("requests", count, "Requests in progress.")
                )
            ),
            "Its targets; empty if the gateway itself responds."
        )
    )

    private static let target = object(
        Member("app", string, "The app."),
        Member("target", string, "The address."),
        Member("healthy", flag, "Whether it gets requests."),
        Member("checked_healthy", flag, "Whether its health checks pass; true without any."),
        Member("ejected_by_loops", count, "On how many event loops it is ejected."),
        Member("connections", count, "Connections to it."),
        Member("requests", count, "Requests in progress."),
        Member("waiting", count, "Requests that wait for a connection.")
    )

    private static let overload = object(
        Member("stage", string, "The overload level; `normal` without overload."),
        Member("used_percent", count, "How much of the scarcest resource is used."),
        Member("memory", count, "Bytes of memory in use."),
        Member("memory_at_start", count, "Bytes that were in use before the first client."),
        Member("memory_limit", count, "Bytes that may be used."),
        Member("descriptors", count, "Open file descriptors."),
        Member("descriptor_limit", count, "File descriptors that may be open."),
        Member("loop_lag_ms", count, "How late the event loops run what is due."),
        Member("connection_limit", count, "Client connections that may be open."),
        Member("sign_ins_in_flight", count, "Sign-ins in progress.")
    )

    private static let minutes: JSON = ["type": "array", "items": count, "minItems": 60, "maxItems": 60]

    private static let history = object(
        Member("sign_ins", minutes, "Sign-ins that succeeded, the oldest minute first, the one in progress last."),
        Member("failed_sign_ins", minutes, "Sign-ins that failed."),
        Member("rejections", minutes, "Rejected requests, without redirects to the sign-in."),
        Member("requests", minutes, "Responses to requests of a route.")
    )

    private static let listener = object(
        Member("listener", string, "The address."),
        Member(
            "certificates",
            list(
                object(
                    Member("file", string, "The file."),
                    Member("not_after", time, "When it expires."),
                    Member("days_left", whole, "Days until then, negative afterwards.")
                )
            ),
            "Its certificates."
        ),
        Member(
            "revocation_lists",
            list(
                object(
                    Member("issuer", string, "The authority."),
                    Member("not_after", time, "When the first of its lists expires."),
                    Member("days_left", whole, "Days until then, negative afterwards.")
                )
            ),
            "The revocation lists for certificates of clients, by authority."
        ),
        Member(
            "findings",
            list(
                object(
                    Member("event", string, "What it is."),
                    Member("severity", severity, "How urgent it is."),
                    Member("file", orNull(string), "The file; null if it is about all."),
                    Member("detail", string, "What is wrong, and what to do.")
                )
            ),
            "Why clients reject the certificates, or are rejected for want of a list; now or soon."
        )
    )

    private static let host = object(
        Member("provider", string, "The provider."),
        Member("host", string, "The origin."),
        Member(
            "chain",
            list(
                object(
                    Member("position", count, "0 for the certificate of the host itself."),
                    Member("subject", string, "Its subject."),
                    Member("public_key_sha256", orNull(string), "The pin of its public key."),
                    Member("days_left", whole, "Days until it expires, negative afterwards."),
                    Member("pin", orNull(count), "The number of the pin that it matches.")
                )
            ),
            "The certificates that it showed last."
        ),
        Member("surveyed_at", orNull(time), "When its whole chain was looked at last."),
        .optional("match", string, "What the pins are compared with. This and the following only if it has pins."),
        .optional("mode", string, "`enforce` or `report`."),
        .optional("demand", string, "What holds now, also after the pins have expired."),
        .optional("pins", count, "The number of pins."),
        .optional("unused_pins", count, "The pins that match no certificate of the chain."),
        .optional("preset", orNull(string), "The list of pins that is built in."),
        .optional("expires", orNull(string), "The date on which the pins expire."),
        .optional(
            "expires_days_left",
            orNull(whole),
            "Days until then, negative afterwards; null if they do not expire."
        ),
        .optional("matched_at", orNull(time), "When a pin matched last."),
        .optional("mismatched_at", orNull(time), "When no pin matched."),
        .optional("refused", flag, "Whether it is not called because no pin matches.")
    )

    private static let event = object(
        Member("event", string, "What it is."),
        Member("severity", severity, "How urgent it is."),
        Member("provider", string, "The provider."),
        Member("host", orNull(string), "The host; null for all of the provider."),
        Member("presented", list(string), "The pins of the keys that it showed."),
        Member("detail", string, "What happened, and what to do."),
        Member("at", time, "When it was.")
    )

    private static let denial = object(
        Member("at", time, "When it was."),
        Member("app", orNull(string), "The app."),
        Member(
            "user",
            orNull(string),
            "The user as access lines show it (`logs.users`); the hash of the user key if none are written."
        ),
        Member("code", string, "The error code."),
        Member(
            "rule",
            orNull(string),
            "The entry that decided, as `file:line`; null if no entry of `allow` matches."
        ),
        Member("incident", orNull(string), "The incident that the user was shown, for `gatehouse explain`.")
    )

    private static let warning = object(
        Member("severity", severity, "How urgent it is."),
        Member("text", string, "What needs attention."),
        Member("run_book", orNull(string), "The section of `docs/alerts.md` about it; null without one.")
    )
}
