// SPDX-License-Identifier: Apache-2.0

internal import GateCore
package import GateRedis
package import GateSessions
internal import GateYAML

/// Where sessions are stored and how long they last.
package struct SessionSettings: Sendable, Hashable {
    /// Where they are stored.
    package var store: StoreSettings
    /// How long they last: without a request, and in total.
    package var lifetimes = SessionSettings.defaultLifetimes
    /// When the provider is asked again about a user.
    package var recheck = SessionSettings.defaultRecheck
    /// How long browsers keep the session cookie.
    package var cookie = SessionCookie.session
    /// How many sign-ins of a user may be live; nil for any number.
    package var maxPerUser: Int?

    /// Settings with the default lifetimes.
    package init(store: StoreSettings) {
        self.store = store
    }

    static let defaultLifetimes = SessionLifetimes(idle: .seconds(12 * 3600), absolute: .seconds(7 * 86_400))
    static let defaultRecheck = RecheckPolicy(interval: .seconds(3600), maxStale: .seconds(900))
}

/// How long browsers keep the session cookie, by its name in the file.
package enum SessionCookie: String, Sendable, CaseIterable {
    /// Until the browser closes.
    case session
    /// Until the session ends.
    case persistent
}

/// A session store.
package enum StoreSettings: Sendable, Hashable {
    /// A SQLite database file.
    case sqlite(path: String)
    /// A Redis server, which several gateways may share.
    case redis(RedisSettings)
    /// The memory of the process; a restart signs all users out.
    case memory
    /// The cookies of the browsers, which are whole sessions.
    case cookie
}

/// The signed identity that apps receive.
package struct AssertionSettings: Sendable, Hashable {
    /// How long an assertion is valid.
    package var lifetime = AssertionSettings.defaultLifetime
    /// The folder of the signing keys.
    package var keysFolder: String
    /// How old the latest key may become before another one is added; nil if only operators add keys.
    package var rotate: Duration?
    /// How long a new key is published before it signs, and a new gateway secret opens before it seals.
    package var publishAhead = AssertionSettings.defaultPublishAhead

    /// Settings with the default lifetime.
    package init(keysFolder: String) {
        self.keysFolder = keysFolder
    }

    static let defaultLifetime = Duration.seconds(120)
    static let defaultPublishAhead = Duration.seconds(3600)
}

/// `sessions` as the file has it.
struct SessionDraft: Sendable {
    var store: StoreSettings?
    var storeMark: YAMLMark?
    var redis: RedisDraft?
    var idleTimeout: Located<Duration>?
    var lifetime: Located<Duration>?
    var recheck: Duration??
    var maxStale: Duration?
    var cookie: SessionCookie?
    var maxPerUser: Int?
}

/// `assertion` as the file has it.
struct AssertionDraft: Sendable {
    var lifetime: Duration?
    var keys: String?
    var rotate: Located<Duration>?
    var publishAhead: Located<Duration>?
}

extension Mapping<SessionDraft> {
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
                "`sqlite:` and the path of a database; for several gateways `redis://user:password@host:6379/0`, "
                    + "`redis+sentinel://user:password@host1,host2/master/0` or `redis+cluster://user:password@host1,host2`, "
                    + "each with `rediss` for TLS; `memory:`, which is lost on a restart; or `cookie:`, which keeps sessions "
                    + "in cookies only and [can do less](sessions.md#sessions-in-cookies). See [sessions.md](sessions.md)."
            ),
            Key(
                "redis",
                \.redis,
                Mapping<RedisDraft>.redis.shape,
                .init(),
                "Further settings of a store in Redis."
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
            Key(
                "recheck",
                \.recheck,
                .recheck,
                .init(default: .duration(.seconds(3600))),
                "How long the provider's word holds. Before a session is served for longer, the gateway asks the "
                    + "provider whether the user may still sign in, and reads the profile again; `never` to ask at "
                    + "sign-ins only. See [sessions.md](sessions.md#re-checks)."
            ),
            Key(
                "max_stale",
                \.maxStale,
                .duration(.zero...(.seconds(3650 * 86_400))),
                .init(default: .duration(.seconds(900))),
                "How long after `recheck` a session is still served while the provider does not respond; then the "
                    + "response is 503 until it does."
            ),
            Key(
                "cookie",
                \.cookie,
                .oneOf("a kind of cookie"),
                .init(default: "session", example: "persistent"),
                "How long browsers keep the cookie: for the browser `session`, which ends when the browser closes unless it "
                    + "restores its tabs, or `persistent`, until the session has lasted for `lifetime`."
            ),
            Key(
                "max_per_user",
                \.maxPerUser,
                .number(1...1000),
                .init(default: .words("no limit"), example: 3),
                "How many sign-ins a user may have at a time, over all gateways on one store. A further one ends the oldest. See "
                    + "[sessions.md](sessions.md#sign-ins-of-a-user)."
            ),
        ],
        check: { sessions, written, reading in
            sessions.storeMark = written.keys["store"]
            if let redis = sessions.redis, let mark = written.keys["redis"], written.isSound {
                redis.apply(to: &sessions.store, at: mark, &reading)
            }
            guard let idle = sessions.idleTimeout, let whole = sessions.lifetime, idle.value > whole.value else {
                return
            }
            reading.warning("'idle_timeout' is longer than 'lifetime', so it never ends a session", at: idle.mark)
        }
    )
}

extension Mapping<AssertionDraft> {
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
            Key(
                "rotate",
                located: \.rotate,
                .duration(.seconds(3600)...(.seconds(3650 * 86_400))),
                .init(default: .words("none: by `gatehouse keys rotate` only"), example: "90d"),
                "How old the latest key may become before the gateway adds another one; see [keys.md](keys.md)."
            ),
            Key(
                "publish_ahead",
                located: \.publishAhead,
                .duration(.seconds(1)...(.seconds(7 * 86_400))),
                .init(default: .duration(AssertionSettings.defaultPublishAhead)),
                "How long a new key is published before it signs: longer than apps and proxies cache `/oauth2/jwks.json`. "
                    + "A new gateway secret opens for as long before it seals."
            ),
        ],
        check: { assertion, _, reading in
            let ahead = assertion.publishAhead?.value ?? AssertionSettings.defaultPublishAhead
            if let publishAhead = assertion.publishAhead, ahead < .seconds(300) {
                let help = "apps may cache keys for longer and reject assertions; write 1h"
                reading.warning("a new key signs after \(ahead.wholeSeconds) s: \(help)", at: publishAhead.mark)
            }
            if let rotate = assertion.rotate, rotate.value < ahead * 2 {
                reading.error("'rotate' must be at least twice 'publish_ahead'", at: rotate.mark)
            }
        }
    )
}

extension Shape<StoreSettings> {
    /// A session store; a URL with a password is masked wherever the file is shown.
    static let store = Shape(
        kind,
        schema: Schema.text(pattern: "^(memory:|cookie:|sqlite:.+|rediss?(\\+sentinel|\\+cluster)?://.+)$")
    ) { node, reading in
        guard let scalar = reading.scalar(node, kind: kind) else { return nil }
        // A password may be there without an @, if the host was forgotten.
        let mayHavePassword = scalar.text.hasPrefix("redis")
        if mayHavePassword { reading.conceal(node) }
        if mayHavePassword, scalar.text.contains("@"), scalar.source == .written {
            reading.warning(
                "a password is in the file in clear text; write ${env:NAME} or ${file:/path} instead",
                at: scalar.mark
            )
        }
        do throws(InvalidValue) {
            return try StoreSettings.parse(scalar.text)
        } catch {
            reading.error(
                "\(mayHavePassword ? "the URL of the store" : scalar.shown) \(error.message)",
                at: scalar.mark
            )
            return nil
        }
    }

    private static var kind: String { "a session store" }
}

extension StoreSettings {
    fileprivate static func parse(_ text: String) throws(InvalidValue) -> StoreSettings {
        guard text != "memory:" else { return .memory }
        guard text != "cookie:" else { return .cookie }
        let scheme = text.prefix { $0 != ":" }
        let help = "write 'sqlite:/path', 'redis://host:6379', 'cookie:' or 'memory:'"
        switch scheme {
        case "sqlite":
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw InvalidValue("has no path; write such as 'sqlite:/var/lib/gatehouse/sessions.db'")
            }
            guard !path.hasPrefix(":") else { throw InvalidValue("is not a session store; did you mean 'memory:'?") }
            return .sqlite(path: String(path))
        case _ where RedisSettings.schemes.contains(String(scheme)):
            do throws(RedisURLViolation) {
                return .redis(try RedisSettings(scheme: scheme, text.dropFirst(scheme.count + 1)))
            } catch {
                throw InvalidValue(error.reason)
            }
        case "cookie", "memory":
            throw InvalidValue("is not a session store; did you mean '\(scheme):'?")
        default:
            throw InvalidValue("is not a session store; \(help)")
        }
    }
}
