// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateProxy
package import GateRedis
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
    /// A Redis server, which several gateways may share.
    case redis(RedisSettings)
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
                "`sqlite:` and the path of a database, `redis://user:password@host:6379/0` for several gateways, or "
                    + "`memory:`, which is lost on a restart. See [sessions.md](sessions.md)."
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
    /// A session store; a URL with a password is masked wherever the file is shown.
    static let store = Shape(kind, schema: Schema.text(pattern: "^(memory:|sqlite:.+|redis://.+)$")) { node, reading in
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
        let scheme = text.prefix { $0 != ":" }
        let help = "write 'sqlite:/path', 'redis://host:6379' or 'memory:'"
        switch scheme {
        case "sqlite":
            let path = text.dropFirst("sqlite:".count)
            guard !path.isEmpty, !path.utf8.contains(0) else {
                throw InvalidValue("has no path; write such as 'sqlite:/var/lib/gatehouse/sessions.db'")
            }
            guard !path.hasPrefix(":") else { throw InvalidValue("is not a session store; did you mean 'memory:'?") }
            return .sqlite(path: String(path))
        case "redis":
            return .redis(try self.redis(text.dropFirst("redis:".count)))
        case "rediss", "redis+sentinel", "redis+cluster", "cookie":
            throw InvalidValue("is not supported yet; \(help)")
        case "memory":
            throw InvalidValue("is not a session store; did you mean 'memory:'?")
        default:
            throw InvalidValue("is not a session store; \(help)")
        }
    }

    /// `//user:password@host:port/database`; user, password, port and database may be missing.
    private static func redis(_ text: Substring) throws(InvalidValue) -> RedisSettings {
        let form = "write such as 'redis://user:password@redis.example.com:6379/0'"
        guard text.hasPrefix("//") else { throw InvalidValue("is not a URL of Redis; \(form)") }
        let sides = text.dropFirst(2).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let place = sides[0].split(separator: "@", omittingEmptySubsequences: false)
        guard place.count <= 2 else { throw InvalidValue("has more than one '@'; write it as %40 in a password") }
        let authority = place[place.count - 1]
        let hasPort = authority.last?.isNumber == true && authority.contains(":") && !authority.hasSuffix("]")
        guard !authority.contains(where: { "?#".contains($0) }),
            let origin = WebURL("http://\(authority)\(hasPort ? "" : ":6379")")?.origin
        else {
            throw InvalidValue("has no valid host and port; \(form)")
        }
        var settings = RedisSettings(target: UpstreamTarget(.tcp(host: origin.host, port: origin.port)))
        if place.count == 2 {
            let parts = place[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                .map { PercentEncoding.decode($0.utf8) }
            guard parts.count == 2, let user = parts[0], let password = parts[1], !password.isEmpty else {
                throw InvalidValue("has no password before the '@'; \(form)")
            }
            settings.user = user.isEmpty ? nil : String(decoding: user, as: UTF8.self)
            settings.password = Secret(password)
        }
        if sides.count == 2, !sides[1].isEmpty {
            guard let number = Int(sides[1]), (0...65_535).contains(number) else {
                throw InvalidValue("has a database that is not a number from 0 to 65535; \(form)")
            }
            settings.database = number
        }
        return settings
    }
}
