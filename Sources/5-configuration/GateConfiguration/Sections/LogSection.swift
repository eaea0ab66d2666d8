// SPDX-License-Identifier: Apache-2.0

internal import GateCore
internal import GateYAML

/// Where log lines go, and what they hold.
package struct LogSettings: Sendable, Hashable {
    /// How a line is written.
    package var format = LogFormat.text
    /// Where the lines of each stream go.
    package var destinations: [LogStream: LogDestination] = [
        .access: .off, .audit: .standardError, .security: .standardError, .process: .standardError,
    ]
    /// The share of access lines that are written, 0 to 1; those of errors and rejections always are.
    package var sample = 1.0
    /// How access lines name users.
    package var users = LoggedUsers.key
    /// What access lines hold of the query.
    package var query = LoggedQuery.drop

    /// The defaults: every line but those of requests, as text on standard error.
    package init() {}

    /// Where the lines of a stream go.
    package subscript(stream: LogStream) -> LogDestination {
        get { self.destinations[stream] ?? .off }
        set { self.destinations[stream] = newValue }
    }
}

/// A kind of log line with a destination of its own, by its name in the file.
package enum LogStream: String, Sendable, CaseIterable {
    /// Who did what: sign-ins, sign-outs, denials, revocations, keys, configurations.
    case audit
    /// Threats: pin mismatches and certificates of providers and upstreams, rejected operators.
    case security
    /// Everything else about the gateway itself, its providers and its upstreams.
    case process
    /// Each request.
    case access
}

/// How a log line is written, by its name in the file.
package enum LogFormat: String, Sendable, CaseIterable {
    /// `time level message key=value …`
    case text
    case json
}

/// How access lines name users, by its name in the file.
package enum LoggedUsers: String, Sendable, CaseIterable {
    /// By the user key.
    case key
    /// By a keyed hash of the user key.
    case hash
}

/// What access lines hold of the query of a request, by its name in the file.
package enum LoggedQuery: String, Sendable, CaseIterable {
    /// Nothing.
    case drop
    /// The names of its parameters.
    case mask
}

/// Where the lines of a stream go.
package enum LogDestination: Sendable, Hashable {
    /// Nowhere.
    case off
    case standardOutput
    case standardError
    /// The end of a file.
    case file(String)
    /// The syslog daemon behind a socket.
    case syslog(socket: String)
    /// The journal behind a socket.
    case journald(socket: String)
}

extension Mapping<LogSettings> {
    static let logs = Mapping(
        "the logs",
        path: "logs",
        summary:
            "Where log lines go, and what they hold. Each stream has a destination: `stdout`, `stderr`, `off`, the path of a "
            + "file, `syslog` (to `/dev/log`) or `journald`; `syslog:` and `journald:` may name another socket. "
            + "See [logs.md](logs.md).",
        make: { LogSettings() },
        keys: [
            Key(
                "format",
                over: \.format,
                .oneOf("a log format"),
                .init(default: "text", example: "json"),
                "How lines are written: `json`, one object each, or `text`."
            ),
            Key(
                "access",
                over: \.[.access],
                .logDestination,
                .init(default: "off", example: "/var/log/gatehouse/access.log"),
                "A line for each request. A relative path is resolved against the working directory."
            ),
            Key(
                "audit",
                over: \.[.audit],
                .logDestination,
                .init(default: "stderr", example: "journald"),
                "Sign-ins, sign-outs, denials, revocations, key rotations and configurations, with their actors."
            ),
            Key(
                "security",
                over: \.[.security],
                .logDestination,
                .init(default: "stderr", example: "syslog"),
                "Pin mismatches, certificates that expire, and rejected requests for the operations API."
            ),
            Key(
                "process",
                over: \.[.process],
                .logDestination,
                .init(default: "stderr", example: "stdout"),
                "Everything else: start, reload and drain, failures of providers, upstreams and stores, rejected requests."
            ),
            Key(
                "sample",
                over: \.sample,
                .share,
                .init(default: .value(1), example: "0.1"),
                "The share of access lines that are written, 0 to 1, chosen at random; those of a status of 400 or more and of a "
                    + "rejected request always are."
            ),
            Key(
                "users",
                over: \.users,
                .oneOf("a form of users"),
                .init(default: "key", example: "hash"),
                "How access lines name users: by their `key`, or by a `hash` of it that is keyed with `gateway.secret`."
            ),
            Key(
                "query",
                over: \.query,
                .oneOf("a form of queries"),
                .init(default: "drop", example: "mask"),
                "What access lines hold of the query: nothing (`drop`), or the names of its parameters without values (`mask`)."
            ),
        ]
    )
}

extension Shape<LogDestination> {
    /// The destination of a stream.
    static let logDestination = single(
        "a log destination",
        pattern: "^(off|stdout|stderr|(syslog|journald)(:/.+)?|.*/.+)$"
    ) {
        text throws(InvalidValue) in
        switch text {
        case "off": return .off
        case "stdout": return .standardOutput
        case "stderr": return .standardError
        case "syslog": return .syslog(socket: "/dev/log")
        case "journald": return .journald(socket: "/run/systemd/journal/socket")
        default: break
        }
        for (scheme, make) in [("syslog:", LogDestination.syslog), ("journald:", LogDestination.journald)]
        where text.hasPrefix(scheme) {
            let path = String(text.dropFirst(scheme.utf8.count))
            guard path.hasPrefix("/"), path.utf8.count <= SocketPath.maxBytes, !path.utf8.contains(0) else {
                throw InvalidValue("needs the absolute path of a socket, such as \(scheme)/dev/log")
            }
            return make(path)
        }
        let names = ["off", "stdout", "stderr", "syslog", "journald"]
        guard text.contains("/"), !text.hasSuffix("/"), text.utf8.count <= 4096, !text.utf8.contains(0) else {
            let hint = Hint.nearest(to: text, in: names).map { "did you mean '\($0)'?" }
            throw InvalidValue(
                "is not a log destination; \(hint ?? "write \(names.joined(separator: ", ")) or a path such as ./access.log")"
            )
        }
        return .file(text)
    }
}

extension Shape<Double> {
    /// A number from 0 to 1.
    fileprivate static let share: Shape = {
        let one = single("a number from 0 to 1") { text throws(InvalidValue) in
            let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
            guard isPlain, text.utf8.count <= 8, let number = Double(text), (0...1).contains(number) else {
                throw InvalidValue("is not a number from 0 to 1, such as 0.1")
            }
            return number
        }
        let schema: JSON = ["anyOf": [["type": "number", "minimum": 0, "maximum": 1], Schema.reference]]
        return Shape(one.kind, schema: schema) { one.read($0, &$1) }
    }()
}
