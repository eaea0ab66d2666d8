// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import GateCore
internal import GatePolicy
internal import GateWire
internal import GateYAML

extension Mapping<EntryDraft> {
    /// The conditions on the request.
    static let requestKeys: [Key<EntryDraft>] = [
        Key(
            "network",
            \.network,
            .oneOrMany(of: .network, named: "a network or a list of them"),
            .init(example: "10.0.0.0/8"),
            "The networks of which one must have the client IP, behind `trusted_proxies` that of the client before them."
        ),
        Key(
            "method",
            \.method,
            .oneOrMany(of: .forwardedMethod, named: "a method or a list of them"),
            .init(example: ["GET", "HEAD"]),
            "The methods of which the request must have one."
        ),
        Key(
            "path",
            located: \.path,
            .oneOrMany(of: .pathPattern, named: "a path or a list of them"),
            .init(example: "/admin/**"),
            "The paths of which the request must have one: `/admin` is that path only, `/admin/` that path and all below it, `*` "
                + "any characters within a segment, `**` any number of whole segments, also none. See "
                + "[policy.md](policy.md#paths)."
        ),
        Key(
            "time",
            \.time,
            .timeWindow,
            .init(),
            "The weekdays and hours in which the request must be."
        ),
        Key(
            "from",
            located: \.from,
            .instant,
            .init(example: "2026-10-01T08:00:00+02:00"),
            "The date and time, with its zone, from which on the entry matches."
        ),
        Key(
            "until",
            located: \.until,
            .instant,
            .init(example: "2026-12-31T18:00:00+01:00"),
            "The date and time, with its zone, from which on the entry does not match any more. In `allow`, access ends by itself: "
                + "WebSockets and other requests that are still open then end too. See [policy.md](policy.md#dates)."
        ),
        Key(
            "authenticated",
            \.authenticated,
            .authentication,
            .init(example: "within 1h"),
            "How long ago the user may have authenticated (`within 1h`); otherwise a new sign-in is required. `passkey` asks for "
                + "a passkey of the user in this sign-in, `passkey within 15m` for one so long ago at most. See "
                + "[policy.md](policy.md#authenticated)."
        ),
        Key(
            "mcp_method",
            located: \.mcpMethod,
            .oneOrMany(of: .mcpMethod, named: "a method of MCP or a list of them"),
            .init(example: ["initialize", "tools/list"]),
            "The methods of MCP of which the message in the request must have one; for apps with `mcp: true`. `initialize` includes "
                + "what belongs to the session that it begins. See [mcp.md](mcp.md#rules)."
        ),
        Key(
            "mcp_tool",
            located: \.mcpTool,
            .oneOrMany(of: .mcpTool, named: "a tool or a list of them"),
            .init(example: "search_notes"),
            "The tools of which the message in the request must call one (`tools/call`); for apps with `mcp: true`."
        ),
        Key(
            "scope",
            located: \.scope,
            .oneOrMany(of: .text, named: "a scope or a list of them"),
            .init(example: "notes.write"),
            "The scopes of the app of which an access token of a client must have one. A session of a browser has all of them, and a "
                + "token of a machine none. See [policy.md](policy.md#scopes)."
        ),
        Key(
            "certificate",
            located: \.certificate,
            Mapping<CertificateConditionDraft>.certificateCondition.shape,
            .init(),
            "What the certificate of the client must have. It needs `client_certificates` of a listener. See "
                + "[client-certificates.md](client-certificates.md)."
        ),
    ]
}

extension Shape<String> {
    /// A method of the Model Context Protocol, or a word in parentheses for a request without one.
    static let mcpMethod = single("a method of MCP", pattern: "^[!-~]{1,256}$") { text throws(InvalidValue) in
        guard (1...256).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidValue("is not a method such as tools/list")
        }
        guard !text.contains("*") else {
            throw InvalidValue("has a '*', but names are compared exactly; list the methods")
        }
        let words = [MCPMessage.stream, .end, .response].map(\.method)
        guard !text.hasPrefix("(") || words.contains(text) else {
            throw InvalidValue("is not one of \(words.joined(separator: ", "))")
        }
        return text
    }

    /// The name of a tool.
    static let mcpTool = single("a tool", pattern: "^[^\\u0000-\\u001F\\u007F-\\u009F]{1,512}$") {
        text throws(InvalidValue) in
        let isPrintable = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        guard isPrintable, (1...512).contains(text.utf8.count) else {
            throw InvalidValue("is not the name of a tool such as search_notes")
        }
        return text
    }

    /// A method that may be forwarded.
    ///
    /// RFC 9110 §9.1.
    static let forwardedMethod = single("a method", pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$") {
        text throws(InvalidValue) in
        let isToken = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        guard isToken, (1...32).contains(text.utf8.count) else {
            throw InvalidValue("is not a method such as PROPFIND")
        }
        guard !["CONNECT", "TRACE", "TRACK", "PRI"].contains(text.uppercased()) else {
            throw InvalidValue("is never forwarded; remove it")
        }
        guard text == text.uppercased() || text != text.lowercased() else {
            throw InvalidValue("is in lower case, and letter case matters; write '\(text.uppercased())'")
        }
        return text
    }
}

extension Shape<RequestCondition> {
    /// How a user must have authenticated: `within 1h`, `passkey` or `passkey within 15m`.
    fileprivate static let authentication = single(
        "'within' and a duration, or 'passkey'",
        pattern: "^(within [0-9a-z]+|passkey( within [0-9a-z]+)?)$"
    ) { text throws(InvalidValue) in
        guard text != "passkey" else { return .passkey(within: nil) }
        var parts = text.split(separator: " ").map(String.init)
        let isPasskey = parts.first == "passkey"
        if isPasskey { parts.removeFirst() }
        guard parts.count == 2, parts[0] == "within", let limit = Duration(yamlText: parts[1]) else {
            throw InvalidValue("is not a limit such as 'within 1h', 'passkey' or 'passkey within 15m'")
        }
        guard (.seconds(60)...(.seconds(366 * 86_400))).contains(limit) else {
            throw InvalidValue("is out of range; it must be within 60s to 366d")
        }
        return isPasskey ? .passkey(within: limit) : .authenticated(within: limit)
    }
}

/// A time window as the file has it.
private struct TimeDraft: Sendable {
    var days: [[Int]]?
    var hours: ClosedRange<Int>?
    var zone: ZoneOffsets?
}

extension Shape<TimeWindow> {
    /// Weekdays and hours in a time zone.
    fileprivate static let timeWindow: Shape = {
        let shape = Mapping<TimeDraft>.time.shape
        return Shape(shape.kind, schema: shape.schema, sections: shape.sections) { node, reading in
            guard let draft = shape.whole.read(node, &reading), let zone = draft.zone else { return nil }
            let hours = draft.hours ?? 0...1440
            return TimeWindow(
                days: draft.days.map { Set($0.joined()) } ?? Set(0..<7),
                start: hours.lowerBound,
                end: hours.upperBound > 1440 ? hours.upperBound - 1440 : hours.upperBound,
                zone: zone
            )
        }
    }()
}

extension Mapping<TimeDraft> {
    fileprivate static let time = Mapping(
        "a time window",
        path: "apps.<name>.allow[].time and apps.<name>.deny[].time",
        summary: "Weekdays and hours in a time zone.",
        make: { TimeDraft() },
        keys: [
            Key(
                "days",
                \.days,
                .oneOrMany(of: .days, named: "weekdays"),
                .init(default: .words("all"), example: "mon-fri"),
                "The weekdays: `mon`, `tue`, `wed`, `thu`, `fri`, `sat` or `sun`, a range of them, or a list."
            ),
            Key(
                "hours",
                \.hours,
                .hours,
                .init(default: .words("all"), example: "08:00-18:00"),
                "The hours, from the first minute to the one before the last. `22:00-06:00` goes on after midnight and belongs "
                    + "to the day on which it begins."
            ),
            Key(
                "zone",
                \.zone,
                .zone,
                .init(isRequired: true, example: "Europe/Berlin"),
                "The time zone by its IANA name, or `UTC`."
            ),
        ]
    )
}

extension Shape<[Int]> {
    private static let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// A weekday or a range of them, 0 for Monday.
    fileprivate static let days = single("a weekday", pattern: "^[a-z]{3}(-[a-z]{3})?$") { text throws(InvalidValue) in
        let days = text.split(separator: "-", omittingEmptySubsequences: false).map { names.firstIndex(of: String($0)) }
        guard (1...2).contains(days.count), let first = days[0], let last = days[days.count - 1] else {
            throw InvalidValue(
                "is neither a weekday, one of \(names.joined(separator: ", ")), nor a range such as mon-fri"
            )
        }
        return (0...((last - first + 7) % 7)).map { (first + $0) % 7 }
    }
}

extension Shape<ClosedRange<Int>> {
    /// The minutes from the beginning of a day; the end of hours that go on after midnight is on the next day.
    fileprivate static let hours = single("hours", pattern: "^[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]$") {
        text throws(InvalidValue) in
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { minute(of: $0) }
        guard ends.count == 2, let start = ends[0], let end = ends[1], start < 1440 else {
            throw InvalidValue("is not a range of hours such as 08:00-18:00")
        }
        guard start != end else { throw InvalidValue("is a range without a minute in it") }
        return start...(end > start ? end : end + 1440)
    }

    private static func minute(of text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [2, 2], let hour = Int(wholeNumber: parts[0]),
            let minute = Int(wholeNumber: parts[1]), minute < 60
        else { return nil }
        let whole = hour * 60 + minute
        return whole <= 1440 ? whole : nil
    }
}

extension Shape<ZoneOffsets> {
    fileprivate static let zone = single("a time zone", pattern: "^[A-Za-z0-9_+/\\-]{1,64}$") {
        text throws(InvalidValue) in
        let isName = text.contains("/") || text == "UTC"
        guard isName, let zone = TimeZone(identifier: text) else {
            let known = TimeZone.knownTimeZoneIdentifiers
            let hint = Hint.nearest(to: text, in: known.sorted { $0.count < $1.count })
            throw InvalidValue(
                "is not a time zone; \(hint.map { "did you mean '\($0)'?" } ?? "write such as Europe/Berlin or UTC")"
            )
        }
        return ZoneOffsets(zone)
    }
}

extension ZoneOffsets {
    /// From 2024 to the end of 2050.
    private static let years: Range<Int64> = 1_704_067_200..<2_556_143_999
    private static let week: Int64 = 7 * 86_400

    /// Looks up the offsets of a zone; every one that lasts for a week is found.
    fileprivate init(_ zone: TimeZone) {
        func offset(_ seconds: Int64) -> Int {
            zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds)))
        }
        let first = ZoneOffsets.years.lowerBound
        var changes = [Change(from: first, offset: offset(first))]
        for end in stride(from: first + ZoneOffsets.week, to: ZoneOffsets.years.upperBound, by: Int(ZoneOffsets.week)) {
            let new = offset(end)
            guard let known = changes.last?.offset, known != new else { continue }
            // The first second with the new offset.
            var (low, high) = (end - ZoneOffsets.week, end)
            while high - low > 1 {
                let middle = (low + high) / 2
                if offset(middle) == known { low = middle } else { high = middle }
            }
            changes.append(Change(from: high, offset: new))
        }
        self.init(name: zone.identifier, changes: changes)
    }
}
