// SPDX-License-Identifier: Apache-2.0

internal import GateCore

/// What is written of `sessions`.
struct SessionDraft: Sendable {
    var store: StoreSettings?
    var idleTimeout: Located<Duration>?
    var lifetime: Located<Duration>?
}

/// What is written of `assertion`.
struct AssertionDraft: Sendable {
    var lifetime: Duration?
    var keys: String?
}

extension Mapping<SessionDraft> {
    /// `sessions`.
    static let sessions = Mapping(
        "the sessions",
        path: "sessions",
        summary: "Where sessions are kept and how long they last.",
        make: { SessionDraft() },
        keys: [
            Key(
                "store",
                \.store,
                .store,
                .init(standard: .words("`sqlite:` in `state`"), example: "memory:"),
                "`sqlite:` and the path of a database, or `memory:`, which a restart empties."
            ),
            Key(
                "idle_timeout",
                located: \.idleTimeout,
                .duration(.seconds(60)...(.seconds(3650 * 86_400)), shown: "1m to 3650d"),
                .init(standard: "12h"),
                "How long a session lasts without a request."
            ),
            Key(
                "lifetime",
                located: \.lifetime,
                .duration(.seconds(60)...(.seconds(3650 * 86_400)), shown: "1m to 3650d"),
                .init(standard: "7d"),
                "How long a session lasts at most."
            ),
        ],
        check: { sessions, _, reading in
            guard let idle = sessions.idleTimeout, let whole = sessions.lifetime, idle.value > whole.value else {
                return
            }
            reading.warning("'idle_timeout' is longer than 'lifetime', so it never ends a session", at: idle.mark)
        }
    )
}

extension Mapping<AssertionDraft> {
    /// `assertion`.
    static let assertion = Mapping(
        "the assertion",
        path: "assertion",
        summary: "The signed identity that apps receive.",
        make: { AssertionDraft() },
        keys: [
            Key(
                "lifetime",
                \.lifetime,
                .duration(.seconds(10)...(.seconds(86_400)), shown: "10s to 1d"),
                .init(standard: "2m"),
                "How long an assertion is valid."
            ),
            Key(
                "keys",
                \.keys,
                .path,
                .init(standard: .words("`keys` in `state`")),
                "The folder of the ES256 keys, made at first start; relative to the working directory."
            ),
        ]
    )
}

extension Shape<StoreSettings> {
    /// Where sessions are kept.
    static let store = single("a session store", pattern: "^(memory:|sqlite:.+)$") { text throws(InvalidValue) in
        guard text != "memory:" else { return .memory }
        let scheme = text.prefix { $0 != ":" }
        switch scheme {
        case "sqlite":
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw InvalidValue("has no path; write such as 'sqlite:/var/lib/gatehouse/sessions.db'")
            }
            guard !path.hasPrefix(":") else { throw InvalidValue("is not a session store; did you mean 'memory:'?") }
            return .sqlite(path: String(path))
        case "redis", "rediss", "cookie":
            throw InvalidValue("is not supported yet; write 'sqlite:/path' or 'memory:'")
        case "memory":
            throw InvalidValue("is not a session store; did you mean 'memory:'?")
        default:
            throw InvalidValue("is not a session store; write 'sqlite:/path' or 'memory:'")
        }
    }
}
