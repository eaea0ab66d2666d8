// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateSessions
internal import GateYAML

/// Where sessions are stored and how long they last.
package struct SessionSettings: Sendable, Hashable {
    /// Where they are stored.
    package var store: StoreSettings
    /// How long they last: without a request, and in total.
    package var lifetimes = SessionSettings.defaultLifetimes

    /// Settings with the default lifetimes.
    package init(store: StoreSettings) {
        self.store = store
    }

    static let defaultLifetimes = SessionLifetimes(idle: .seconds(12 * 3600), absolute: .seconds(7 * 86_400))
}

/// A session store.
package enum StoreSettings: Sendable, Hashable {
    /// A SQLite database file.
    case sqlite(path: String)
    /// The memory of the process; a restart signs all users out.
    case memory
}

/// The signed identity that apps receive.
package struct AssertionSettings: Sendable, Hashable {
    /// How long an assertion is valid.
    package var lifetime = AssertionSettings.defaultLifetime
    /// The folder of the signing keys.
    package var keysFolder: String

    /// Settings with the default lifetime.
    package init(keysFolder: String) {
        self.keysFolder = keysFolder
    }

    static let defaultLifetime = Duration.seconds(120)
}

/// `sessions` as the file has it.
struct SessionDraft: Sendable {
    var store: StoreSettings?
    var idleTimeout: Located<Duration>?
    var lifetime: Located<Duration>?
}

/// `assertion` as the file has it.
struct AssertionDraft: Sendable {
    var lifetime: Duration?
    var keys: String?
}

extension Mapping<SessionDraft> {
    /// `sessions`.
    static let sessions = Mapping(
        "the sessions",
        path: "sessions",
        summary: "Where sessions are stored and how long they last.",
        make: { SessionDraft() },
        keys: [
            Key(
                "store",
                \.store,
                .store,
                .init(default: .words("`sqlite:` in `state`"), example: "memory:"),
                "`sqlite:` and the path of a database, or `memory:`, which is lost on a restart."
            ),
            Key(
                "idle_timeout",
                located: \.idleTimeout,
                .duration(.seconds(60)...(.seconds(3650 * 86_400))),
                .init(default: .duration(SessionSettings.defaultLifetimes.idle)),
                "How long a session lasts without a request."
            ),
            Key(
                "lifetime",
                located: \.lifetime,
                .duration(.seconds(60)...(.seconds(3650 * 86_400))),
                .init(default: .duration(SessionSettings.defaultLifetimes.absolute)),
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
                .duration(.seconds(10)...(.seconds(86_400))),
                .init(default: .duration(AssertionSettings.defaultLifetime)),
                "How long an assertion is valid."
            ),
            Key(
                "keys",
                \.keys,
                .path,
                .init(default: .words("`keys` in `state`")),
                "The folder of the ES256 keys, created at the first start; relative to the working directory."
            ),
        ]
    )
}

extension Shape<StoreSettings> {
    /// A session store.
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
