// SPDX-License-Identifier: Apache-2.0

package import GateCore
internal import GateWire

/// A request as an example of all that the rules of an app cannot distinguish from it.
package struct RequestSample: Sendable, Hashable {
    /// The path under the new rules; under the old ones it differs if the prefix of the app does.
    package let path: String
    let oldPath: String
    package let method: String
    /// The client IP; nil where no rule asks for it.
    package let client: IPAddress?
    /// The time; nil for now.
    package let time: Instant?
    /// The message to an MCP server; nil where no rule asks for it.
    package let message: MCPMessage?
    /// What the access token of the request permits; nil for the user's own session.
    package let scopes: [String]?
    /// The certificate of the client, if rules ask for one and it has one.
    package let certificate: SampleCertificate?
}

/// The certificate of a sample request.
package struct SampleCertificate: Sendable, Hashable {
    package let facts: CertificateFacts
    /// What the condition asks for that it meets; empty for one that rules do not name.
    package let text: String
}

/// The requests on which the decisions of two versions of an app's rules are compared.
///
/// One for the path of the app, and for each path pattern, method, network, time window, date, MCP message, scope and certificate that one
/// of the versions names one that it covers and one that it does not; all of these combined.
struct RequestSamples: Sendable {
    /// The maximum number of requests; beyond it, only those that differ from the first one in two respects at most.
    static let limit = 1024
    private static let maxPaths = 256
    private static let maxOthers = 64

    /// The requests, that for the path of the app first.
    let all: [RequestSample]
    /// Whether there were too many combinations for all of them.
    let isPartial: Bool

    /// The requests for two versions of an app, of which one may be absent.
    ///
    /// - Parameters:
    ///   - versions: The old and the new rules.
    ///   - times: The times of requests.
    ///   - isElsewhere: Whether a path leads to another app.
    init(
        of versions: (old: Route?, new: Route?),
        times: inout WindowTimes,
        isElsewhere: (String) -> Bool
    ) {
        let routes = [versions.old, versions.new].compactMap(\.self)
        let terms = RequestTerms(of: routes)
        let prefixes = routes.map { $0.path }
        let base = (old: prefixes.first ?? "/", new: prefixes.last ?? "/")
        let further = terms.paths(inside: prefixes).filter { $0 != base.new && !isElsewhere($0) }
        let paths = [base] + further.prefix(Self.maxPaths - 1).map { (old: $0, new: $0) }
        let methods = terms.sampleMethods
        let clients = terms.sampleClients
        let moments = times.samples(for: terms.windows, terms.dates)
        let messages = terms.sampleMessages
        let scopes = terms.sampleScopes
        let certificates = terms.sampleCertificates
        let sizes = [
            paths.count, methods.count, clients.count, moments.count, messages.count, scopes.count, certificates.count,
        ]
        let isLimited = further.count >= Self.maxPaths || sizes.dropFirst().contains { $0 > Self.maxOthers }
        let bounded = [sizes[0]] + sizes.dropFirst().map { min($0, Self.maxOthers) }
        let combinations = bounded.reduce(1, *)
        let maxDistance = combinations > Self.limit ? 2 : bounded.count
        var all: [RequestSample] = []
        for number in 0..<combinations {
            guard all.count < Self.limit else { break }
            // The digits of the number, each in the base of its dimension.
            var rest = number
            let at = bounded.map { size in
                defer { rest /= size }
                return rest % size
            }
            guard at.count(where: { $0 > 0 }) <= maxDistance else { continue }
            all.append(
                RequestSample(
                    path: paths[at[0]].new,
                    oldPath: paths[at[0]].old,
                    method: methods[at[1]],
                    client: clients[at[2]],
                    time: moments[at[3]],
                    message: messages[at[4]],
                    scopes: scopes[at[5]],
                    certificate: certificates[at[6]]
                )
            )
        }
        self.all = all
        self.isPartial = isLimited || all.count < combinations
    }
}

/// What the rules of an app name of requests.
private struct RequestTerms {
    private var patterns: [PathPattern] = []
    private var methods: [String] = []
    private var networks: [CIDRRange] = []
    private(set) var windows: [TimeWindow] = []
    private(set) var dates: [Instant] = []
    private var messages: [MCPMessage] = []
    private var scopes: [String] = []
    private var certificates: [CertificateCondition] = []

    init(of routes: [Route]) {
        for route in routes {
            for condition in (route.denied + route.access.entries).flatMap(\.withNested).flatMap(\.request) {
                switch condition {
                case .network(let ranges): self.networks += ranges
                case .method(let names): self.methods += names
                case .path(let patterns): self.patterns += patterns
                case .time(let window): self.windows.append(window)
                case .from(let date), .until(let date): self.dates.append(date)
                case .mcpMethod(let names): self.messages += names.map { MCPMessage(method: $0) }
                case .mcpTool(let tools):
                    self.messages += tools.map { MCPMessage(method: MCPMessage.toolCall, tool: $0) }
                case .scope(let names): self.scopes += names
                case .certificate(let condition): self.certificates.append(condition)
                case .authenticated, .passkey: break
                }
            }
            for rule in route.publicRules {
                self.patterns.append(rule.pattern)
                self.networks += rule.networks
                if let method = rule.method { self.methods.append(method) }
            }
        }
        self.patterns = self.patterns.unique
        self.methods = self.methods.unique
        self.networks = self.networks.unique
        self.windows = self.windows.unique
        self.dates = self.dates.unique
        self.messages = self.messages.unique
        self.scopes = self.scopes.unique
        self.certificates = self.certificates.unique
    }

    /// For each pattern a path that it covers, below all prefixes.
    func paths(inside prefixes: [String]) -> [String] {
        let segments = Set(self.patterns.flatMap { $0.text.split(separator: "/").map(String.init) })
        var name = "x"
        while segments.contains(name) { name += "x" }
        let found = self.patterns.compactMap { pattern -> String? in
            let path = pattern.example(for: name)
            let candidates = [path] + prefixes.map { "\($0)\(path)" }
            return candidates.first { candidate in
                let bytes = Array(candidate.utf8)
                return prefixes.allSatisfy { candidate.isBelow($0) } && pattern.covers(bytes.span)
                    && CanonicalPath.matched(ofReference: bytes) == bytes
            }
        }
        return found.unique
    }

    /// `GET`, the methods that rules name, and one that they do not.
    var sampleMethods: [String] {
        guard !self.methods.isEmpty else { return ["GET"] }
        let other = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"].first { !self.methods.contains($0) }
        return (["GET"] + [other].compactMap(\.self) + self.methods).unique
    }

    /// A message with a method and a tool that rules do not name, and one for each that they name; nil if they name none.
    var sampleMessages: [MCPMessage?] {
        guard !self.messages.isEmpty else { return [nil] }
        return [MCPMessage(method: MCPMessage.toolCall, tool: "another tool")] + self.messages
    }

    /// The user's own session, a token without scopes, and one with each that rules name; only the session if they name none.
    var sampleScopes: [[String]?] {
        guard !self.scopes.isEmpty else { return [nil] }
        return [nil, []] + self.scopes.map { [$0] }
    }

    /// No certificate, one that rules do not name, and one for each condition; only none if there is no condition.
    var sampleCertificates: [SampleCertificate?] {
        guard !self.certificates.isEmpty else { return [nil] }
        let named = self.certificates.compactMap { condition in
            condition.example.map { SampleCertificate(facts: $0, text: condition.text) }
        }
        let other = CertificateCondition().example.map { SampleCertificate(facts: $0, text: "") }
        return [nil, other] + named
    }

    /// A client of no network that rules name, and one of each.
    var sampleClients: [IPAddress?] {
        guard !self.networks.isEmpty else { return [nil] }
        let outside = ["203.0.113.1", "198.51.100.1", "192.0.2.1", "2001:db8::1", "9.9.9.9"].compactMap {
            IPAddress($0)
        }
        let stranger = outside.first { address in !self.networks.contains { $0.contains(address) } }
        let members = self.networks.compactMap { network in
            // Not in a smaller network inside, if possible.
            network.addresses.min { self.depth(of: $0) < self.depth(of: $1) }
        }
        return ([stranger].compactMap(\.self) + members).unique
    }

    private func depth(of address: IPAddress) -> Int { self.networks.count { $0.contains(address) } }
}

/// Times inside and outside of time windows, now and after dates, each looked for once.
struct WindowTimes: Sendable {
    private struct Search: Hashable {
        let window: TimeWindow
        let start: Instant
    }

    private let now: Instant
    private var known: [Search: [Instant]] = [:]

    init(now: Instant) {
        self.now = now
    }

    /// Now and the dates that are to come, and from each of these on the next minute inside and the next one outside of each window.
    mutating func samples(for windows: [TimeWindow], _ dates: [Instant]) -> [Instant?] {
        let coming = dates.filter { $0 > self.now }
        let times = ([self.now] + coming).flatMap { start in windows.flatMap { self.times(around: $0, from: start) } }
        return [nil] + (coming + times).unique
    }

    private mutating func times(around window: TimeWindow, from start: Instant) -> [Instant] {
        let search = Search(window: window, start: start)
        if let known = self.known[search] { return known }
        let found = [true, false].compactMap { WindowTimes.next(in: window, $0, from: start) }
        self.known[search] = found
        return found
    }

    /// The next minute that is in a window or is not; nil if that is the start, or never within the days of a week.
    private static func next(in window: TimeWindow, _ isInside: Bool, from begin: Instant) -> Instant? {
        guard window.contains(begin) != isInside else { return nil }
        let start = begin.seconds - begin.seconds % 60
        for minute in 1...(8 * 1440) {
            let time = Instant(seconds: start + Int64(minute) * 60)
            if window.contains(time) == isInside { return time }
        }
        return nil
    }
}

extension PathPattern {
    /// A path that the pattern covers.
    fileprivate func example(for name: String) -> String {
        let path = self.text.replacing("**", with: name).replacing("*", with: name)
        return path.hasSuffix("/") && !self.isExact ? path + name : path
    }
}

extension String {
    /// Whether a path is a prefix, or below it by whole segments.
    fileprivate func isBelow(_ prefix: String) -> Bool {
        prefix == "/" || self == prefix || self.hasPrefix(prefix.hasSuffix("/") ? prefix : "\(prefix)/")
    }
}

extension Array where Element: Hashable {
    /// The elements in order, each once.
    fileprivate var unique: [Element] {
        var seen: Set<Element> = []
        return self.filter { seen.insert($0).inserted }
    }
}
