// SPDX-License-Identifier: Apache-2.0

package import GateCore

/// What rules look at in a request, beside the user and the path.
package struct RequestFacts: Sendable, Hashable {
    package var method: String
    /// The client IP, behind trusted proxies that of the client before them; nil if it is not known.
    package var client: IPAddress?
    package var time: Instant
    /// The time for conditions on the date, if another one is asked about; nil for the time of the request.
    var dated: Instant?
    /// When the user last authenticated; nil if that is not known.
    package var authenticated: Instant?
    /// When the user last used a passkey at the gateway; nil if never in this sign-in.
    package var passkeyUsed: Instant?
    /// The message to an MCP server; nil if it is not known.
    package var message: MCPMessage?
    /// What a client was granted by its access token; nil for the user's own session, which may do everything.
    package var scopes: [String]?
    /// The verified certificate of the client; nil if none was asked for, presented or accepted.
    package var certificate: CertificateFacts?

    /// Facts about a request.
    package init(method: String, client: IPAddress?, time: Instant, authenticated: Instant?) {
        self.method = method
        self.client = client
        self.time = time
        self.authenticated = authenticated
    }
}

/// A condition of a rule that depends on the request and not on the user.
package enum RequestCondition: Sendable, Hashable {
    /// The client is in one of the networks.
    case network([CIDRRange])
    case method([String])
    /// One of the patterns covers the path.
    case path([PathPattern])
    case time(TimeWindow)
    /// The time is this one or a later one.
    case from(Instant)
    /// The time is before this one.
    case until(Instant)
    /// The user authenticated at most so long ago.
    case authenticated(within: Duration)
    /// The user used a passkey in this sign-in, at most so long ago; nil for no limit.
    case passkey(within: Duration?)
    /// The message has one of these methods, or belongs to a session that one of them begins.
    case mcpMethod([String])
    /// The message calls one of these tools.
    case mcpTool([String])
    /// The access token has one of these scopes, or there is the user's own session.
    case scope([String])
    /// The client has such a certificate.
    case certificate(CertificateCondition)

    /// Whether a request meets the condition.
    func match(_ request: RequestFacts, _ path: Span<UInt8>, as spelling: PathPattern.Spelling) -> MatchResult {
        switch self {
        case .network(let ranges):
            guard let client = request.client else { return .unknown(.client) }
            // Indices, since a loop over the elements would copy each.
            for index in ranges.indices where ranges[index].contains(client) { return .yes }
            return .no
        case .method(let methods):
            for index in methods.indices where isIdentical(methods[index], request.method) { return .yes }
            return .no
        case .path(let patterns):
            for index in patterns.indices where patterns[index].covers(path, as: spelling) { return .yes }
            return .no
        case .time(let window): return MatchResult(window.contains(request.time))
        case .from(let start): return MatchResult(request.dated ?? request.time >= start)
        case .until(let end): return MatchResult(request.dated ?? request.time < end)
        case .authenticated(let limit):
            guard let time = request.authenticated else { return .unknown(.authentication) }
            return MatchResult(request.time.since(time) <= limit)
        case .passkey(let limit):
            guard let time = request.passkeyUsed else { return .no }
            return MatchResult(limit.map { request.time.since(time) <= $0 } ?? true)
        case .mcpMethod(let methods):
            guard let message = request.message else { return .unknown(.message) }
            return MatchResult(methods.contains { message.isNamed($0) })
        case .mcpTool(let tools):
            guard let message = request.message else { return .unknown(.message) }
            guard let tool = message.tool else { return .no }
            return MatchResult(tools.contains { isIdentical($0, tool) })
        case .scope(let names):
            guard let scopes = request.scopes else { return .yes }
            return MatchResult(names.contains { name in scopes.contains { isIdentical($0, name) } })
        case .certificate(let condition):
            // A client chooses whether it presents one, so its absence proves nothing.
            guard let certificate = request.certificate else { return .unknown(.certificate) }
            return MatchResult(condition.matches(certificate))
        }
    }
}
